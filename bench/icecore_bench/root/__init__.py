"""Compression and random access of ROOT files (Zhang and Bockelman 2017), with the readers of today.

The study asked how codecs trade size for speed on a real tree, and whether one event can be read without
decompressing its basket (RAC: each event compressed by itself). This module measures both, single events and
every 10th and 100th of them in other formats, sequential reads, opening wide files, and compression of whole
files by a file system.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from icecore import errors

from icecore_bench.root import codecs, entries, objects, opening, sequential, squashfs
from icecore_bench.root.peers import missing
from icecore_bench.study import Outcome


def run(folder: Path, source: str | None, say: Callable[[str], None], quick: bool = False) -> Outcome:
    """Run all measurements.

    Args:
        folder: directory for the figures.
        source: a ROOT file for tables 1 and 6, ``FILE`` or ``FILE:TREE``; a tree is generated if None.
        say: called with progress messages.
        quick: a tenth of the data and fewer repeats.

    Raises:
        Error: ``unsupported`` without uproot; ``source-missing``.
    """
    try:
        import awkward  # noqa: F401
        import uproot  # noqa: F401
    except ModuleNotFoundError:
        message = "the study writes its trees with uproot and awkward, which are not installed"
        raise errors.needs("root", message) from None
    before = os.environ.get("ICECORE_CACHE")
    os.environ["ICECORE_CACHE"] = "0"
    outcome = Outcome("root")
    try:
        with tempfile.TemporaryDirectory(prefix="icecore-root-") as temporary:
            work = Path(temporary)
            for part in (codecs, objects, entries, sequential, opening, squashfs):
                found = part.measure(folder, source, work, say, quick)
                outcome.tables += found.tables
                outcome.figures += found.figures
                outcome.notes += found.notes
                outcome.write(
                    folder
                )  # a part takes minutes: what it found outlives the failure of a later one
    finally:
        os.environ.pop("ICECORE_CACHE") if before is None else os.environ.update(ICECORE_CACHE=before)
    if absent := missing(squashfs.absent()):
        outcome.notes.append(absent)
    return outcome
