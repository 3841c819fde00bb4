"""Diviner tables with modern compressors and parallel filters: the study of Schorghofer (2021).

Table 2 is what each program makes of the file and how long it takes; table 3 how long it takes to get the
text again, and to pick the rows of one place from it; figure 3 what several processes reach together.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from icecore import errors, text, utilities
from icecore.studies import figures
from icecore.studies.study import Outcome, Table

#: column 26 of the table is the longitude of the footprint
COLUMN, LOW, HIGH = 26, 120.0, 120.1
_AWK = f"{{if (${COLUMN}>{LOW} && ${COLUMN}<{HIGH}) print}}"
_WHERE = f"clon > {LOW} and clon < {HIGH}"
_TABLE = "/table"


def run(folder: Path, source: str | None, say: Callable[[str], None]) -> Outcome:
    """Measure one RDR file, or one that is made for it.

    Args:
        folder: where the figures go.
        source: a Diviner RDR text file; made where it is None.
        say: is told what is being done.
    """
    with tempfile.TemporaryDirectory(prefix="icecore-pds-") as temporary:
        work = Path(temporary)
        file = Path(source) if source else _make(work, say)
        if not file.is_file():
            raise errors.make("source-missing", f"there is no file {file}", "give a Diviner RDR text file")
        packed = _pack(file, work, say)
        outcome = Outcome("pds", [packed[0], _unpack(file, work, packed[1], say)])
        outcome.tables.append(_together(file, work, packed[1], say))
        outcome.figures = _draw(folder, outcome.tables)
        outcome.notes = _notes(file, source)
        return outcome


def _make(work: Path, say: Callable[[str], None]) -> Path:
    from icecore.demo.rdr import write

    say("making ten minutes of RDR text")
    path = work / "200908010000_RDR.TAB"
    write(path)
    return path


def _icecore(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "icecore", *arguments]


def _clock(line: list[str] | str) -> float:
    """Wall seconds of a command whose output is dropped."""
    began = time.perf_counter()
    shell = isinstance(line, str)
    done = subprocess.run(line, shell=shell, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    seconds = time.perf_counter() - began
    # 1: nothing was found, which is an answer
    if done.returncode not in (0, 1):
        raise errors.make("io", f"{line} failed: {done.stderr.decode('utf-8', 'replace')[-300:]}")
    return seconds


def _size(path: Path) -> int:
    return (
        path.stat().st_size
        if path.is_file()
        else sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    )


Packed = list[tuple[str, utilities.Utility | None, Path]]


def _pack(file: Path, work: Path, say: Callable[[str], None]) -> tuple[Table, Packed]:
    raw = _size(file)
    rows = Table(
        f"Table 2: {file.name}, {text.size(raw)}, packed", ["program", "bytes", "ratio", "seconds", "MB/s"]
    )
    packed: Packed = []
    for utility in (u for u in utilities.UTILITIES if u.present):
        for level in utility.levels:
            name = f"{utility.name} -{level}"
            say(f"pack: {name}")
            target = work / f"{file.name}.{utility.name}{level}"
            seconds = utilities.pack(utility, level, file, target)
            rows.rows.append([name, _size(target), raw / _size(target), seconds, raw / 1e6 / seconds])
            packed.append((name, utility, target))
    say("pack: icecore")
    repo = work / "table.icecore"
    seconds = _clock(_icecore("pack", str(file), "--into", str(repo), "--group", _TABLE))
    rows.rows.append(["icecore", _size(repo), raw / _size(repo), seconds, raw / 1e6 / seconds])
    packed.append(("icecore", None, repo))
    return rows, packed


def _unpack(file: Path, work: Path, packed: Packed, say: Callable[[str], None]) -> Table:
    heads = ["program", "to text, s", "MB/s", "to rows of one place, s", "MB/s of text"]
    rows = Table(f"Table 3: text again, and rows with {LOW} < clon < {HIGH}", heads)
    raw = _size(file) / 1e6
    for name, line, filtered in [
        ("raw", ["cat", str(file)], _awk(f"cat '{file}'")),
        *_commands(packed, work),
    ]:
        say(f"unpack and filter: {name}")
        whole, some = _clock(line), _clock(filtered)
        rows.rows.append([name, whole, raw / whole, some, raw / some])
    return rows


def _commands(packed: Packed, work: Path) -> list[tuple[str, list[str], str]]:
    found = []
    for name, utility, path in packed:
        if utility is None:
            restore = _icecore("restore", str(path), _TABLE, "-o", str(work / "again.tab"))
            found.append((name, restore, _query(path, work / "rows.csv")))
        else:
            line = utilities.command(utility.unpack, "", path, path)
            found.append((name, line, _awk(" ".join(f"'{part}'" for part in line))))
    return found


def _awk(text_of: str) -> str:
    program = "mawk" if shutil.which("mawk") else "awk"
    return f"{text_of} | {program} -F, '{_AWK}'"


def _query(repo: Path, output: Path) -> str:
    parts = _icecore("query", str(repo), _TABLE, "--where", _WHERE, "-o", str(output))
    return " ".join(f"'{part}'" for part in parts)


def _together(file: Path, work: Path, packed: Packed, say: Callable[[str], None]) -> Table:
    """Several filters at once, each over the whole file: what the machine does per second."""
    raw = _size(file) / 1e6
    counts = sorted({1, 2, 4, os.cpu_count() or 1})
    rows = Table(
        "Figure 3: filters side by side, MB/s of text", ["program", *(f"{n} processes" for n in counts)]
    )
    wanted = ("gzip -6", "zstd -3", "zstd -19", "lz4 -1", "icecore")
    chosen: list[tuple[str, Callable[[int], str]]] = [("raw", lambda _: _awk(f"cat '{file}'"))]
    for name, utility, path in packed:
        if name in wanted and utility is not None:
            line = " ".join(f"'{part}'" for part in utilities.command(utility.unpack, "", path, path))
            chosen.append((name, lambda _, line=line: _awk(line)))  # type: ignore[misc]
        elif name in wanted:
            chosen.append((name, lambda i, path=path: _query(path, work / f"rows{i}.csv")))  # type: ignore[misc]
    for name, make in chosen:
        say(f"side by side: {name}")
        speeds = []
        for count in counts:
            began = time.perf_counter()
            running = [
                subprocess.Popen(make(i), shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for i in range(count)
            ]
            for process in running:
                process.wait()
            speeds.append(count * raw / (time.perf_counter() - began))
        rows.rows.append([name, *speeds])
    return rows


def _draw(folder: Path, tables: list[Table]) -> list[str]:
    packed, unpacked, together = tables
    sizes = {row[0]: (row[3], row[2]) for row in packed.rows}
    filters = {
        row[0]: (next((p[2] for p in packed.rows if p[0] == row[0]), 1.0), row[4]) for row in unpacked.rows
    }
    counts = [int(head.split()[0]) for head in together.heads[1:]]
    return [
        figures.points(
            folder / "pds-1-pack.png",
            "What packing takes and gains",
            ("seconds to pack", "ratio"),
            sizes,
            "xy",
        ),
        figures.points(
            folder / "pds-2-filter.png",
            "Rows of one place, out of each format",
            ("ratio", "MB of text a second"),
            filters,
            "xy",
        ),
        figures.lines(
            folder / "pds-3-processes.png",
            "Several filters side by side",
            ("processes", "MB of text a second"),
            {row[0]: (counts, row[1:]) for row in together.rows},
            "y",
        ),
    ]


def _notes(file: Path, source: str | None) -> list[str]:
    absent = [utility.name for utility in utilities.UTILITIES if not utility.present]
    notes = [f"Not installed here: {', '.join(absent)}."] if absent else []
    given = "The given" if source else "A made"
    notes.append(
        f"{given} file, {file.name}. Each command ran once, from the page cache; icecore's include the start "
        "of Python. Its own is a whole repository, with summaries, and prints the file byte for byte."
    )
    return notes
