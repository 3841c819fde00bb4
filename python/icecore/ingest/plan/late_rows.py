"""Insert files that belong before the end of joined arrays, and recognize files that are linked already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.ingest.plan.repository_source import linked_entry
from icecore.repository import address
from icecore.sources.files.content_check import is_checksum
from icecore.sources.files.identity import file_url
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Links, Reader, Region, blocks

if TYPE_CHECKING:
    from icecore.repository.repo import Repo

#: largest amount of data (bytes) in the repository that is written again to insert rows before it
_MOST = 256 << 20
#: joins sources along the dimension
Join = Callable[[list[ArrayMap]], ArrayMap]


@dataclass(frozen=True)
class Growing:
    """Stored arrays that grow along a dimension.

    Attributes:
        stored: the arrays with all of their rows.
        root: their group.
        repo: the repository.
        concat: the dimension.
        over: whether rows with the coordinates of new files are replaced by theirs.
    """

    stored: ArrayMap
    root: str
    repo: Repo
    concat: str
    over: bool = False

    def unknown(self, maps: Sequence[ArrayMap]) -> tuple[list[ArrayMap], list[ArrayMap]]:
        """Return the sources with files that are not linked yet, and the others.

        Raises:
            Error: ``source-changed`` if a linked file changed since, unless its rows are replaced.
        """
        paths = [address.join(self.root, path) for path in self._paths]
        known = linked_files(self.repo, paths, every=self.coordinate is not None)
        new, again = [], []
        for each in maps:
            seen = list(_states(each.arrays[path] for path in self._paths if path in each.arrays))
            if seen and all(known.get(url) == state for url, state in seen):
                again.append(each)
                continue
            if not self.over:
                _same_files(each.source, dict(seen), known)
            new.append(each)
        return new, again

    def widen(self, head: ArrayMap, joined: ArrayMap) -> bool:
        """Give ``head`` all rows of the arrays that need a wider type; return whether there are any.

        They are written again, unless they are too large.
        """
        found = False
        for path in self._paths:
            entry = self.stored.arrays[path]
            if joined.arrays[path].data_type != entry.data_type and entry.nbytes <= _MOST:
                head.arrays[path], found = replace(entry, rewritten=True), True
        return found

    def is_late(self, joined: ArrayMap, maps: Sequence[ArrayMap]) -> bool:
        """Whether a source may begin before the end of the stored arrays; True if nothing orders the rows."""
        path = self.coordinate
        if path is None:
            return True
        old, whole = self.stored.arrays[path], joined.arrays[path]
        count, places = old.shape[0], []
        at = whole.shape[0] - sum(each.arrays[path].shape[0] for each in maps)
        for each in maps:
            places += [at] if each.arrays[path].shape[0] else []
            at += each.arrays[path].shape[0]
        if not count or old.read is None or whole.read is None:
            return False
        try:
            first, last = (old.read((slice(i, i + 1),))[0] for i in (0, count - 1))
            begin = [whole.read((slice(i, i + 1),))[0] for i in places]
        except errors.Error:
            return self.over  # appending does not need linked files that changed
        return any(value >= last if first > last else value <= last for value in begin)

    @property
    def _paths(self) -> list[str]:
        return [path for path, entry in self.stored.arrays.items() if self.concat in entry.dims]

    @property
    def coordinate(self) -> str | None:
        """The path of the coordinate that orders the rows of all arrays; None if there is none."""
        found = [path for path in self._paths if self.stored.arrays[path].dims == (self.concat,)]
        found = [path for path in found if path.rsplit("/", 1)[-1] == self.concat]
        if len(found) != 1 or self.stored.arrays[found[0]].dtype.kind not in "iuf":
            return None
        length = self.stored.arrays[found[0]].shape[0]
        entries = (self.stored.arrays[path] for path in self._paths)
        return found[0] if all(_length(entry, self.concat) == length for entry in entries) else None

    def places(self, joined: ArrayMap, maps: Sequence[ArrayMap]) -> list[tuple[int, int]] | None:
        """Return for each source the stored rows that its rows replace, as (first, last + 1); equal numbers
        insert it there.

        Args:
            joined: the sources, joined behind the end of the stored arrays.
            maps: the sources.

        Returns:
            None if the rows have no order, or if rows of several sources overlap.
        """
        path = self.coordinate
        if path is None:
            return None
        old, whole = self.stored.arrays[path], joined.arrays[path]
        assert old.read is not None
        assert whole.read is not None
        kept, values = self._kept(old, maps)
        if not len(values):
            return [(0, old.shape[0])] if len(maps) == 1 else None
        sign = -1 if len(values) > 1 and values[-1] < values[0] else 1
        start = whole.shape[0] - sum(each.arrays[path].shape[0] for each in maps)
        spans, values = [], sign * values.astype(_wide(values.dtype))
        for each in maps:
            count = each.arrays[path].shape[0]
            part = whole.read((slice(start, start + count),))
            start += count
            spans.append(sign * part.astype(_wide(part.dtype)))
        if not all(map(_rises, (values, *spans))):
            return None
        spans = [part if len(part) else values[-1:] for part in spans]
        sides = [(np.searchsorted(values, s[0]), np.searchsorted(values, s[-1], "right")) for s in spans]
        kept = np.concatenate([[-1], kept, [old.shape[0]]])
        found = [(int(kept[low]) + 1, int(kept[high + 1])) for low, high in sides]
        order = sorted(range(len(spans)), key=lambda i: spans[i][0])
        apart = all(spans[a][-1] < spans[b][0] for a, b in pairwise(order))
        return found if apart else None

    def _kept(self, entry: ArrayEntry, maps: Sequence[ArrayMap]) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers and values of the stored rows, without those of changed files, which
        can't be read: new versions of these are among the sources.
        """
        count = entry.shape[0]
        kept, read = np.ones(count, bool), entry.read
        for low, high in self._changed(maps) if self.over else ():
            kept[low:high] = False
        assert read is not None
        edges = np.flatnonzero(np.diff(kept, prepend=False, append=False)).reshape(-1, 2).tolist()
        values = [read((slice(low, high),)) for low, high in edges]
        return np.flatnonzero(kept), np.concatenate([np.empty(0, entry.dtype), *values])

    def _changed(self, maps: Sequence[ArrayMap]) -> Iterator[tuple[int, int]]:
        """Yield the rows of linked files that have new versions among the sources."""
        named = {
            url: state
            for each in maps
            for url, state in _states(each.arrays[path] for path in self._paths if path in each.arrays)
        }
        for path in self._paths:
            entry = linked_entry(self.repo._array(address.join(self.root, path)), path)
            links = entry.links
            if links is None:
                continue
            states = dict(_states(iter([entry])))
            changed = [i for i, url in enumerate(links.urls) if named.get(url, states[url]) != states[url]]
            axis = entry.dims.index(self.concat)
            edges = np.concatenate([[0], np.cumsum(_axes(entry)[axis])])
            at = np.unravel_index(links.chunks.astype("i8"), entry.grid)[axis]
            for i in changed:
                inside = at[links.url_ids == i]
                yield int(edges[inside.min()]), min(int(edges[inside.max() + 1]), entry.shape[axis])
            return

    def woven(self, maps: Sequence[ArrayMap], places: Sequence[tuple[int, int]]) -> list[ArrayMap] | None:
        """Return the stored rows in parts, with the sources at their places between them.

        None if rows of the repository would be replaced without ``over``, if all sources follow the stored
        rows, or if too much data in the repository would have to be written again.
        """
        length = next(_length(self.stored.arrays[path], self.concat) for path in self._paths)
        is_over = any(low < high for low, high in places)
        if (is_over and not self.over) or all(low == length for low, _ in places):
            return None
        whole = replace(self.stored, arrays=dict(self.stored.arrays))
        for path in self._paths:
            if not whole.arrays[path].rewritten:  # times in other units
                whole.arrays[path] = linked_entry(self.repo._array(address.join(self.root, path)), path)
        if sum(_in_repository(whole.arrays[path]) for path in self._paths) > _MOST:
            return None
        parts, at = list[ArrayMap](), 0
        for i in sorted(range(len(maps)), key=places.__getitem__):
            first, stop = places[i]
            if first > at or not parts:
                parts.append(self._rows(whole, at, first, not parts))
            parts.append(maps[i])
            at = max(stop, at)
        return [*parts, self._rows(whole, at, length, False)] if at < length else parts

    def _rows(self, whole: ArrayMap, low: int, high: int, is_first: bool) -> ArrayMap:
        """Return rows of the growing arrays; with ``is_first`` also the other arrays."""
        part = ArrayMap(whole.source, whole.groups)
        for entry in whole.arrays.values():
            if self.concat in entry.dims:
                part.add(rows_of(entry, entry.dims.index(self.concat), low, high))
            elif is_first:
                part.add(entry)
        return part

    def repeats(self, joined: ArrayMap, maps: Sequence[ArrayMap], number: int, rows: tuple[int, int]) -> bool:
        """Whether a source has exactly the stored ``rows``."""
        assert self.coordinate is not None
        if rows[0] == rows[1]:
            return False
        counts = [each.arrays[self.coordinate].shape[0] for each in maps]
        start = joined.arrays[self.coordinate].shape[0] - sum(counts[number:])
        if counts[number] != rows[1] - rows[0]:
            return False
        for path in self._paths:
            old, new = self.stored.arrays[path], joined.arrays[path]
            axis = old.dims.index(self.concat)
            shape = (*old.shape[:axis], counts[number], *old.shape[axis + 1 :])
            for region in blocks(shape, old.dtype.itemsize):
                ours, theirs = (
                    each.read(_moved(region, axis, first))  # type: ignore[misc]
                    for each, first in ((old, rows[0]), (new, start))
                )
                if ours.dtype != theirs.dtype or not np.array_equal(
                    ours, theirs, equal_nan=ours.dtype.kind in "fcmM"
                ):
                    return False
        return True


@dataclass
class Joined:
    """The sources that are joined to stored arrays, behind or between these; those that are there already;
    and the joined arrays (None if nothing is new).
    """

    maps: list[ArrayMap]
    again: list[ArrayMap]
    whole: ArrayMap | None


def joined_behind(
    growing: Growing, maps: list[ArrayMap], join: Join, codecs: Callable[[str], Any], inserts: bool
) -> Joined:
    """Join sources behind the end of stored arrays, or between their rows.

    Args:
        growing: the stored arrays.
        maps: the sources, in order.
        join: joins maps.
        codecs: maps the path of a stored array to its codecs.
        inserts: whether sources may be inserted, and are recognized.
    """
    head = emptied(growing.stored, growing.concat, codecs)
    whole = join([head, *maps])
    if not inserts:
        return Joined([head, *maps], [], whole)
    if growing.widen(head, whole):
        whole = join([head, *maps])
    if not growing.is_late(whole, maps):
        return Joined([head, *maps], [], whole)
    new, again = growing.unknown(maps)
    if again and new:
        whole = join([head, *new])
    places = growing.places(whole, new) if new else []
    if growing.over and new and places is None:
        message = f"no coordinate of {growing.concat} says which rows {new[0].source} replaces"
        raise errors.make("mismatch", message, "link all files again: --replace without --append")
    is_same = () if growing.over else enumerate(places or ())
    repeated = [i for i, rows in is_same if growing.repeats(whole, new, i, rows)]
    if places is not None and repeated:
        again += [new[i] for i in repeated]
        places = [rows for i, rows in enumerate(places) if i not in repeated]
        new = [each for i, each in enumerate(new) if i not in repeated]
        whole = join([head, *new]) if new else whole
    if not new:
        return Joined([], again, None)
    parts = growing.woven(new, places) if places is not None else None
    if parts is None:
        return Joined([head, *new], again, whole)
    whole = join(parts)
    for entry in whole.arrays.values():
        entry.rewritten = entry.rewritten or growing.concat in entry.dims
    return Joined(parts, again, whole)


def emptied(stored: ArrayMap, concat: str, codecs: Callable[[str], list[dict[str, object]]]) -> ArrayMap:
    """Return the stored arrays with length 0 along ``concat``, so that new parts are joined to their units
    and types; arrays that are written again keep their rows.
    """
    result = replace(stored, arrays=dict(stored.arrays))
    for path, entry in stored.arrays.items():
        if concat in entry.dims and not entry.rewritten:
            lengths = zip(entry.dims, entry.shape, strict=True)
            shape = tuple(0 if dim == concat else n for dim, n in lengths)
            result.arrays[path] = replace(entry, shape=shape, codecs=codecs(path))
    return result


def _wide(dtype: np.dtype) -> np.dtype:
    """Return a dtype in which a coordinate can change its sign; unsigned numbers of 64 bits are rounded."""
    return dtype if dtype.kind == "f" else np.dtype("i8") if dtype != np.uint64 else np.dtype("f8")


def _rises(values: np.ndarray) -> bool:
    return bool(np.all(np.diff(values) > 0)) and not np.isnan(values[:1]).any()


def _length(entry: ArrayEntry, dim: str) -> int:
    return entry.shape[entry.dims.index(dim)]


def _in_repository(entry: ArrayEntry) -> int:
    """Bytes of an array, decoded, that are not linked."""
    if entry.links is None:
        return entry.nbytes
    return entry.nbytes * len(entry.native) // max(int(np.prod(entry.grid)), 1)


#: size, time and ETag ("" for a local file, whose stored one is a checksum of ours)
_State = tuple[int, int, str]
_States = dict[str, _State]


def linked_files(repo: Repo, paths: Sequence[str], every: bool = False) -> _States:
    """Return the recorded states of linked files, by URL: of the first linked array, or of all."""
    found: _States = {}
    for path in paths:
        links = repo._array(path)._native.links()[0]
        found |= {url: _state(*state) for url, state in links if state is not None}
        if found and not every:
            break
    return found


def unlinked(arrays: ArrayMap, known: _States) -> ArrayMap | None:
    """Return the source without the files that are linked already; None if it has no others.

    Raises:
        Error: ``source-changed`` if a linked file changed since.
    """
    seen = dict(_states(iter(arrays.arrays.values())))
    again = {url for url, state in seen.items() if known.get(url) == state}
    _same_files(arrays.source, seen, known)
    if not again:
        return arrays
    files = {file_url(path): path for path in arrays.files}
    if arrays.without is None or files.keys() <= again:
        return None if seen.keys() <= again else arrays
    return arrays.without({path for url, path in files.items() if url in again})


def _same_files(source: str, seen: _States, known: _States) -> None:
    changed = next((url for url, state in seen.items() if known.get(url, state) != state), None)
    if changed is not None:
        name = source if len(seen) == 1 else changed
        hint = "replace its rows: link … --append --replace; or link all files again: --replace"
        raise errors.make("source-changed", f"{name} changed since it was linked", hint)


def _states(entries: Iterator[ArrayEntry]) -> Iterator[tuple[str, _State]]:
    """Yield the linked files of arrays, with their states."""
    for links in (entry.links for entry in entries if entry.links is not None):
        columns = links.sizes.tolist(), links.mtimes_ns.tolist(), links.etags
        yield from zip(links.urls, map(_state, *columns), strict=True)


def _state(size: int, mtime_ns: int, etag: str | None) -> _State:
    return size, mtime_ns, "" if etag is None or is_checksum(etag) else etag


# Rows of an array as an array of its own.


@dataclass(frozen=True)
class Rows:
    """Reader of an array from index ``first`` of ``axis`` on; can be pickled."""

    read: Reader
    axis: int
    first: int

    def __call__(self, region: Region) -> np.ndarray:
        return self.read(_moved(region, self.axis, self.first))


def _moved(region: Region, axis: int, by: int) -> Region:
    return tuple(
        slice(part.start + by, part.stop + by) if i == axis else part for i, part in enumerate(region)
    )


def rows_of(entry: ArrayEntry, axis: int, low: int, high: int) -> ArrayEntry:
    """Return the elements ``low`` to ``high`` along an axis; a chunk that is cut at its start is copied."""
    shape = (*entry.shape[:axis], high - low, *entry.shape[axis + 1 :])
    read = entry.read if not low or entry.read is None else Rows(entry.read, axis, low)
    part = replace(entry, shape=shape, read=read, held=None, native={})
    if entry.links is None or entry.read is None:
        return part
    axes = _axes(entry)
    edges = np.concatenate([[0], np.cumsum(axes[axis])])
    first = int(np.searchsorted(edges, low, "right")) - 1
    stop = max(int(np.searchsorted(edges, high)), first) if high > low else first
    lengths = axes[axis][first:stop].copy()
    is_cut = bool(len(lengths)) and low > edges[first]
    if is_cut:
        lengths[0] = edges[first + 1] - low
    listed = [lengths if i == axis else each for i, each in enumerate(axes)]
    is_regular = isinstance(entry.chunks, tuple) and not is_cut
    part.chunks = entry.chunks if is_regular else [each.tolist() for each in listed]
    counts = [len(each) for each in listed]

    def inside(flat: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
        """Return which chunks are in the part, and the new numbers of those."""
        index = list(np.unravel_index(flat.astype("i8"), [len(each) for each in axes]))
        kept = (index[axis] >= start) & (index[axis] < stop)
        index[axis] = index[axis] - first
        return kept, np.ravel_multi_index([each[kept] for each in index], counts).astype("u8")

    kept, chunks = inside(entry.links.chunks, first + is_cut)
    part.links = _selected(entry.links, kept, chunks)
    native = inside(np.array([*entry.native], "u8"), first)[1]
    if is_cut:
        numbers = inside(entry.links.chunks, first)[1]
        native = np.union1d(native, np.setdiff1d(numbers, chunks))
    part.native = part.copied(native)
    return part


def _axes(entry: ArrayEntry) -> list[np.ndarray]:
    """Return the lengths of the chunks along each axis."""
    if isinstance(entry.chunks, tuple):
        return [np.full(-(-n // c), c, "i8") for n, c in zip(entry.shape, entry.chunks, strict=True)]
    return [np.asarray(each, "i8") for each in entry.chunks]


def _selected(links: Links, kept: np.ndarray, chunks: np.ndarray) -> Links:
    """Return some references, and only their files."""
    used, ids = np.unique(links.url_ids[kept], return_inverse=True)
    return Links(
        [links.urls[i] for i in used],
        links.sizes[used],
        links.mtimes_ns[used],
        [links.etags[i] for i in used],
        ids.astype("u4"),
        chunks,
        links.offsets[kept],
        links.lengths[kept],
    )
