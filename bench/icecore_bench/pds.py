"""Diviner tables with modern compressors and parallel filters: the study of Schorghofer (2021).

Table 2 lists the compressed size and time of each program; table 3 the time to restore the text and to select
the rows of one location; figure 3 the throughput of several processes. A slow program compresses only the
beginning of the file; its label states how much.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from icecore import errors
from icecore.analyzer import external_compressors
from icecore.display import figures, text
from icecore.display.scatter import Point

from icecore_bench.study import Outcome, Table

#: longitude of the footprint, column 26 of Diviner's tables
COLUMN, LOW, HIGH = "clon", 120.0, 120.1
_WHERE = f"{COLUMN} > {LOW} and {COLUMN} < {HIGH}"
_TABLE = "/table"
#: form of error messages of the command line
_OWN = re.compile(
    r"^icecore: error\[(?P<kind>[\w-]+)\]: (?P<message>.*?)(?:\n  try: (?P<hint>.*))?\Z",
    re.MULTILINE | re.DOTALL,
)
#: families of points: origin of the program
_OURS = ("icecore", "others")
#: largest compression time of a program in seconds, and bytes from which its speed is estimated
_LONGEST, _TRIAL = 30.0, 4 << 20


def run(folder: Path, source: str | None, say: Callable[[str], None], quick: bool = False) -> Outcome:
    """Measure an RDR file, given or generated.

    Args:
        folder: directory for the figures.
        source: a Diviner RDR text file, or another text table with a column ``clon``; generated if None.
        say: called with progress messages.
        quick: generate a minute of text instead of ten.

    Raises:
        Error: ``source-missing``; ``not-found`` if the column is missing; ``format`` if the file is not a
            table; ``unsupported`` without pyarrow or awk.
    """
    from icecore.tables.query.scan import arrow

    arrow()  # raises now if pyarrow is missing, not after minutes of packing
    with tempfile.TemporaryDirectory(prefix="icecore-pds-") as temporary:
        work = Path(temporary)
        file = Path(source) if source else _make(work, say, quick)
        if not file.is_file():
            raise errors.make("source-missing", f"no file at {file}", "give a Diviner RDR text file")
        column = _column(file)
        _awk("cat", column)
        packed = _pack(file, work, say)
        outcome = Outcome("pds", [packed[0], _unpack(file, work, packed[1], column, say)])
        outcome.tables.append(_together(file, work, packed[1], column, say))
        outcome.figures = _draw(folder, outcome.tables)
        outcome.notes = _notes(file, source)
        return outcome


def _column(file: Path) -> int:
    """Return the number of the column that selects rows; awk counts from 1."""
    from icecore.sources import open_source

    tables = open_source(str(file)).tables
    specs = [table.spec for table in tables.values() if table.spec is not None]
    names = [field.name for spec in specs for field in spec.fields]
    if len(tables) != 1 or COLUMN not in names:
        raise errors.make(
            "not-found",
            f"{file} has no column {COLUMN}, which the study needs to select rows (it has {', '.join(names)})"
            if len(tables) == 1
            else f"{file} has {len(tables)} tables; the study needs one",
            f"give a Diviner RDR text file, or rename the column of longitudes to {COLUMN}",
        )
    return names.index(COLUMN) + 1


def _make(work: Path, say: Callable[[str], None], quick: bool) -> Path:
    from icecore.samples.rdr import write

    minutes = 1 if quick else 10
    say(f"generating {minutes} minutes of RDR text")
    path = work / "200908010000_RDR.TAB"
    write(path, 469 * minutes)
    return path


def _icecore(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "icecore", *arguments]


def _clock(line: list[str] | str) -> float:
    """Return the wall time of a command in seconds; its output is discarded."""
    began = time.perf_counter()
    shell = isinstance(line, str)
    done = subprocess.run(line, shell=shell, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    seconds = time.perf_counter() - began
    # status 1: no rows selected, which is not an error
    if done.returncode not in (0, 1):
        raise _failed(line, done.stderr.decode("utf-8", "replace").strip())
    return seconds


def _failed(line: list[str] | str, output: str) -> errors.Error:
    """Return the error of a failed command; for icecore the error that it printed."""
    own = _OWN.search(output)
    if own is not None:
        return errors.make(own["kind"], own["message"], own["hint"] or "")
    return errors.make("io", f"{line} failed: {output[-300:]}")


def _size(path: Path) -> int:
    return (
        path.stat().st_size
        if path.is_file()
        else sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    )


@dataclass(frozen=True)
class Made:
    """Output of a program for a number of bytes of text; ``utility`` is None for icecore."""

    name: str
    utility: external_compressors.Utility | None
    path: Path
    raw: int


Packed = list[Made]


def _pack(file: Path, work: Path, say: Callable[[str], None]) -> tuple[Table, Packed]:
    raw = _size(file)
    rows = Table(
        f"Table 2: {file.name}, {text.size(raw)}, packed", ["program", "bytes", "ratio", "seconds", "MB/s"]
    )
    packed: Packed = []
    for utility in (u for u in external_compressors.UTILITIES if u.present):
        for level in utility.levels:
            name = f"{utility.name} -{level}"
            say(f"pack: {name}")
            target = work / f"{file.name}.{utility.name}{level}"
            part = _part(file, work, utility, level)
            seconds = external_compressors.pack(utility, level, part, target)
            if part != file:
                name += f" (first {text.size(_size(part))})"
            packed.append(Made(name, utility, target, _size(part)))
            rows.rows.append(_packed(packed[-1], seconds))
    say("pack: icecore")
    repo = work / "table.icecore"
    seconds = _clock(_icecore("pack", str(file), "--into", str(repo), "--group", _TABLE))
    packed.append(Made("icecore", None, repo, raw))
    rows.rows.append(_packed(packed[-1], seconds))
    return rows, packed


def _packed(made: Made, seconds: float) -> list[object]:
    stored = _size(made.path)
    return [made.name, stored, made.raw / stored, seconds, made.raw / 1e6 / seconds]


def _part(file: Path, work: Path, utility: external_compressors.Utility, level: str) -> Path:
    """Return the file, or the part at its beginning that a program can compress within the time limit."""
    trial = _first(file, work / "trial.tab", _TRIAL)
    seconds = external_compressors.pack(utility, level, trial, work / "trial.packed")
    most = int(_size(trial) * _LONGEST / seconds)
    return file if most >= _size(file) else _first(file, work / "part.tab", most)


def _first(file: Path, target: Path, most: int) -> Path:
    """Copy the first rows of a file."""
    with open(file, "rb") as source, open(target, "wb") as out:
        left = most
        while left > 0 and (block := source.read(min(left, 1 << 24))):
            out.write(block)
            left -= len(block)
        out.write(source.readline())
    return target


def _unpack(file: Path, work: Path, packed: Packed, column: int, say: Callable[[str], None]) -> Table:
    heads = ["program", "to text, s", "MB/s", "to rows of one place, s", "MB/s of text"]
    rows = Table(f"Table 3: text again, and rows with {LOW} < clon < {HIGH}", heads)
    commands = [_commands(made, work, column) for made in packed]
    for name, size, line, filtered in [
        ("raw", _size(file), ["cat", str(file)], _awk(f"cat '{file}'", column)),
        *((made.name, made.raw, *both) for made, both in zip(packed, commands, strict=True)),
    ]:
        say(f"unpack and filter: {name}")
        whole, some, raw = _clock(line), _clock(filtered), size / 1e6
        rows.rows.append([name, whole, raw / whole, some, raw / some])
        if name == "icecore":
            some = _running(packed[-1].path)
            rows.rows.append([f"{name}, in a running Python", None, None, some, raw / some])
    return rows


def _running(repo: Path) -> float:
    """Return the seconds to select the rows of one location in a running Python with pyarrow loaded."""
    from icecore.repository.open import open as open_repo

    began = time.perf_counter()
    open_repo(str(repo)).table(_TABLE).scan(where=_WHERE).read_all()
    return time.perf_counter() - began


def _commands(made: Made, work: Path, column: int, process: int = 0) -> tuple[list[str], str]:
    """Return the commands that restore the text and that select the rows of one location.

    Each process writes to its own files.
    """
    if made.utility is None:
        restore = _icecore("restore", str(made.path), _TABLE, "-o", str(work / "again.tab"))
        return restore, _query(made.path, work / f"rows{process}.csv")
    line = external_compressors.command(made.utility.unpack, "", made.path, made.path)
    return line, _awk(" ".join(f"'{part}'" for part in line), column)


def _awk(text_of: str, column: int) -> str:
    program = next((name for name in ("mawk", "awk") if shutil.which(name)), None)
    if program is None:
        message = "the study needs mawk or awk to select rows with the other programs; neither is installed"
        raise errors.make("unsupported", message, "install mawk")
    return f"{text_of} | {program} -F, '{{if (${column}>{LOW} && ${column}<{HIGH}) print}}'"


def _query(repo: Path, output: Path) -> str:
    parts = _icecore("query", str(repo), _TABLE, "--where", _WHERE, "-o", str(output))
    return " ".join(f"'{part}'" for part in parts)


def _together(file: Path, work: Path, packed: Packed, column: int, say: Callable[[str], None]) -> Table:
    """Measure the total throughput of several concurrent filters, each over the whole file."""
    raw = _size(file) / 1e6
    counts = sorted({1, 2, 4, os.cpu_count() or 1})
    rows = Table(
        "Figure 3: filters side by side, MB/s of text", ["program", *(f"{n} processes" for n in counts)]
    )
    wanted = ("gzip -6", "zstd -3", "zstd -19", "lz4 -1", "icecore")

    def filtered(made: Made, process: int) -> str:
        return _commands(made, work, column, process)[1]

    plain = _awk(f"cat '{file}'", column)
    chosen: list[tuple[str, float, Callable[[int], str]]] = [("raw", raw, lambda _: plain)]
    for made in packed:
        if made.name.startswith(wanted):
            chosen.append((made.name, made.raw / 1e6, partial(filtered, made)))
    for name, size, make in chosen:
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
            speeds.append(count * size / (time.perf_counter() - began))
        rows.rows.append([name, *speeds])
    return rows


def _draw(folder: Path, tables: list[Table]) -> list[str]:
    packed, unpacked, together = tables
    sizes = {row[0]: (row[3], row[2]) for row in packed.rows}
    filters = {
        row[0]: (next((p[2] for p in packed.rows if p[0] == row[0].split(",")[0]), 1.0), row[4])
        for row in unpacked.rows
    }
    counts = [int(head.split()[0]) for head in together.heads[1:]]
    return [
        figures.points(
            folder / "pds-1-pack.png",
            "Cost and gain of packing",
            ("seconds to pack", "ratio"),
            _points(sizes),
            "xy",
            _OURS,
        ),
        figures.points(
            folder / "pds-2-filter.png",
            "Rows of one place, out of each format",
            ("ratio", "MB of text a second"),
            _points(filters),
            "xy",
            _OURS,
        ),
        figures.lines(
            folder / "pds-3-processes.png",
            "Several filters side by side",
            ("processes", "MB of text a second"),
            {row[0]: (counts, row[1:]) for row in together.rows},
            "y",
        ),
    ]


def _points(named: dict[str, tuple[float, float]]) -> list[Point]:
    return [Point(name, x, y, _OURS[not name.startswith("icecore")]) for name, (x, y) in named.items()]


def _notes(file: Path, source: str | None) -> list[str]:
    absent = [utility.name for utility in external_compressors.UTILITIES if not utility.present]
    notes = [f"Not installed here: {', '.join(absent)}."] if absent else []
    given = "The given" if source else "A generated"
    notes.append(
        f"{given} file, {file.name}. Each command ran once, from the page cache; icecore's times include the "
        "start of Python. icecore writes a complete repository with summaries, which restores the file byte "
        f"for byte. Programs that need more than {_LONGEST:.0f} s compressed only the beginning."
    )
    return notes
