"""Append time series: a new part continues the array of its channel that has its type and sampling."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.ingest.plan.continue_in_time import continued, is_on_grid
from icecore.repository import address
from icecore.repository.nodes import Node
from icecore.repository.time_axis import KEY, NS, TimeAxis, seconds_text
from icecore.sources.failure import Failure
from icecore.sources.files.identity import file_url, local_path
from icecore.sources.files.stamp import Identity
from icecore.sources.gwf.entry import CODECS, Name, VectReader, array_entry
from icecore.sources.gwf.paths import Axes
from icecore.sources.gwf.scan import Facts, FrameFile, Piece
from icecore.sources.gwf.timeline import timelines
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap
from icecore.sources.mapping.join_in_time import differences, facts
from icecore.writing.row_grid import RowGrid, unit_of

if TYPE_CHECKING:
    from icecore.ingest.plan.assembly import Assembly, Step
    from icecore.repository.repo import Repo


#: end of the path of a channel's second and later arrays: the GPS second in which one begins
_LATER = re.compile(r"\.\d+$")


@dataclass(frozen=True)
class _Channel:
    """A channel's stored arrays and new parts, in order of time."""

    path: str
    stored: list[Node]
    new: list[ArrayEntry]


def append_series(
    result: Assembly,
    step: type[Step],
    source: str,
    arrays: ArrayMap,
    root: str,
    repo: Repo,
    over: bool = False,
) -> set[str]:
    """Add the steps that append the time series of a source; return the paths of these series in the source.

    A part that fits no stored array of its channel becomes another array of the channel, as when all files
    are linked at once. Frames that lie in a gap, or before the end of the array, are inserted.
    """
    channels = _channels(arrays, root, repo._nodes)
    for channel in channels:
        try:
            for each in _steps(channel, step, source, repo, over):
                _note(result, channel, each)
        except errors.Error as error:
            result.failures.append(Failure.of(source, error))
    _name_axes(result, root, repo._nodes)
    return {entry.path for channel in channels for entry in channel.new}


def _channels(arrays: ArrayMap, root: str, nodes: Mapping[str, Node]) -> list[_Channel]:
    new: dict[str, list[ArrayEntry]] = defaultdict(list)
    for inside, entry in arrays.arrays.items():
        if KEY in entry.attrs:
            path = address.join(root, inside)
            first = _LATER.sub("", path)
            new[first if first in nodes or _LATER.sub("", inside) in arrays.arrays else path].append(entry)
    stored: dict[str, list[Node]] = defaultdict(list)
    for path, node in nodes.items():
        first = path if path in new else _LATER.sub("", path)
        if first in new and node.is_array and KEY in node.attrs:
            stored[first].append(node)
    return [
        _Channel(path, sorted(stored[path], key=_begin), sorted(entries, key=_begin))
        for path, entries in new.items()
        if not (path in nodes and not stored[path])
    ]


def _begin(item: Node | ArrayEntry) -> int:
    return _axis(item).t0


def _axis(item: Node | ArrayEntry) -> TimeAxis:
    axis = TimeAxis.of(item.attrs)
    assert axis is not None  # only items with KEY are collected
    return axis


def _steps(channel: _Channel, step: type[Step], source: str, repo: Repo, over: bool) -> list[Step]:
    ends = [_axis(node).time(node.shape[0]) for node in channel.stored]
    is_late = bool(ends) and min(map(_begin, channel.new)) < max(ends) - 1
    if is_late and is_woven(channel.stored, channel.new):
        return woven(step, channel.path, source, channel.stored, channel.new, repo, over)
    free, found = list(channel.stored), []
    for entry in channel.new:
        node = next((each for each in reversed(free) if _continues(each, entry)), None)
        if node is not None:
            free.remove(node)
            found.append(step(node.path, source, continued(entry, node, source), old=node))
            continue
        path = f"{channel.path}.{_begin(entry) // NS}" if channel.stored or found else channel.path
        if path in repo._nodes:
            raise errors.make("exists", f"{path} exists already, and {source} does not continue it")
        found.append(step(path, source, entry))
    return found


def _continues(node: Node, entry: ArrayEntry) -> bool:
    """Whether an entry has the type, sampling and meaning of a stored array."""
    old, new = _axis(node), _axis(entry)
    if (old.step, old.epoch, node.document["data_type"]) != (new.step, new.epoch, entry.data_type):
        return False
    return facts(node.attrs) == facts(entry.attrs) and is_on_grid(old, new.t0)


def _note(result: Assembly, channel: _Channel, step: Step) -> None:
    if step.is_same:
        result.skipped.append((step.path, step.entry, "its files are linked already"))
        return
    if step.is_gone:
        result.gone.append(step.path)
        return
    result.steps.append(step)
    if step.old is None and channel.stored:
        axis = _axis(step.entry)
        kind = f"{step.entry.dtype} at {axis.rate:.10g} Hz from GPS {seconds_text(axis.t0)}"
        changed = differences(channel.stored[-1].attrs, step.entry.attrs)
        said = f"{kind}: {'; '.join(changed) or 'the type or sampling changed'}"
        result.notes.append(Failure(step.path, "changed", said))


def _name_axes(result: Assembly, root: str, nodes: Mapping[str, Node]) -> None:
    """Name the time axes of frame channels as when all files are linked at once, by all axes of a group."""
    after: dict[str, tuple[Node | ArrayEntry, int]] = {}
    for path, node in nodes.items():
        if (
            node.is_array
            and _is_channel(node)
            and path.startswith(f"{root.rstrip('/')}/")
            and path not in result.gone
        ):
            after[path] = node, node.shape[0]
    for step in result.steps:
        if _is_channel(step.entry):
            after[step.path] = (
                step.old if step.old is not None and not step.whole else step.entry,
                step.shape[0],
            )
    axes = Axes.of((path, _axis(item).t0, _axis(item).step, count) for path, (item, count) in after.items())
    steps = {step.path: step for step in result.steps}
    for path, (item, count) in after.items():
        dim = axes.dimension(path, _axis(item).t0, _axis(item).step, count)
        if path in steps and (steps[path].old is None or steps[path].whole):
            steps[path].entry.dims = (dim,)
        elif nodes[path].dims != (dim,):
            result.renamed[path] = (dim,)


def _is_channel(item: Node | ArrayEntry) -> bool:
    return KEY in item.attrs and "channel" in item.attrs


# Insert frames that arrive late into linked channels, and recognize frames that are linked already.

#: attributes that a channel has because of others
_KEPT = ("ancillary_variables", "flag_values", "flag_meanings")

_Pieces = list[tuple[FrameFile, Piece]]


def is_woven(stored: Sequence[Node], new: Sequence[ArrayEntry]) -> bool:
    """Whether stored arrays and new parts are vectors of frame files."""
    are_frames = all(isinstance(entry.read, VectReader) for entry in new)
    return are_frames and all(node.codecs == CODECS for node in stored)


def woven(
    step: type[Step],
    path: str,
    source: str,
    stored: Sequence[Node],
    new: Sequence[ArrayEntry],
    repo: Repo,
    over: bool,
) -> list[Step]:
    """Return the steps that turn a channel's stored arrays into those of all its frames.

    The references of these arrays are written again. If all frames are linked already, the steps change
    nothing. With ``over``, new frames replace those of their times.

    Raises:
        Error: ``source-changed`` if a file changed since it was linked; ``mismatch`` if new frames would
            replace a part of a stored one.
    """
    known = [pair for node in stored for pair in _pieces(node, repo)]
    at = {(file_url(file.path), piece.offset): file for file, piece in known}
    added: _Pieces = []
    for file, piece in ((p.file, p.piece) for entry in new for p in _lines(entry).pieces):
        before = at.get((file_url(file.path), piece.offset))
        is_other = before is not None and _state(before) != _state(file)
        if before is None or (is_other and over):
            added.append((file, piece))
        elif is_other:
            hint = "replace its frames: link … --append --replace; or link all files again: --replace"
            raise errors.make("source-changed", f"{file.path} changed since it was linked", hint)
    count = len(known)
    if over and added:
        known = _outside(known, added)
    is_replaced = len(known) < count
    if not added:
        return [step(node.path, source, _entry_of(new, node), old=node, is_same=True) for node in stored]
    nodes = {node.path: node for node in stored}
    steps = []
    for i, line in enumerate(timelines([*known, *added])):
        place = path if i == 0 else f"{path}.{line.t0 // NS}"
        entry = array_entry(place, Name(str(new[0].attrs["channel"])), line, "time")
        entry.attrs = {**{key: new[0].attrs[key] for key in _KEPT if key in new[0].attrs}, **entry.attrs}
        node = nodes.pop(place, None)
        if node is None or is_replaced or not _is_same(node, entry, repo):
            steps.append(step(place, source, entry, old=node, whole=node is not None))
    return steps + [
        step(place, source, new[0], old=node, whole=True, is_gone=True) for place, node in nodes.items()
    ]


def _state(file: FrameFile) -> tuple[int, int]:
    return file.identity.size, file.identity.mtime_ns


def _outside(known: _Pieces, added: _Pieces) -> _Pieces:
    """Return the stored pieces outside of the times of the added ones.

    Raises:
        Error: ``mismatch`` if a stored piece lies partly inside.
    """
    spans = np.array(sorted(_span(piece) for _, piece in added), "i8").reshape(-1, 2)
    touch = spans[1:, 0] > np.maximum.accumulate(spans[:, 1])[:-1] + 1
    firsts, lasts = np.flatnonzero([True, *touch]), np.flatnonzero([*touch, True])
    starts, ends = spans[firsts, 0], np.maximum.accumulate(spans[:, 1])[lasts]
    replaced = {file_url(file.path) for file, _ in added}
    kept: _Pieces = []
    for file, piece in known:
        low, high = _span(piece)
        i = max(int(np.searchsorted(starts, low + 1, "right")) - 1, 0)
        if file_url(file.path) in replaced or (starts[i] <= low + 1 and high <= ends[i] + 1):
            continue
        j = int(np.searchsorted(ends, low + 1, "right"))
        if j < len(starts) and starts[j] < high - 1:
            told = f"{seconds_text(low)} to {seconds_text(high)}"
            message = f"the new files have a part of GPS {told}, which {file.path} has whole"
            raise errors.make("mismatch", message, "replace it with files of all its times")
        kept.append((file, piece))
    return kept


def _span(piece: Piece) -> tuple[int, int]:
    """Begin and end of a piece in GPS nanoseconds."""
    return piece.start, piece.start + round(piece.count * Fraction(piece.step) * NS)


def _entry_of(new: Sequence[ArrayEntry], node: Node) -> ArrayEntry:
    return next((entry for entry in new if entry.data_type == node.document["data_type"]), new[0])


def _lines(entry: ArrayEntry) -> Any:
    assert isinstance(entry.read, VectReader)
    return entry.read.line


def _is_same(node: Node, entry: ArrayEntry, repo: Repo) -> bool:
    """Whether a stored array has exactly the samples of an entry."""
    links = repo._array(node.path)._native.links()
    return node.shape == entry.shape and entry.links is not None and len(links[2]) == len(entry.links)


def _pieces(node: Node, repo: Repo) -> _Pieces:
    """Return the frames of a stored array."""
    files, ids, chunks, offsets, lengths = repo._array(node.path)._native.links()
    unit, axis = unit_of(node), TimeAxis.of(node.attrs)
    assert unit is not None
    assert axis is not None
    rows = RowGrid.of(node.document, unit[0])
    invalid = {start: value for start, _, value in node.attrs.get("data_valid", ())}
    dtype = str(node.document["data_type"])
    indexed = [_file(url, known) for url, known in files]
    facts, step = _facts(node.numbers), float(axis.step)
    found: _Pieces = []
    for number, chunk, offset, length in zip(
        ids.tolist(), chunks.tolist(), offsets.tolist(), lengths.tolist(), strict=True
    ):
        first, last = rows.span(chunk)
        start, count = axis.time(first), last - first
        piece = Piece(start, step, 1, dtype, count, 1, offset, length, 0, invalid.get(start, 0), facts)
        found.append((indexed[number], piece))
    return found


def _facts(attrs: dict[str, Any]) -> Facts:
    """Return the meaning of a channel's numbers from the attributes of its array."""
    masks, names = attrs.get("flag_masks", ()), str(attrs.get("flag_meanings", "")).split()
    bits = " ".join(f"{int(mask).bit_length() - 1}:{name}" for mask, name in zip(masks, names, strict=False))
    return Facts(
        str(attrs.get("units", bits)),
        attrs.get("scale_factor", attrs.get("adc_slope", 1.0)),
        attrs.get("add_offset", attrs.get("adc_bias", 0.0)),
        attrs.get("frequency_shift", 0.0),
        attrs.get("phase", 0.0),
    )


def _file(url: str, known: tuple[int, int, str | None] | None) -> FrameFile:
    size, mtime_ns, etag = known or (-1, -1, None)
    return FrameFile(local_path(url), Identity(url, size, mtime_ns, etag), 8, True, [], [])
