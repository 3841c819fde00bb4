"""Compare channels of real frame files with gwframe (frameCPP) and LALFrame (through gwpy), bit for bit.

Usage: python tools/compare_gwf.py FILE_OR_FOLDER...
Prints one line a channel and, at the end, how many were equal.
Needs icecore, gwframe 0.8, gwpy 4 and lalsuite. Exit status 1 where a channel differs, or no peer reads it.
"""

from __future__ import annotations

import collections
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from icecore.sources import open_source
from icecore.sources.mapping.array_map import ArrayEntry

Peer = Callable[[Path, ArrayEntry], np.ndarray]


def with_gwframe(path: Path, entry: ArrayEntry) -> np.ndarray:
    import gwframe

    parts: list[np.ndarray] = []
    while sum(len(part) for part in parts) < entry.shape[0]:
        found = gwframe.read(path, entry.attrs["channel"], len(parts), allow_invalid=True)
        parts.append(np.asarray(found.array))
    return np.concatenate(parts)


def with_lalframe(path: Path, entry: ArrayEntry) -> np.ndarray:
    from gwpy.timeseries import TimeSeries

    return TimeSeries.read(str(path), entry.attrs["channel"], format="gwf", backend="lalframe").value


def compare(path: Path, counts: collections.Counter[str]) -> None:
    """Count channels, those equal to each peer, those that differ, and those that no peer reads."""
    for entry in open_source(path, keep_going=True).arrays.values():
        assert entry.read is not None
        ours = entry.read((slice(0, entry.shape[0]),))
        said = []
        peers: dict[str, Peer] = {"gwframe": with_gwframe, "LALFrame": with_lalframe}
        for name, peer in peers.items():
            try:
                theirs = peer(path, entry)
            except Exception as error:
                said.append(f"{name} fails: {str(error).splitlines()[0][:60] if str(error) else type(error)}")
                continue
            same = ours.dtype == theirs.dtype and ours.tobytes() == np.ascontiguousarray(theirs).tobytes()
            said.append(f"{name} {'equal' if same else 'DIFFERS'}")
            counts[f"equal to {name}" if same else "differ"] += 1
        counts["channels"] += 1
        counts["read by no peer"] += all("fails" in item for item in said)
        print(f"{path.name} {entry.attrs['channel']} {ours.dtype}[{len(ours)}]: {', '.join(said)}")


def main() -> int:
    places = [Path(argument) for argument in sys.argv[1:]]
    files = [
        file for place in places for file in (sorted(place.glob("*.gwf")) if place.is_dir() else [place])
    ]
    counts: collections.Counter[str] = collections.Counter()
    for file in files:
        compare(file, counts)
    names = ("channels", "equal to LALFrame", "equal to gwframe", "differ", "read by no peer")
    print(f"{len(files)} files: " + ", ".join(f"{name} {counts[name]}" for name in names))
    return 1 if counts["differ"] or counts["read by no peer"] else 0


if __name__ == "__main__":
    sys.exit(main())
