"""Insert frames that arrive late into linked channels, and recognize frames that are linked already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository.nodes import Node
from icecore.repository.time_axis import NS, TimeAxis
from icecore.sources.files.identity import file_url, local_path
from icecore.sources.files.stamp import Identity
from icecore.sources.gwf.entry import CODECS, Name, VectReader, array_entry
from icecore.sources.gwf.scan import Facts, FrameFile, Piece
from icecore.sources.gwf.timeline import timelines
from icecore.sources.mapping.array_map import ArrayEntry
from icecore.writing.row_grid import RowGrid, unit_of

if TYPE_CHECKING:
    from icecore.ingest.placement import Step
    from icecore.repository.repo import Repo

#: attributes that a channel has because of others
_KEPT = ("ancillary_variables", "flag_values", "flag_meanings")

_Pieces = list[tuple[FrameFile, Piece]]


def is_woven(stored: Sequence[Node], new: Sequence[ArrayEntry]) -> bool:
    """Whether stored arrays and new parts are vectors of frame files."""
    are_frames = all(isinstance(entry.read, VectReader) for entry in new)
    return are_frames and all(node.codecs == CODECS for node in stored)


def woven(
    step: type[Step], path: str, source: str, stored: Sequence[Node], new: Sequence[ArrayEntry], repo: Repo
) -> list[Step]:
    """Return the steps that turn a channel's stored arrays into those of all its frames.

    The references of these arrays are written again. If all frames are linked already, the steps change
    nothing.

    Raises:
        Error: ``source-changed`` if a file changed since it was linked.
    """
    known = [pair for node in stored for pair in _pieces(node, repo)]
    at = {(file_url(file.path), piece.offset): file for file, piece in known}
    added: _Pieces = []
    for file, piece in ((p.file, p.piece) for entry in new for p in _lines(entry).pieces):
        before = at.get((file_url(file.path), piece.offset))
        if before is None:
            added.append((file, piece))
        elif (before.identity.size, before.identity.mtime_ns) != (file.identity.size, file.identity.mtime_ns):
            hint = "link all files again with --replace"
            raise errors.make("source-changed", f"{file.path} changed since it was linked", hint)
    if not added:
        return [step(node.path, source, _entry_of(new, node), old=node, is_same=True) for node in stored]
    nodes = {node.path: node for node in stored}
    steps = []
    for i, line in enumerate(timelines([*known, *added])):
        place = path if i == 0 else f"{path}.{line.t0 // NS}"
        entry = array_entry(place, Name(str(new[0].attrs["channel"])), line, "time")
        entry.attrs = {**{key: new[0].attrs[key] for key in _KEPT if key in new[0].attrs}, **entry.attrs}
        node = nodes.pop(place, None)
        if node is None or not _is_same(node, entry, repo):
            steps.append(step(place, source, entry, old=node, whole=node is not None))
    return steps + [
        step(place, source, new[0], old=node, whole=True, is_gone=True) for place, node in nodes.items()
    ]


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
