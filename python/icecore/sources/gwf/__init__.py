"""Gravitational-wave frame files (GWF): each channel is one array on a time axis, its vectors are linked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from icecore import errors
from icecore.cluster.tasks import Cluster
from icecore.display import text
from icecore.sources.gwf.axes import Axes
from icecore.sources.gwf.entry import array_entry
from icecore.sources.gwf.scan import FrameFile, Piece, scan
from icecore.sources.gwf.timeline import Timeline, timelines
from icecore.sources.mapping.array_map import ArrayMap, Note, damage

_NS = 1_000_000_000
#: FrProcData types that are series in time; 0 is "unknown"
_TIME_SERIES = (0, 1)


def open(source: str) -> ArrayMap:
    """Index one frame file (a local path).

    Raises:
        Error: ``format``, ``corrupt``, ``source-missing``.
    """
    found = scan([source])[0]
    if isinstance(found, errors.Error):
        raise found
    return joined([found], source)


def open_many(
    paths: Sequence[str],
    name: str,
    progress: Callable[[str, int, int], None] | None = None,
    cluster: Cluster | None = None,
) -> ArrayMap:
    """Index frame files and join each channel's vectors in time; damaged files are in ``failed``."""
    indexed = scan(paths, 0, progress, cluster)
    result = joined([file for file in indexed if isinstance(file, FrameFile)], name)
    result.failed += [error for error in indexed if isinstance(error, errors.Error)]
    return result


def joined(files: Sequence[FrameFile], name: str) -> ArrayMap:
    """The channels of indexed files as arrays, in the groups of their instruments."""
    result = ArrayMap(name)
    pieces = _pieces(files, result)
    lines = {channel: timelines(found) for channel, found in pieces.items()}
    places: list[tuple[str, str, Timeline]] = []
    for channel, found in lines.items():
        path = array_path(channel)
        for i, line in enumerate(found):
            place = path if i == 0 else f"{path}.{line.t0 // _NS}"
            places.append((place, channel, line))
            _report(result, place, files, line, i > 0)
    axes = Axes.of((place, line.t0, line.step, line.stop) for place, _, line in places)
    for place, channel, line in places:
        if place in result.arrays:
            result.failed.append(damage(f"{channel}: another channel has the path {place}"))
            continue
        dim = axes.dimension(place, line.t0, line.step, line.stop)
        result.add(array_entry(place, channel, line, dim))
    for file in files:
        if file.events and not file.channels:
            names = ", ".join(f"{count} {name}" for name, count in file.events[:4])
            result.dropped.append(Note("/", "unsupported", f"{file.path} holds events only: {names}"))
    return result


def array_path(channel: str) -> str:
    """``/H1/GDS-CALIB_STRAIN`` for ``H1:GDS-CALIB_STRAIN``."""
    return "/" + "/".join(part.strip("/ ") or "_" for part in channel.replace("/", "_").split(":", 1))


def _pieces(files: Sequence[FrameFile], result: ArrayMap) -> dict[str, list[tuple[FrameFile, Piece]]]:
    pieces: dict[str, list[tuple[FrameFile, Piece]]] = defaultdict(list)
    left_out: Counter[tuple[str, str]] = Counter()
    for file in files:
        for kind, channel, offset, message in file.problems:
            error = errors.make(kind, f"{file.path}: {channel or 'file'} at offset {offset}: {message}")
            if kind == "corrupt":
                result.failed.append(error)
            else:
                result.dropped.append(Note(array_path(channel) if channel else "/", kind, error.message))
        for channel, _, found in file.channels:
            for piece in found:
                if why := _unusable(piece):
                    left_out[channel, why] += 1
                else:
                    pieces[channel].append((file, piece))
    for (channel, why), count in left_out.items():
        result.dropped.append(Note(array_path(channel), "unsupported", f"{why} ({count} frames)"))
    return pieces


def _unusable(piece: Piece) -> str:
    if piece.series not in _TIME_SERIES:
        return f"not a time series (FrProcData type {piece.series})"
    if piece.dims > 1:
        return f"a vector of {piece.dims} dimensions"
    return "" if piece.count else "a vector without samples"


def _report(result: ArrayMap, place: str, files: Sequence[FrameFile], line: Timeline, changed: bool) -> None:
    if changed:
        rate = float(1 / line.step)
        said = f"{line.dtype} at {rate:g} Hz from GPS {line.t0 / _NS:.9g}: the type or sampling changed"
        result.dropped.append(Note(place, "changed", said))
    missing = len(files) - len({placed.file.path for placed in line.pieces})
    if missing:
        result.dropped.append(Note(place, "missing", f"missing in {missing} of {len(files)} files"))
    gaps = len(line.segments()) - 1
    if gaps:
        result.dropped.append(Note(place, "gaps", text.plural(gaps, "gap")))
    result.dropped += [Note(place, "overlap", note) for note in line.notes]
