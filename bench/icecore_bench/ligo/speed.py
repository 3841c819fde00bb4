"""Tables 1 and 2: time to read one channel, all channels and the table of contents, per file layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import icecore
import numpy as np
from icecore import errors
from icecore.display import figures

from icecore_bench.ligo.channels import STRAIN, Channel
from icecore_bench.ligo.clock import Time, medians
from icecore_bench.ligo.frames import Layout, Samples
from icecore_bench.ligo.readers import PEERS, Files, limit, places
from icecore_bench.study import Outcome, Table

#: channels that are read individually: 16 kHz, 2 kHz and 256 Hz
ONE = {"16 kHz": STRAIN, "2 kHz": "H1:SEI-GND_VEL_0", "256 Hz": "H1:PEM-TILT_0"}
EVERYTHING, CONTENTS = "all", "TOC only"
LINKED, IN_PLACE, LIMIT = "icecore, linked", "icecore, not linked", "pread + libdeflate"
PACKED = "icecore, packed"
#: largest number of runs of a call, and seconds after which it does not run again
_RUNS, _SECONDS = 7, 2.5


@dataclass
class Speeds:
    """Times by layout, kind of read, and reader."""

    times: dict[tuple[str, str, str], Time] = field(default_factory=dict)

    def cpu(self, layout: str, what: str, reader: str) -> float | None:
        """Return CPU seconds; None if the reader was not measured."""
        found = self.times.get((layout, what, reader))
        return found.cpu if found else None

    def ratio(self, layout: str, what: str, reader: str, other: str) -> float | None:
        """Return the CPU time of ``reader`` divided by that of ``other``."""
        one, two = self.cpu(layout, what, reader), self.cpu(layout, what, other)
        return one / two if one is not None and two else None


def path_of(channel: str) -> str:
    """Return the path of a channel in a repository."""
    return "/" + channel.replace(":", "/")


def measure_files(
    speeds: Speeds, layout: Layout, files: Files, linked: Path, data: Samples, seconds: int, runs: int = _RUNS
) -> None:
    """Time all readers on the files of one layout, and compare their samples with the generated ones."""
    expected = {channel.name: values for channel, values in data.items()}
    for what, channel in ONE.items():
        calls = _one(layout, files, linked, channel, seconds, what == "16 kHz")
        for name, call in calls.items():
            _compare(name, channel, call(), expected[channel])
        _note(speeds, layout.name, what, medians(calls, runs, _SECONDS))
    calls = {p.name: partial(p.everything, files, seconds) for p in PEERS if p.present and p.everything}
    calls[LINKED] = partial(_read_all, linked)
    _note(speeds, layout.name, EVERYTHING, medians(calls, runs, _SECONDS))
    contents: dict[str, Callable[[], Any]] = {p.name: partial(p.contents, files) for p in PEERS if p.present}
    contents[LINKED] = partial(_open, linked)
    contents[IN_PLACE] = partial(_contents, files)
    _note(speeds, layout.name, CONTENTS, medians(contents, runs, _SECONDS))


def measure_packed(speeds: Speeds, packed: Mapping[str, Path], raw: Path, runs: int = _RUNS) -> None:
    """Time the same reads from packed repositories (way → path), and of a channel from a raw file."""
    for what, channel in ONE.items():
        calls: dict[str, Callable[[], Any]] = {
            f"{PACKED} {way}": partial(_read, path, channel) for way, path in packed.items()
        }
        calls["one raw file"] = partial(_raw, raw / f"{path_of(channel).rsplit('/', 1)[1]}.bin")
        _note(speeds, "packed", what, medians(calls, runs + 4, _SECONDS))
    everything = {f"{PACKED} {way}": partial(_read_all, path) for way, path in packed.items()}
    _note(speeds, "packed", EVERYTHING, medians(everything, runs, _SECONDS))
    opened = {f"{PACKED} {way}": partial(_open, path) for way, path in packed.items()}
    _note(speeds, "packed", CONTENTS, medians(opened, runs, _SECONDS))


def _one(
    layout: Layout, files: Files, linked: Path, channel: str, seconds: int, fast: bool
) -> dict[str, Callable[[], Any]]:
    calls: dict[str, Callable[[], Any]] = {
        peer.name: partial(peer.read, files, channel, seconds) for peer in PEERS if peer.present
    }
    calls[LINKED] = partial(_read, linked, channel)
    calls[IN_PLACE] = partial(_in_place, files, channel)
    if layout.compression == "gzip" and fast:
        calls[LIMIT] = partial(limit, places(files, channel))
    return calls


def _compare(name: str, channel: str, found: Any, expected: np.ndarray) -> None:
    data = np.frombuffer(b"".join(found), expected.dtype) if isinstance(found, list) else found
    if data.dtype != expected.dtype or data.tobytes() != expected.tobytes():
        raise errors.make("corrupt", f"{name} reads other samples of {channel} than were written")


def _note(speeds: Speeds, layout: str, what: str, found: Mapping[str, Time]) -> None:
    speeds.times.update({(layout, what, reader): time for reader, time in found.items()})


def _open(path: Path) -> int:
    return len(icecore.open(path).arrays)


def _read(path: Path, channel: str) -> Any:
    array: Any = icecore.open(path)[path_of(channel)]
    return array[...]


def _read_all(path: Path) -> Any:
    repo = icecore.open(path)
    return repo.read(dict.fromkeys(repo.arrays))


def _in_place(files: Files, channel: str) -> Any:
    name = path_of(channel)
    icecore.link(files, "memory://ligo-in-place", replace=True, variables=name)
    array: Any = icecore.open("memory://ligo-in-place")[name]
    return array[...]


def _contents(files: Files) -> int:
    from icecore.sources.gwf.scan import scan

    return len(scan(files, 1))


def _raw(path: Path) -> np.ndarray:
    return np.fromfile(path, np.uint8)


def tables(speeds: Speeds) -> list[Table]:
    """Return tables of CPU and wall milliseconds, one line for each layout and reader."""
    columns = [*ONE, EVERYTHING, CONTENTS]
    heads = ["frames, reader", *(f"{column}, ms" for column in columns), "16 kHz / linked"]
    cpu = Table("Table 1: CPU time (user and system, all threads) of reading one channel of 60", heads)
    wall = Table("Table 2: wall time of the same", heads[:-1])
    for layout, reader in dict.fromkeys((layout, reader) for layout, _, reader in speeds.times):
        times = [speeds.times.get((layout, what, reader)) for what in columns]
        ratio = speeds.ratio(layout, "16 kHz", reader, LINKED)
        cpu.rows.append([f"{layout}, {reader}", *(t and t.cpu * 1e3 for t in times), ratio])
        wall.rows.append([f"{layout}, {reader}", *(t and t.wall * 1e3 for t in times)])
    return [cpu, wall]


def draw(folder: Path, speeds: Speeds, layouts: Sequence[Layout], seconds: int) -> Outcome:
    """Draw figures: seconds of data read per CPU second, for the 16 kHz channel and for all channels."""
    outcome = Outcome("speed", tables(speeds))
    ticks = {float(i): layout.name.replace(", ", "\n") for i, layout in enumerate(layouts)}
    for number, what in enumerate(("16 kHz", EVERYTHING), 1):
        readers = dict.fromkeys(r for layout, w, r in speeds.times if w == what and layout != "packed")
        series = {}
        for reader in readers:
            found = [(i, speeds.cpu(layout.name, what, reader)) for i, layout in enumerate(layouts)]
            here = [(float(i), seconds / cpu) for i, cpu in found if cpu]
            series[reader] = ([i for i, _ in here], [speed for _, speed in here])
        outcome.figures.append(
            figures.lines(
                folder / f"ligo-{number}.png",
                f"Figure {number}: reading {'one 16 kHz channel' if number == 1 else 'all 60 channels'}",
                ("layout of the files", "seconds of data per CPU second"),
                series,
                "y",
                ticks=ticks,
                joined=False,
            )
        )
    return outcome


def stored(channel: Channel) -> str:
    """Return the name of a channel's raw file."""
    return f"{path_of(channel.name).rsplit('/', 1)[1]}.bin"
