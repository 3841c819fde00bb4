"""Result types of the version commands: dataclasses with a readable repr and `to_dict()` for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

from icecore.display import text
from icecore.repository.time_axis import seconds_text

#: an n-dimensional box: the first element, and one past the last, along each axis
Box = tuple[list[int], list[int]]


class _Value:
    """Base class of results: `to_dict()` for JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary of strings, numbers, lists and dictionaries.

        Times become ISO 8601 strings in UTC; fields that are None are left out.
        """
        assert is_dataclass(self)
        named = {item.name: _plain(getattr(self, item.name)) for item in fields(self)}
        return {name: value for name, value in named.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, _Value):
        return value.to_dict()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


@dataclass(frozen=True)
class Commit(_Value):
    """One version of a repository.

    Attributes:
        id: the snapshot id.
        parent: the id of the previous version; None for the first.
        message: the commit message.
        time: the time of the commit, in UTC.
    """

    id: str
    parent: str | None
    message: str
    time: datetime

    @classmethod
    def of(cls, native: Mapping[str, Any]) -> Commit:
        """Convert the engine's description, in which ``time_us`` is in microseconds since 1970, UTC."""
        seconds, micros = divmod(native["time_us"], 1_000_000)
        time = datetime.fromtimestamp(seconds, UTC).replace(microsecond=micros)
        return cls(native["id"], native["parent"], native["message"], time)

    def __str__(self) -> str:
        return f"{self.id}  {self.time:%Y-%m-%dT%H:%M:%SZ}  {self.message}"


@dataclass(frozen=True)
class ArrayChange(_Value):
    """Chunks of an array that were written between two versions.

    Attributes:
        chunks: number of written chunks.
        elements: number of elements in these chunks.
        boxes: the boxes of these elements, clipped to the newer shape.
        differ: number of elements that differ, bit for bit; None unless values were compared.
    """

    chunks: int
    elements: int
    boxes: list[Box]
    differ: int | None = None


@dataclass(frozen=True)
class Diff(_Value):
    """Changes from one version to another: sorted paths, without internal groups.

    ``bool(diff)`` is true if anything changed.

    Attributes:
        new_groups, new_arrays: nodes that only the newer version has.
        deleted_groups, deleted_arrays: nodes that only the older version has.
        updated_groups, updated_arrays: nodes whose metadata changed.
        shapes: array → (older shape, newer shape), for arrays that were resized.
        chunks: array → written chunks.
    """

    new_groups: list[str] = field(default_factory=list)
    new_arrays: list[str] = field(default_factory=list)
    deleted_groups: list[str] = field(default_factory=list)
    deleted_arrays: list[str] = field(default_factory=list)
    updated_groups: list[str] = field(default_factory=list)
    updated_arrays: list[str] = field(default_factory=list)
    shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)
    chunks: dict[str, ArrayChange] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(getattr(self, item.name) for item in fields(self))


@dataclass(frozen=True)
class ValueComparison(_Value):
    """Elements that differ between two arrays.

    Attributes:
        compared: number of elements that both arrays have.
        differ: number of those that differ.
        only_first, only_second: number of elements outside the common part.
        first: index in the first array of the first element that differs; None if none does.
        largest: largest absolute difference of finite numbers; None if no pair of finite numbers differs.
        stretch: GPS nanoseconds [start, stop) of the common part of arrays with a time axis.
        first_time: GPS nanoseconds of the first element that differs.
    """

    compared: int
    differ: int
    only_first: int
    only_second: int
    first: list[int] | None = None
    largest: float | None = None
    stretch: tuple[int, int] | None = None
    first_time: int | None = None

    def __str__(self) -> str:
        where = ""
        if self.stretch is not None:
            where = f" from GPS {seconds_text(self.stretch[0])} to {seconds_text(self.stretch[1])}"
        lines = [f"{text.plural(self.compared, 'element')} compared{where}: {self.differ:,} differ"]
        if self.first is not None:
            time = f", GPS {seconds_text(self.first_time)}" if self.first_time is not None else ""
            most = f"; largest difference {self.largest:.6g}" if self.largest is not None else ""
            lines.append(f"first difference at [{', '.join(map(str, self.first))}]{time}{most}")
        for name, count in (("first", self.only_first), ("second", self.only_second)):
            if count:
                lines.append(f"{text.plural(count, 'element')} of the {name} array only")
        return "\n".join(lines)


@dataclass(frozen=True)
class GcReport(_Value):
    """Objects that garbage collection deleted, or would delete.

    Attributes:
        chunks, manifests, snapshots, transaction_logs, remains: deleted objects by kind; ``remains`` are old
            copies of the root object and files that an interrupted write left behind.
        objects: total number of deleted objects.
        bytes: their size in bytes.
        failed: number of objects that could not be deleted.
        errors: the first error messages of those.
        dry_run: true if nothing was deleted.
        spared_after: objects younger than this time were not deleted.
    """

    chunks: int
    manifests: int
    snapshots: int
    transaction_logs: int
    remains: int
    objects: int
    bytes: int
    failed: int
    errors: list[str]
    dry_run: bool
    spared_after: datetime | None = None

    def __str__(self) -> str:
        verb = "would delete" if self.dry_run else "deleted"
        done = f"{verb} {text.plural(self.objects, 'object')}, {text.size(self.bytes)}"
        if self.spared_after is None:
            return done
        return f"{done}; objects younger than {self.spared_after:%Y-%m-%dT%H:%M:%SZ} are spared"


@dataclass(frozen=True)
class Problem(_Value):
    """A problem that :meth:`icecore.Repo.verify` found.

    Attributes:
        kind: the kind of the error that a read would raise.
        message: what is wrong.
        path: the path of the array or group; None if the problem does not belong to one node.
        chunk: the index of the chunk along each axis; None if the problem does not belong to one chunk.
        where: the object or the linked file.
        hint: what to do.
    """

    kind: str
    message: str
    path: str | None = None
    chunk: Any = None
    where: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        place = " ".join(str(part) for part in (self.path, self.chunk, self.where) if part)
        return f"{self.kind}: {place}: {self.message}" + (f" (hint: {self.hint})" if self.hint else "")


@dataclass(frozen=True)
class Storage(_Value):
    """Storage of an array's chunks (of its shards, if it is sharded).

    Attributes:
        cells: number of chunks in the grid.
        references: number of stored chunks.
        missing: number of chunks that are not stored and read as the fill value.
        inline: number of chunks stored in the manifest itself.
        native: number of chunks in the repository's own objects.
        linked: number of chunks in linked files.
        bytes_stored: bytes of the stored chunks, in the repository and in linked files.
        urls: linked file → (chunks, bytes).
    """

    cells: int
    references: int
    missing: int
    inline: int
    native: int
    linked: int
    bytes_stored: int
    urls: dict[str, tuple[int, int]] = field(default_factory=dict)
