"""What version commands and checks return: plain values with a readable repr and `to_dict()` for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

from icecore.display import text

#: an n-dimensional box: the first element, and one past the last, along each axis
Box = tuple[list[int], list[int]]


class _Value:
    """A result that turns into what JSON holds."""

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
        id: of its snapshot.
        parent: the id of the version before it; None for the first.
        message: what its writer said.
        time: when it was committed, in UTC.
    """

    id: str
    parent: str | None
    message: str
    time: datetime

    @classmethod
    def of(cls, native: Mapping[str, Any]) -> Commit:
        """The commit that the engine describes: its ``time_us`` are microseconds since 1970, UTC."""
        seconds, micros = divmod(native["time_us"], 1_000_000)
        time = datetime.fromtimestamp(seconds, UTC).replace(microsecond=micros)
        return cls(native["id"], native["parent"], native["message"], time)

    def __str__(self) -> str:
        return f"{self.id}  {self.time:%Y-%m-%dT%H:%M:%SZ}  {self.message}"


@dataclass(frozen=True)
class ArrayChange(_Value):
    """What was written in an array between two versions.

    Attributes:
        chunks: how many chunks were written.
        elements: how many elements are in them.
        boxes: where they are, clipped to the newer shape.
        differ: how many of the elements differ, bit for bit; None unless values were compared.
    """

    chunks: int
    elements: int
    boxes: list[Box]
    differ: int | None = None


@dataclass(frozen=True)
class Diff(_Value):
    """What changed from one version to another: sorted paths, without those that icecore keeps for itself.

    A diff is true if anything changed.

    Attributes:
        new_groups, new_arrays: nodes that only the newer version has.
        deleted_groups, deleted_arrays: nodes that only the older version has.
        updated_groups, updated_arrays: nodes whose metadata changed.
        shapes: array → (older shape, newer shape), where they differ.
        chunks: array → what was written.
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
class GcReport(_Value):
    """What garbage collection deleted, or would delete.

    Attributes:
        chunks, manifests, snapshots, transaction_logs, remains: deleted objects by kind; ``remains`` are old
            copies of the root object and files that an interrupted write left.
        objects: all of them.
        bytes: how much space they took.
        failed: how many could not be deleted.
        errors: why, for the first of them.
        dry_run: whether nothing was deleted.
        spared_after: objects younger than this time were spared.
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
    """What :meth:`icecore.Repo.verify` found wrong.

    Attributes:
        kind: of the error that a read would raise.
        path: of the array or group; None if the problem is not one node's.
        chunk: the chunk's index along each axis, if it is one chunk's.
        where: the object or the linked file.
        message: what is wrong.
        hint: what to try.
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
    """Where the bytes of an array lie.

    Attributes:
        cells: chunks that the array's grid has room for (shards, where it is sharded).
        references: chunks that are stored.
        missing: those that hold only the fill value.
        inline: those whose bytes are in the reference table.
        native: those in the repository's own objects.
        linked: those in linked files.
        bytes_stored: their bytes, in the repository and in linked files.
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
