"""Arrays without the dimension that files are joined along: the same in all of them, or refused."""

from __future__ import annotations

import numpy as np

from icecore import errors
from icecore.sources.files.open_files import keep_open
from icecore.sources.mapping.array_map import DamagedSource, Region, blocks
from icecore.sources.mapping.cf_compare import Sourced, same

#: Bytes of the first file that are remembered.
_REMEMBERED = 64 << 20


def alike(arrays: list[list[Sourced]], dim: str) -> None:
    """Compare each list's first array with its others, file by file: each is opened once, however many
    arrays it has.

    Raises:
        Error: ``mismatch`` where one differs in dtype, shape, meaning or a value.
    """
    by_file: dict[str, list[tuple[Sourced, Sourced]]] = {}
    for first, *others in arrays:
        for other in others:
            by_file.setdefault(other.source, []).append((first, other))
    known = _Known()
    with keep_open():
        for pairs in by_file.values():
            for first, other in pairs:
                _equal(first, other, dim, known)


class _Known:
    """What was read of first arrays: the same blocks are compared with those of every file."""

    def __init__(self) -> None:
        self.blocks: dict[tuple[str, str, int], np.ndarray] = {}
        self.bytes = 0

    def read(self, array: Sourced, at: int, region: Region) -> np.ndarray:
        key = (array.source, array.entry.path, at)
        block = self.blocks.get(key)
        if block is None:
            block = _read(array, region)
            if block.dtype != object and self.bytes + block.nbytes <= _REMEMBERED:
                self.blocks[key] = block
                self.bytes += block.nbytes
        return block


def _equal(first: Sourced, other: Sourced, dim: str, known: _Known) -> None:
    one, two = first.entry, other.entry
    if one.shape != two.shape or one.dtype != two.dtype:
        raise errors.make(
            "mismatch",
            f"{one.path}: {two.dtype} {other.spelled()} in {other.source}, "
            f"{one.dtype} {first.spelled()} in {first.source}",
            f"it has no dimension {dim!r}, so it has to be the same in all files",
        )
    same(first, other)
    if one.read is None or two.read is None:
        return
    for at, region in enumerate(blocks(one.shape, one.dtype.itemsize)):
        ours, theirs = known.read(first, at, region), _read(other, region)
        equal = (
            ours.tobytes() == theirs.tobytes() if ours.dtype != object else bool(np.array_equal(ours, theirs))
        )
        if not equal and not (ours.dtype.kind in "fc" and np.array_equal(ours, theirs, equal_nan=True)):
            raise errors.make(
                "mismatch",
                f"{one.path} has no dimension {dim!r} and differs between {first.source} and {other.source}",
                "join along another dimension, or keep the files in groups of their own",
            )


def _read(array: Sourced, region: Region) -> np.ndarray:
    assert array.entry.read is not None
    try:
        return array.entry.read(region)
    except errors.Error as error:
        if error.kind == "corrupt":
            raise DamagedSource.of(array.source, error) from error
        raise
