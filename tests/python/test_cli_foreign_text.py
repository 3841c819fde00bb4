"""Names, attributes and messages come from files of anybody: what they hold must not steer a terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.display import text, tree

EVIL = "\x1b[31mred\x07\r\x9b2J\u202e"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("evil") / "r.icecore"
    with icecore.create(path).writer(message=f"first {EVIL}") as w:
        w.array(f"/a{EVIL}", "f4", (3,), attrs={"units": EVIL, f"k{EVIL}": EVIL})[...] = [1, 2, 3]
        w.array("/t/x", "i4", (2,), ("i",))[...] = [1, 2]
        w.array("/t/s", str, (2,), ("i",))[...] = np.array([EVIL, "[red]"], "O")
        w.array("/t/line\nbreak", "i4", (2,), ("i",))[...] = [1, 2]
    icecore.open(path).tag("v1")
    with icecore.open(path).writer(message="second") as w:
        w[f"/a{EVIL}"][0] = 5
    return str(path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["ls"],
        ["log"],
        ["info"],
        ["info", f"/a{EVIL}"],
        ["diff", "v1"],
        ["read", f"/a{EVIL}"],
        ["read", "/t/s"],
        ["explain", f"/a{EVIL}"],
        ["info", f"/none{EVIL}"],
        ["query", "/t", "--where", f"'{EVIL}' = nothing"],
        ["tag", EVIL],
        ["verify"],
    ],
)
def test_it_is_made_visible(repo: str, run: Any, arguments: list[str]) -> None:
    verb, *rest = arguments
    _, out, err = run(verb, repo, *rest)
    assert STEERING.search(out + err) is None
    status, out, _ = run(verb, repo, *rest, "--json")
    assert status == 2 or json.loads(out) is not None


def test_a_query_on_a_terminal(repo: str, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from icecore.tables.query import export

    with monkeypatch.context() as patched:
        patched.setattr(export.sys.stdout, "isatty", lambda: True, raising=False)
        status, out, _ = run("query", repo, "/t")
    assert status == 0
    assert STEERING.search(out) is None
    assert text.visible(EVIL) in out
    assert EVIL in run("query", repo, "/t", "-o", "-")[1]  # data stay as they are


def test_names_stay_on_their_lines(repo: str, run: Any) -> None:
    assert "line\\nbreak" in run("ls", repo)[1]


def test_one_long_name_moves_nothing_out_of_sight(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "r").writer() as w:
        for name in ("a", "b", "c" * 200):
            w.array(f"/{name}", "f4", (3,))
    lines = tree.text(icecore.open(tmp_path / "r")._visible(), "/", "r").splitlines()
    assert [len(line) for line in lines[1:3]] == [20, 20]
    assert lines[3] == f"└── {'c' * 200}  float32  (3,)"


def test_a_table_shows_whole_numbers_or_none(
    tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from icecore.tables.query import export

    with icecore.create(tmp_path / "r").writer() as w:
        for i in range(30):
            w.array(f"/t/column{i:02}", "f8", (3,))[...] = [1 / 3, 123456.789, -1e-300]
    monkeypatch.setenv("COLUMNS", "80")
    with monkeypatch.context() as patched:
        patched.setattr(export.sys.stdout, "isatty", lambda: True, raising=False)
        _, out, _ = run("query", tmp_path / "r", "/t")
    assert max(map(len, out.splitlines())) <= 80
    assert out.splitlines()[0].split() == ["column00", "column01", "column02", "column03"]
    assert out.splitlines()[2].split() == ["0.3333333333333333"] * 4
    assert "26 more columns: column04, column05" in out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_has_few_letters(repo: str, encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for verb in (["ls"], ["info", "/t/x"]):
        command = [sys.executable, "-m", "icecore", verb[0], repo, *verb[1:]]
        done = subprocess.run(command, env=environment, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"int32" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(repo: str, closed: str) -> None:
    for verb in ("ls", "query", "verify"):
        more = " /t" if verb == "query" else ""
        command = f"{sys.executable} -m icecore {verb} {repo}{more} {closed}"
        done = subprocess.run(command, shell=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
