"""``progress=True``: bars in a terminal and in a notebook, and how often a call reports."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from icecore.display import progress_bar


def run_in_terminal(program: str, folder: Path) -> tuple[str, str]:
    """Run a program whose stderr is a pseudo terminal; return what both streams got."""
    import pty

    master, slave = pty.openpty()
    shown = b""
    path = os.pathsep.join([str(Path(icecore.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "120", "TERM": "xterm"},
    ) as child:
        os.close(slave)
        with contextlib.suppress(OSError):  # Linux reports the end of a pseudo terminal as an error
            while part := os.read(master, 1 << 16):
                shown += part
        os.close(master)
        assert child.stdout
        out = child.stdout.read()
    assert child.returncode == 0, shown.decode()
    return out, shown.decode()


@pytest.fixture
def repo(tmp_path: Path) -> icecore.Repo:
    for i in range(4):
        np.save(tmp_path / f"a{i}.npy", np.arange(1000.0) + i)
    into = str(tmp_path / "r.icecore")
    icecore.pack([tmp_path / f"a{i}.npy" for i in range(4)], into, group="/t")
    return icecore.open(into)


class Cells:
    """Imitates IPython in a notebook's kernel: counts outputs and their replacements."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.outputs: list[list[dict[str, str]]] = []
        shell = type("ZMQInteractiveShell", (), {})()
        package, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        package.get_ipython = lambda: shell  # type: ignore[attr-defined]
        display.display = self._display  # type: ignore[attr-defined]
        package.display = display  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "IPython", package)
        monkeypatch.setitem(sys.modules, "IPython.display", display)
        monkeypatch.setattr(progress_bar, "_REDRAW", 0)

    def _display(self, content: dict[str, str], raw: bool, display_id: bool) -> Any:
        assert raw
        assert display_id
        shown = [content]
        self.outputs.append(shown)
        return types.SimpleNamespace(update=lambda content, raw: shown.append(content))


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> Cells:
    return Cells(monkeypatch)


def test_a_notebook_shows_each_step_in_one_output(cells, repo):
    rows = icecore.run("stats", repo.url, table="t", columns="a0", progress=True)
    assert rows.read_all().num_rows == 1
    assert len(cells.outputs) == 1
    assert [re.findall(r"\d+ of \d+", each["text/plain"]) for each in cells.outputs[0]] == [["1 of 1"]]
    assert "<pre" in cells.outputs[0][0]["text/html"]


def test_a_notebook_counts_the_checks_of_verify(cells, repo):
    counted: list[tuple[int, int]] = []
    repo.verify(deep=True, progress=lambda done, total: counted.append((done, total)))
    assert repo.verify(deep=True, progress=True) == []
    (shown,) = cells.outputs
    assert counted[-1][0] == counted[-1][1] == 4
    assert f"{counted[-1][0]:,} of {counted[-1][1]:,}" in shown[-1]["text/plain"]
    assert len(shown) <= len(counted) + 1


@pytest.mark.parametrize("call", ["pack", "link", "assay", "relink"])
def test_long_calls_show_a_bar(call, cells, tmp_path):
    (tmp_path / "old").mkdir()
    for i in range(3):
        np.save(tmp_path / "old" / f"a{i}.npy", np.arange(500.0) + i)
    files, into = str(tmp_path / "old" / "*.npy"), str(tmp_path / "r.icecore")
    if call == "relink":
        icecore.link(files, into, group="/")
        (tmp_path / "old").rename(tmp_path / "new")
        icecore.relink(tmp_path / "old", tmp_path / "new", into, progress=True)
        expected = "3 of 3"
    elif call == "assay":
        icecore.assay(str(tmp_path / "old" / "a0.npy"), seconds=0.1, progress=True)
        expected = "4 kB of 4 kB"
    elif call == "pack":
        icecore.pack(files, into, group="/", progress=True)
        expected = "12 kB of 12 kB"
    else:  # strings of variable length are copied
        with h5py.File(tmp_path / "text.h5", "w") as file:
            file["names"] = ["one", "two"]
        assert [row.how for row in icecore.link(tmp_path / "text.h5", into, progress=True).rows] == ["copied"]
        expected = " of "
    (shown,) = cells.outputs
    assert expected in shown[-1]["text/plain"]


def test_a_product_reports_pieces_known_so_far(repo):
    seen: list[tuple[str, int, int]] = []
    icecore.run("stats", [repo.url] * 5, table="t", columns="a0", progress=lambda *step: seen.append(step))
    assert [done for _, done, _ in seen] == [1, 2, 3, 4, 5]
    assert all(done <= total <= 5 for _, done, total in seen)
    assert seen[-1][2] == 5


def test_rows_that_are_computed_later_show_the_bar_then(cells, repo):
    rows = icecore.run("subset", repo.url, table="t", limit=3, progress=True)
    assert cells.outputs == []
    assert rows.read_all().num_rows == 3
    assert len(cells.outputs) == 1


def test_a_failed_call_keeps_the_last_step(cells, repo, tmp_path):
    with pytest.raises(icecore.Error, match="missing"):
        icecore.run("stats", [repo.url, tmp_path / "missing.h5"], table="t", columns="a0", progress=True)
    assert len(cells.outputs) <= 1


def test_other_values_are_refused(repo):
    with pytest.raises(icecore.Error, match="progress must be a bool or a function"):
        icecore.run("stats", repo.url, table="t", progress="yes")
    with pytest.raises(icecore.Error, match="progress must be a bool or a function"):
        repo.verify(progress=3)


def test_nothing_is_shown_where_there_is_no_terminal(repo, capfd):
    repo.verify(deep=True, progress=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_a_terminal_shows_the_steps(tmp_path):
    program = "\n".join(
        [
            "import icecore, numpy as np, time",
            "from icecore.display import progress_bar",
            "progress_bar._PATIENCE = 0",
            "for i in range(4): np.save(f'a{i}.npy', np.arange(1000.0) + i)",
            "def slowly(bar):  # rich draws ten times a second",
            "    def call(self, path, done, total):",
            "        bar(self, path, done, total)",
            "        time.sleep(0.15)",
            "    return call",
            "progress_bar.Progress.__call__ = slowly(progress_bar.Progress.__call__)",
            "icecore.pack([f'a{i}.npy' for i in range(4)], 'r.icecore', group='/t', progress=True)",
            "print(icecore.open('r.icecore').verify(progress=True))",
            "rows = icecore.run('stats', ['r.icecore'] * 3, table='t', columns='a0', progress=True)",
            "print(rows.read_all()['count'].to_pylist())",
        ]
    )
    out, shown = run_in_terminal(program, tmp_path)
    assert out == "[]\n[3000]\n"
    assert {f"{8 * i} kB of 32 kB" for i in range(1, 5)} <= set(re.findall(r"\d+ kB of 32 kB", shown))
    assert {"1", "2", "3"} <= set(re.findall(r"(\d) of \d", shown))


@pytest.mark.skipif(importlib.util.find_spec("nbclient") is None, reason="needs nbclient and ipykernel")
def test_a_real_notebook_shows_one_bar(tmp_path):
    import nbformat
    from nbclient import NotebookClient

    cell = "\n".join(
        [
            "import icecore, numpy as np",
            "for i in range(4): np.save(f'a{i}.npy', np.arange(1000.0) + i)",
            "_ = icecore.pack([f'a{i}.npy' for i in range(4)], 'r.icecore', group='/t', progress=True)",
        ]
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    NotebookClient(book, timeout=100, resources={"metadata": {"path": str(tmp_path)}}).execute()
    (output,) = book.cells[0].outputs
    assert output.output_type == "display_data"
    assert "32 kB of 32 kB" in output.data["text/plain"]
    assert "32 kB of 32 kB" in output.data["text/html"]
