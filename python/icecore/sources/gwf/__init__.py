"""Gravitational-wave frame files (GWF): each channel is one array on a time axis, its vectors are linked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from icecore import errors
from icecore.cluster.tasks import Cluster
from icecore.display import text
from icecore.repository.channel_names import array_path
from icecore.repository.time_axis import seconds_text
from icecore.sources.gwf.entry import Name, array_entry
from icecore.sources.gwf.lists import listed_frames as listed
from icecore.sources.gwf.paths import Axes, Paths
from icecore.sources.gwf.scan import FrameFile, Piece, scan
from icecore.sources.gwf.timeline import Timeline, changes, timelines
from icecore.sources.mapping.array_map import ArrayMap, Note

__all__ = ["joined", "listed", "open", "open_many"]

#: largest number of names in a note
_SHOWN = 4
#: FrProcData types that are series in time; 0 is "unknown"
_TIME_SERIES = (0, 1)


def open(source: str) -> ArrayMap:
    """Index one frame file.

    Raises:
        Error: ``format``, ``corrupt``, ``source-missing``.
    """
    found = scan([source])[0]
    if isinstance(found, errors.Error):
        raise found
    return joined([found], source)


def open_many(
    sources: Sequence[str],
    name: str,
    progress: Callable[[str, int, int], None] | None = None,
    cluster: Cluster | None = None,
) -> ArrayMap:
    """Index frame files and join each channel's vectors in time; damaged files are in ``failed``."""
    indexed = scan(list(dict.fromkeys(sources)), 0, progress, cluster)
    result = joined([file for file in indexed if isinstance(file, FrameFile)], name)
    result.failed += [error for error in indexed if isinstance(error, errors.Error)]
    return result


def joined(files: Sequence[FrameFile], name: str) -> ArrayMap:
    """The channels of indexed files as arrays, in the groups of their instruments."""
    result = ArrayMap(name)
    pieces = _pieces(files, result)
    lines = {channel: timelines(found) for channel, found in pieces.items()}
    paths = Paths()
    places: list[tuple[str, Name, Timeline]] = []
    for channel, found in lines.items():
        base, moved = paths.place(channel.channel)
        if moved:
            result.dropped.append(Note(base, "name", moved))
        with_it = {file.path for file, _ in pieces[channel]}
        for i, line in enumerate(found):
            place = base if i == 0 else paths.later(base, line.t0)
            places.append((place, channel, line))
            if i:
                said = f"{line.dtype} at {float(1 / line.step):.10g} Hz from GPS {seconds_text(line.t0)}"
                result.dropped.append(Note(place, "changed", f"{said}: {changes(found[i - 1], line)}"))
            _report(result, place, line)
        if len(with_it) < len(files):
            said = f"missing in {len(files) - len(with_it)} of {len(files)} files"
            result.dropped.append(Note(base, "missing", said))
    auxiliary: dict[str, list[str]] = defaultdict(list)
    for place, channel, _ in places:
        if channel.kind == "aux":
            auxiliary[channel.of].append(place)
    axes = Axes.of((place, line.t0, line.step, line.stop) for place, _, line in places)
    for place, channel, line in places:
        masks = () if channel.of else auxiliary[channel.channel]
        dim = axes.dimension(place, line.t0, line.step, line.stop)
        result.add(array_entry(place, channel, line, dim, masks))
    result.dropped += _others(files)
    return result


def _others(files: Sequence[FrameFile]) -> list[Note]:
    """Return notes on structures that are not read, one for each class."""
    names: dict[str, Counter[str]] = defaultdict(Counter)
    for file in files:
        for name, count in file.events:
            names["event"][name] += count
        for kind, name in file.others:
            names[kind][name] += 1
    found = []
    for kind, counts in names.items():
        of = ", ".join(
            f"{count} {name}" if kind == "event" else name for name, count in counts.most_common(_SHOWN)
        )
        more = f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else ""
        what = "events" if kind == "event" else kind
        only = " only" if kind == "event" and not any(file.channels for file in files) else ""
        found.append(
            Note("/", "unsupported", f"{files[0].path}{_rest(files)} holds {what}{only}: {of}{more}")
        )
    return found


def _rest(files: Sequence[FrameFile]) -> str:
    return f" and {len(files) - 1} more" if len(files) > 1 else ""


def _pieces(files: Sequence[FrameFile], result: ArrayMap) -> dict[Name, list[tuple[FrameFile, Piece]]]:
    pieces: dict[Name, list[tuple[FrameFile, Piece]]] = defaultdict(list)
    left_out: Counter[tuple[str, str]] = Counter()
    for file in files:
        for kind, channel, offset, message in file.problems:
            error = errors.make(kind, f"{file.path}: {channel or 'file'} at offset {offset}: {message}")
            if kind == "corrupt":
                result.failed.append(error)
            else:
                result.dropped.append(Note(array_path(channel) if channel else "/", kind, error.message))
        for channel, kind, found, of in file.channels:
            key = Name(channel, kind if of else "", of)
            for piece in found:
                if why := _unusable(piece):
                    left_out[channel, why] += 1
                else:
                    pieces[key].append((file, piece))
    for (channel, why), count in left_out.items():
        result.dropped.append(Note(array_path(channel), "unsupported", f"{why} ({count} frames)"))
    # Channels first, so that they keep their paths, and their groups before channels without a detector.
    return dict(sorted(pieces.items(), key=lambda item: (bool(item[0].of), ":" not in item[0].channel)))


def _unusable(piece: Piece) -> str:
    if piece.series not in _TIME_SERIES:
        return f"not a time series (FrProcData type {piece.series})"
    if piece.dims > 1:
        return f"a vector of {piece.dims} dimensions"
    return "" if piece.count else "a vector without samples"


def _report(result: ArrayMap, place: str, line: Timeline) -> None:
    gaps = len(line.segments()) - 1
    if gaps:
        result.dropped.append(Note(place, "gaps", text.plural(gaps, "gap")))
    result.dropped += [Note(place, "overlap", note) for note in line.notes]
    result.dropped += [Note(place, "times", note) for note in line.remarks()[len(line.notes) :]]
