"""Locations of the chunks of an HDF5 dataset: flat index, offset, length, and whether each can be linked."""

from __future__ import annotations

from functools import cache
from typing import Any

import h5py
import numpy as np
from h5py import h5i, h5s

from icecore.sources.mapping.contiguous import Located, grid_of, nothing

_UNDEFINED = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


def chunked(
    dsid: Any, shape: tuple[int, ...], stored: tuple[int, ...], chunk: tuple[int, ...], raw: int, plain: bool
) -> Located:
    """The chunks of a chunked dataset.

    ``shape`` is that of the array, ``stored`` that of the dataset (shorter if netCDF extends it to an
    unlimited dimension), ``raw`` the size in bytes of a decoded chunk, ``plain`` whether there are no
    filters.
    """
    infos: list[Any] = []
    dsid.chunk_iter(infos.append)
    if not infos:
        return nothing(chunk)
    if _forgets_user_blocks():
        before, end = h5i.get_file_id(dsid).get_create_plist().get_userblock(), int(_UNDEFINED)
        infos = [(*first, offset if offset == end else offset + before, n) for *first, offset, n in infos]
    if grid_of(shape, chunk) == (1,) * len(chunk) and not any(infos[0][0]):
        return _single(shape, stored, chunk, raw, plain, infos[0])
    starts, masks, offsets, lengths = (np.array(column) for column in zip(*infos, strict=True))
    starts = positions(dsid, starts.reshape(len(infos), len(chunk)), chunk)
    return select(shape, stored, chunk, raw, plain, (starts, masks, offsets, lengths))


@cache
def _forgets_user_blocks() -> bool:
    """Whether this HDF5 library omits the user block from chunk offsets (1.14.2 does, 1.14.4 doesn't).

    A test file shows it: the offset is then inside the user block.
    """
    block = 1 << 20
    with h5py.File("none", "w", driver="core", backing_store=False, userblock_size=block) as file:
        one = file.create_dataset("x", data=np.zeros(1), chunks=(1,))
        file.flush()
        return one.id.get_chunk_info(0).byte_offset < block


def select(
    shape: tuple[int, ...],
    stored: tuple[int, ...],
    chunk: tuple[int, ...],
    raw: int,
    plain: bool,
    table: tuple[Any, ...],
) -> Located:
    """Convert a chunk index: ``table`` is (starts, filter masks, offsets, lengths in bytes).

    Starts have one row per chunk, in elements.
    """
    starts, masks, offsets, lengths = table
    index = np.asarray(starts, "u8").reshape(len(masks), len(chunk)) // np.array(chunk, "u8")
    grid = np.array(grid_of(shape, chunk), "u8")
    offsets, lengths = np.asarray(offsets, "u8"), np.asarray(lengths, "u8")
    inside = (index < grid).all(axis=1) & (offsets != _UNDEFINED) & (lengths > 0)
    flat = np.ravel_multi_index(tuple(index[inside].T), tuple(int(n) for n in grid)).astype("u8")
    masks, offsets, lengths = np.asarray(masks)[inside], offsets[inside], lengths[inside]
    edge = ((index[inside] + 1) * np.array(chunk, "u8") > np.array(stored, "u8")).any(axis=1)
    copied = _copied(masks, lengths, edge, raw, plain, stored != shape)
    order = np.argsort(flat, kind="stable")
    flat, offsets, lengths, copied = flat[order], offsets[order], lengths[order], copied[order]
    keep = ~copied
    return Located(chunk, flat[keep], offsets[keep], lengths[keep], flat[copied])


def _copied(masks: Any, lengths: Any, edge: Any, raw: int, plain: bool, longer: bool) -> Any:
    """Return which chunks can't be linked; works for one chunk and for arrays of chunks."""
    # Newer files may store partial edge chunks without filters, and the mask does not say so.
    copied = lengths != raw if plain else (masks != 0) | (edge & (lengths == raw))
    # Elements of such a chunk beyond the dataset's end would become visible; only the library hides them.
    return copied | edge if longer else copied


def _single(
    shape: tuple[int, ...], stored: tuple[int, ...], chunk: tuple[int, ...], raw: int, plain: bool, info: Any
) -> Located:
    """Return the location of a dataset of one chunk without a table; files may have thousands of them."""
    _, mask, offset, length = info
    if offset == int(_UNDEFINED) or not length:
        return nothing(chunk)
    edge = any(c > n for c, n in zip(chunk, stored, strict=True))
    one, none = np.zeros(1, "u8"), np.empty(0, "u8")
    if _copied(mask, length, edge, raw, plain, stored != shape):
        return Located(chunk, none, none, none, one)
    return Located(chunk, one, np.array([offset], "u8"), np.array([length], "u8"), none)


# Correct chunk positions that the HDF5 library reports wrongly.
#
# In the newer file format, a dataset with one unlimited axis is indexed by an extensible array, in which that
# axis comes first. If it is not the first axis of the dataset, the library (seen in 2.0) counts chunks in the
# order of the array but converts the numbers in the order of the dataset: every chunk gets position 0 along
# the
# axes before the unlimited one. Reading is not affected, so the true position is the one of the two that the
# library can read.


def positions(dsid: Any, starts: np.ndarray, chunk: tuple[int, ...]) -> np.ndarray:
    """Return the true first elements of chunks, shape (chunks, axes); ``starts`` are the reported ones."""
    limits = dsid.get_space().get_simple_extent_dims(True)
    free = [axis for axis, limit in enumerate(limits) if limit is None or limit == h5s.UNLIMITED]
    if len(free) != 1 or free[0] == 0 or starts[:, : free[0]].any():
        return starts
    others = [
        -(-limit // c) for axis, (limit, c) in enumerate(zip(limits, chunk, strict=True)) if axis != free[0]
    ]
    lengths = np.array(chunk, "i8")
    corrected = _corrected(starts // lengths, others, free[0]) * lengths
    # Both lists ascend; the first chunk that only one of them contains decides which is right.
    for row in np.flatnonzero((corrected != starts).any(axis=1)):
        if not _exists(dsid, starts[row]):
            return corrected
        if not _exists(dsid, corrected[row]):
            return starts
    return starts


def _corrected(reported: np.ndarray, others: list[int], free: int) -> np.ndarray:
    """Return chunk numbers per axis from reported ones; ``others`` are the counts along all other axes."""
    number = reported[:, free].astype("i8")
    for axis in range(free + 1, reported.shape[1]):
        number = number * others[axis - 1] + reported[:, axis]
    result = np.empty(reported.shape, "i8")
    for place in reversed(range(len(others))):
        number, result[:, place + (place >= free)] = np.divmod(number, max(others[place], 1))
    result[:, free] = number
    return result


def _exists(dsid: Any, start: np.ndarray) -> bool:
    try:
        dsid.read_direct_chunk(tuple(int(n) for n in start))
    except (OSError, RuntimeError, ValueError):
        return False
    return True
