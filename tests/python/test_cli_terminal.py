"""Long lines on a terminal: broken between words, under the column they belong to; whole in a pipe."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import icecore
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from icecore.display import text
from strategies import examples

WORDS = st.lists(st.text("abcdefgh│├/:", min_size=1, max_size=12), min_size=1, max_size=40)


@examples(100)
@given(WORDS, st.lists(st.integers(1, 4), min_size=40, max_size=40), st.integers(0, 9), st.integers(40, 90))
def test_nothing_is_lost_or_too_long(words: list[str], gaps: list[int], indent: int, width: int) -> None:
    line = " " * indent + "".join(word + " " * gap for word, gap in zip(words, gaps, strict=False)).rstrip()
    parts = text.folded(line, width).split("\n")
    # the branches of a tree may be repeated in front of what is broken
    assert " ".join(parts).replace("│", "").split() == line.replace("│", "").split()
    if max(map(len, words)) < 0.3 * width:
        assert max(map(len, parts)) <= width


def test_what_follows_stands_under_its_column() -> None:
    tree = "│   ├── P   float32  (time: 4, bottom_top: 14, south_north: 48)"
    assert text.folded(tree, 45).split("\n") == [
        "│   ├── P   float32  (time: 4, bottom_top:",
        "│   │                14, south_north: 48)",
    ]
    assert text.folded("codecs   one → two → three", 18).split("\n") == [
        "codecs   one → two",
        "         → three",
    ]
    assert text.folded("note: a b c d e f g h i", 20).split("\n") == ["note: a b c d e f g", "  h i"]
    assert text.folded("-" * 30 + "\nshort", 20) == "-" * 20 + "\nshort"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_eighty_columns(tmp_path: Path) -> None:
    import fcntl
    import pty
    import struct
    import termios

    dims = [f"dimension_number_{i}" for i in range(6)]
    with icecore.create(tmp_path / "r").writer(message="a message of many words " * 5) as w:
        w.array("/group/values", "f4", (2,) * 6, dims=dims)[...] = np.ones((2,) * 6)
    for verb in (
        ["info", "r", "/group/values"],
        ["ls", "r"],
        ["log", "r"],
        ["explain", "r", "/group/values"],
    ):
        command = [sys.executable, "-m", "icecore", *verb]
        piped = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        subprocess.run(command, cwd=tmp_path, stdout=slave, stdin=slave, env=environment, check=True)
        os.close(slave)
        shown = os.read(master, 1 << 16).decode()
        os.close(master)
        assert max(map(len, shown.splitlines())) <= 80
        assert shown.replace("│", " ").split() == piped.replace("│", " ").split()


def test_wide_and_combining_characters_stand_in_their_columns(tmp_path: Path) -> None:
    cell_len = pytest.importorskip("rich.cells").cell_len
    names = ["温度", "e\u0301tat", "plain", "\uff54\uff45\uff4d\uff50"]
    with icecore.create(tmp_path / "r").writer() as w:
        for name in names:
            w.array(f"/{name}", "f4", (2,), dims=["n"])[...] = np.ones(2)
    repo = icecore.open(tmp_path / "r")
    tree = repr(repo).splitlines()[1:]
    for lines, mark in (
        (tree, "float32"),
        (repr(repo.table("/")).splitlines()[1:], "float32"),
        (text.pairs([(name, "value") for name in names]).splitlines(), "value"),
        (text.table(["温", "b"], [[name, "value"] for name in names]).splitlines()[2:], "value"),
    ):
        assert len({cell_len(line[: line.index(mark)]) for line in lines}) == 1, lines
    parts = text.folded("長い名前   " + "値段 " * 12, 30).split("\n")
    assert max(map(cell_len, parts)) <= 30
    assert {len(part) - len(part.lstrip()) for part in parts[1:]} == {cell_len("長い名前   ")}
    assert cell_len(text.shorten("温度" * 30, 21)) <= 21


def until_closed(terminal: int) -> bytes:
    """All that comes from a pseudo terminal until nobody holds its other end, which Linux calls an error."""
    shown = b""
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 1 << 16):
            shown += part
    os.close(terminal)
    return shown


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_a_bar_shows_that_something_goes_on(tmp_path: Path) -> None:
    """Also where nothing is counted, and where data goes through stdout meanwhile."""
    import pty

    program = (
        "import time\n"
        "from icecore.display import progress_bar as console\n"
        "console._PATIENCE = 0.05\n"
        "with console.Progress('wait'):\n"
        "    time.sleep(0.5)\n"
        "    print('data')\n"
        "    time.sleep(0.3)\n"
        "with console.Progress('counted') as progress:\n"
        "    progress('/x', 1000, 4000)\n"
        "    time.sleep(0.5)\n"
        "with console.Progress('quick'):\n"
        "    pass\n"
    )
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=slave, text=True
    ) as child:
        os.close(slave)
        shown = until_closed(master).decode()
        assert child.stdout
        assert child.stdout.read() == "data\n"
    assert child.returncode == 0
    assert "wait" in shown
    assert "/x 1 kB of 4 kB" in shown
    assert "quick" not in shown
