"""Diviner tables with modern compressors and parallel filters: the study of Schorghofer (2021).

Table 2 is what each program makes of the file and how long it takes; table 3 how long it takes to get the
text again, and to pick the rows of one place from it; figure 3 what several processes reach together.
A program that would take long packs only the beginning of the file, and its name says how much.
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
from icecore.studies.study import Outcome, Table

#: the longitude of the footprint, column 26 of Diviner's tables
COLUMN, LOW, HIGH = "clon", 120.0, 120.1
_WHERE = f"{COLUMN} > {LOW} and {COLUMN} < {HIGH}"
_TABLE = "/table"
#: how the command line says an error
_OWN = re.compile(
    r"^icecore: error\[(?P<kind>[\w-]+)\]: (?P<message>.*?)(?:\n  try: (?P<hint>.*))?\Z",
    re.MULTILINE | re.DOTALL,
)
#: who made what a point stands for
_OURS = ("icecore", "others")
#: seconds that a program may pack, and bytes that its speed is taken from
_LONGEST, _TRIAL = 30.0, 4 << 20


def run(folder: Path, source: str | None, say: Callable[[str], None]) -> Outcome:
    """Measure one RDR file, or one that is made for it.

    Args:
        folder: where the figures go.
        source: a Diviner RDR text file, or another table with a column ``clon``; made where it is None.
        say: is told what is being done.

    Raises:
        Error: ``source-missing``, ``not-found`` where there is no such column, ``format`` for no table,
            ``unsupported`` without pyarrow or awk.
    """
    from icecore.tables.query.scan import arrow

    arrow()  # as awk below: told of before minutes of packing
    with tempfile.TemporaryDirectory(prefix="icecore-pds-") as temporary:
        work = Path(temporary)
        file = Path(source) if source else _make(work, say)
        if not file.is_file():
            raise errors.make("source-missing", f"there is no file {file}", "give a Diviner RDR text file")
        column = _column(file)
        _awk("cat", column)
        packed = _pack(file, work, say)
        outcome = Outcome("pds", [packed[0], _unpack(file, work, packed[1], column, say)])
        outcome.tables.append(_together(file, work, packed[1], column, say))
        outcome.figures = _draw(folder, outcome.tables)
        outcome.notes = _notes(file, source)
        return outcome


def _column(file: Path) -> int:
    """The place of the column that rows are chosen by, from 1 on as awk counts."""
    from icecore.sources import open_source

    tables = open_source(str(file)).tables
    specs = [table.spec for table in tables.values() if table.spec is not None]
    names = [field.name for spec in specs for field in spec.fields]
    if len(tables) != 1 or COLUMN not in names:
        raise errors.make(
            "not-found",
            f"{file} has no column {COLUMN}, by which the study chooses rows, but {', '.join(names)}"
            if len(tables) == 1
            else f"{file} holds {len(tables)} tables, and the study measures one",
            f"give a Diviner RDR text file, or call a column of longitudes {COLUMN}",
        )
    return names.index(COLUMN) + 1


def _make(work: Path, say: Callable[[str], None]) -> Path:
    from icecore.samples.rdr import write

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
        raise _failed(line, done.stderr.decode("utf-8", "replace").strip())
    return seconds


def _failed(line: list[str] | str, said: str) -> errors.Error:
    """The error of a command; of icecore its own, which is about the file."""
    own = _OWN.search(said)
    if own is not None:
        return errors.make(own["kind"], own["message"], own["hint"] or "")
    return errors.make("io", f"{line} failed: {said[-300:]}")


def _size(path: Path) -> int:
    return (
        path.stat().st_size
        if path.is_file()
        else sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    )


@dataclass(frozen=True)
class Made:
    """What a program made (icecore, where ``utility`` is None) of so many bytes of text."""

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
    """The file, or so much of its beginning as a program packs in the time it may take."""
    trial = _first(file, work / "trial.tab", _TRIAL)
    seconds = external_compressors.pack(utility, level, trial, work / "trial.packed")
    most = int(_size(trial) * _LONGEST / seconds)
    return file if most >= _size(file) else _first(file, work / "part.tab", most)


def _first(file: Path, target: Path, most: int) -> Path:
    """The first rows of a file."""
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
    """Seconds that the rows of one place take where Python and pyarrow have started."""
    from icecore.repository.open import open as open_repo

    began = time.perf_counter()
    open_repo(str(repo)).table(_TABLE).scan(where=_WHERE).read_all()
    return time.perf_counter() - began


def _commands(made: Made, work: Path, column: int, process: int = 0) -> tuple[list[str], str]:
    """What gives the text again, and what gives the rows of one place; processes write files of their own."""
    if made.utility is None:
        restore = _icecore("restore", str(made.path), _TABLE, "-o", str(work / "again.tab"))
        return restore, _query(made.path, work / f"rows{process}.csv")
    line = external_compressors.command(made.utility.unpack, "", made.path, made.path)
    return line, _awk(" ".join(f"'{part}'" for part in line), column)


def _awk(text_of: str, column: int) -> str:
    program = next((name for name in ("mawk", "awk") if shutil.which(name)), None)
    if program is None:
        message = "neither mawk nor awk is on this machine, by which the study's peers choose rows"
        raise errors.make("unsupported", message, "install mawk")
    return f"{text_of} | {program} -F, '{{if (${column}>{LOW} && ${column}<{HIGH}) print}}'"


def _query(repo: Path, output: Path) -> str:
    parts = _icecore("query", str(repo), _TABLE, "--where", _WHERE, "-o", str(output))
    return " ".join(f"'{part}'" for part in parts)


def _together(file: Path, work: Path, packed: Packed, column: int, say: Callable[[str], None]) -> Table:
    """Several filters at once, each over the whole file: what the machine does per second."""
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
            "What packing takes and gains",
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
    given = "The given" if source else "A made"
    notes.append(
        f"{given} file, {file.name}. Each command ran once, from the page cache; icecore's include the start "
        "of Python. Its own is a whole repository, with summaries, and prints the file byte for byte. "
        f"Programs that need more than {_LONGEST:.0f} s packed the beginning, as their names say."
    )
    return notes
