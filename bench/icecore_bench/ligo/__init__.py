"""Study of frames at LIGO (Sigg 2000): speed and size of short and long frames, linked and packed.

The study timed frame libraries on frames of 1 to 240 s. This module generates frames of 60 channels, which
gwframe writes, and reads them with gwpy, LALFrame, gwframe and icecore.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import icecore
import numpy as np
from icecore import errors

from icecore_bench.ligo import channels, frames, goals, linking, readers, space, speed
from icecore_bench.ligo.frames import Layout, Samples
from icecore_bench.study import Outcome

Say = Callable[[str], None]
SHORT, LONG = Layout(1), Layout(60)
SUPPRESSED, LONG_SUPPRESSED = Layout(1, 1, "zero-suppressed"), Layout(60, 1, "zero-suppressed")
#: layouts that are timed, and layouts that are only measured in size
TIMED = (SHORT, Layout(1, 60), Layout(30), LONG, Layout(240), SUPPRESSED, LONG_SUPPRESSED)
SIZED = (Layout(1, 1, "raw"), Layout(1, 1, "differences, gzip"))
#: goals of the codec choice for packed channels
GOALS = ("speed", "balanced")


@dataclass(frozen=True)
class Scale:
    """Seconds of generated data, number of files for the table of linking, and runs per call."""

    seconds: int = 600
    files: int = 10_000
    runs: int = 7


FULL, QUICK = Scale(), Scale(60, 300, 2)


def run(folder: Path, source: str | None, say: Say, quick: bool = False) -> Outcome:
    """Generate frames, measure all readers and draw the figures.

    Args:
        folder: directory for the figures.
        source: must be None: the study generates its frames.
        say: called with progress messages.
        quick: a minute of data and few repetitions: checks that the study runs, not how fast.

    Raises:
        Error: ``unsupported`` if gwframe or matplotlib is not installed; ``invalid`` for a source.
    """
    if source is not None:
        raise errors.make("invalid", f"ligo takes no file (got {source})", "icecore bench ligo")
    frames.need()
    from icecore.display.figures import blank

    blank(1, 1)  # raises now if matplotlib is missing, not after minutes of measuring
    os.environ["ICECORE_CACHE"] = "0"
    scale = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="icecore-ligo-") as temporary:
        return _measured(folder, Path(temporary), scale, say)


def _measured(folder: Path, work: Path, scale: Scale, say: Say) -> Outcome:
    say(f"generating {scale.seconds} s of 60 channels")
    data = dict(channels.samples(scale.seconds))
    speeds, sizes = speed.Speeds(), space.Sizes(space.raw_sizes(data, scale.seconds))
    for layout in (*SIZED, *TIMED):
        say(layout.name)
        _files(work, layout, data, scale, speeds if layout in TIMED else None, sizes)
    packed = _pack(work, data, scale, sizes, say)
    speed.measure_packed(speeds, packed, _raw(work, data), scale.runs)
    linked, times = linking.measure(work, scale.files, say)
    parts = [
        speed.draw(folder, speeds, TIMED, scale.seconds),
        space.outcome(folder, sizes, SUPPRESSED.name),
        linked,
    ]
    outcome = Outcome("ligo", notes=[*readers.missing(), _note(scale)])
    for part in parts:
        outcome.tables += part.tables
        outcome.figures += part.figures
    names = {"short": SHORT.name, "long": LONG.name, "suppressed": SUPPRESSED.name}
    strain = sizes.raw["strain"]
    outcome.tables.append(goals.table(speeds, sizes, times, names, strain, scale.files))
    return outcome


def _files(
    work: Path, layout: Layout, data: Samples, scale: Scale, speeds: speed.Speeds | None, sizes: space.Sizes
) -> None:
    """Write and link the files of a layout, measure them, and delete all but the files to pack."""
    place, linked = work / _plain(layout.name), work / f"{_plain(layout.name)}.icecore"
    files = frames.write(place, layout, data, scale.seconds)
    icecore.link(files, linked)
    sizes.stored[layout.name] = space.stored_sizes(linked, data)
    if speeds is not None:
        speed.measure_files(speeds, layout, files, linked, data, scale.seconds, scale.runs)
    shutil.rmtree(linked)
    if layout != SUPPRESSED:
        shutil.rmtree(place)


def _pack(work: Path, data: Samples, scale: Scale, sizes: space.Sizes, say: Say) -> dict[str, Path]:
    """Pack the zero-suppressed one-second files in several ways; compare every channel bit for bit."""
    packed, files = {}, str(work / _plain(SUPPRESSED.name))
    for way in (*(f"for {goal}" for goal in GOALS), "with predict"):
        say(f"packing {way}")
        packed[way] = work / f"{_plain(way)}.icecore"
        if way == "with predict":
            _predicted(files, packed[way], data)
        else:
            icecore.pack(files, packed[way], goal=way.removeprefix("for "))
        repo = icecore.open(packed[way])
        for channel, values in data.items():
            array = repo[speed.path_of(channel.name)]
            assert isinstance(array, icecore.Array)
            if array[...].tobytes() != values.tobytes():
                raise errors.make("corrupt", f"{channel.name} packed {way} has other samples")
        sizes.stored[f"packed {way}"] = space.stored_sizes(packed[way], data)
    return packed


def _predicted(files: str, repository: Path, data: Samples) -> None:
    """Pack with `icecore.predict`: linear prediction of floating-point channels, differences of integers."""
    pco = [{"name": "numcodecs.pcodec", "configuration": {"level": 8}}]
    for kind, modes in (("f", ["lpc", "none"]), ("i", ["lorenzo", "none"])):
        names = [speed.path_of(c.name) for c in data if np.dtype(c.dtype).kind == kind]
        configuration = {"modes": modes, "codecs": [pco]}
        codec = [{"name": "icecore.predict", "configuration": configuration}]
        icecore.pack(files, repository, codec=codec, variables=names)


def _raw(work: Path, data: Samples) -> Path:
    place = work / "raw"
    place.mkdir()
    for channel, values in data.items():
        if channel.name in speed.ONE.values():
            np.ascontiguousarray(values).tofile(place / speed.stored(channel))
    return place


def _plain(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "_")


def _note(scale: Scale) -> str:
    return (
        f"{scale.seconds} s of 60 channels, from the page cache; medians of up to {scale.runs} runs in turn, "
        "in one process. Times of icecore include opening the repository; icecore, not linked, includes "
        "linking in memory. All readers' samples were compared with the generated ones."
    )
