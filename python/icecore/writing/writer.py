"""Writing: groups, arrays, regions and appended rows, all in one commit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from icecore import errors
from icecore.analyzer import adaptive_codec
from icecore.analyzer.measure import Goal
from icecore.codecs import spec as codecspec
from icecore.display import text
from icecore.layout import layout
from icecore.layout.access_pattern import Query, check, parse, queries
from icecore.layout.access_pattern import Spec as Access
from icecore.repository import address, zarr_dtypes
from icecore.repository.nodes import SUMMARY, Node
from icecore.repository.selection import is_int
from icecore.repository.typed_attributes import dump, encoded, storable
from icecore.repository.upper_rooms import provider
from icecore.repository.zarr_dtypes import data_type, fill_json
from icecore.writing.array_writer import ArrayWriter
from icecore.writing.commit_schedule import Rounds
from icecore.writing.shard_replan import Suiting
from icecore.writing.synchronized import in_turn

if TYPE_CHECKING:
    from icecore import _icecore
    from icecore.repository.repo import Repo


#: bytes that a writer may hold where no other number is given: enough for the largest shards that are planned
_MEMORY = 1 << 30
#: shares of them: for rows that wait for their shards to fill; for data on their way to the encoders, beside
#: which as much again is kept for what they are encoded to; for a box that is copied; of a shard
_ROWS, _ON_THE_WAY, _COPIED, _SHARD = 4, 4, 8, 8
#: at most about this much is read, patched or copied at once
_BLOCK = 64 << 20


class Writer:
    """Writes groups and arrays, and commits them at the end of a ``with`` block.

    If the block raises an exception, nothing is committed. ``w.snapshot_id`` is the id of the new version. A
    long simulation can commit earlier, with ``w.commit()`` or automatically with ``commit_every`` and
    ``commit_seconds``. A later exception or crash then loses only the data after the last commit.

    Threads may share a writer; calls are serialized. An automatic commit includes the data that each thread
    has appended so far. If threads append to different arrays, these may differ in length in a version. To
    avoid that, let the threads wait for each other after each row (``threading.Barrier``), or append from one
    thread.

    Example:
        >>> import icecore
        >>> repo = icecore.create("memory://")
        >>> with repo.writer(message="spin-up") as w:
        ...     t2m = w.array("/t2m", "f4", shape=(0, 2), dims=("time", "x"))
        ...     for step in range(3):
        ...         t2m.append([step, step + 1])
        >>> repo.at("main")["/t2m"][2].tolist()
        [2.0, 3.0]
    """

    def __init__(
        self,
        repo: Repo,
        message: str,
        branch: str,
        memory: int | str | None = None,
        commit_every: int | None = None,
        commit_seconds: float | None = None,
    ) -> None:
        self._memory = text.parse_size(memory) if memory is not None else _MEMORY
        if self._memory < 1:
            raise errors.make(
                "invalid", f"{memory!r} of memory for a writer", "give it some: memory='256MiB'"
            )
        self._repo = repo
        self.message = _said(message)
        self._turn = RLock()
        self._native = repo._native.writer(branch, self._memory // _ON_THE_WAY)
        self._arrays: dict[str, ArrayWriter] = {}
        #: array → first row that changed since its trends were written
        self._changed: dict[str, int] = {}
        self._rounds = Rounds(commit_every, commit_seconds)
        self._commit_every = commit_every
        self._commits = 0
        #: the version that was committed last, and after how many commits others were met last
        self._known = self._native.base()
        self._met = 0
        self._stored, self._deleted = 0, False
        self._closed = False
        self._process = os.getpid()
        #: the array of which something was broken off in the middle
        self._torn: ArrayWriter | None = None
        self.branch = branch
        self.snapshot_id: str | None = None

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{text.plural(len(self._arrays), 'array')} at hand"
        return f"<icecore.Writer {self._repo.url} {self.message!r}, {state}>"

    @in_turn
    def group(self, path: str, attrs: Mapping[str, Any] | None = None) -> None:
        """Create a group and its parents; if it exists, only set its attributes.

        Args:
            path: the path of the group.
            attrs: attributes; see :meth:`attrs`.

        Raises:
            Error: ``exists`` if the path or a parent is an array; ``invalid`` for attributes that can't be
                stored (see :meth:`attrs`).

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.group("/wrf", {"model": "WRF 4.5"})
            >>> repo.at("main")["/wrf"].attrs
            {'model': 'WRF 4.5'}
        """
        path = self._path(path)
        storable(attrs or {}, path)
        if self._native.document(path) is not None:
            raise errors.make("exists", f"{path} is an array", "choose another path, or w.delete(path) first")
        if self._native.exists(path):
            if attrs is not None:
                self._native.set_attrs(path, dump(attrs))
            return
        self._parents(path)
        self._native.add_group(path, dump(attrs or {}))

    @in_turn
    def array(
        self,
        path: str,
        dtype: Any = "f8",
        shape: Sequence[int] = (0,),
        dims: Sequence[str | None] | None = None,
        chunks: Sequence[int] | None = None,
        shards: Sequence[int] | None = None,
        codec: codecspec.Spec = "auto",
        fill_value: Any = None,
        attrs: Mapping[str, Any] | None = None,
        portable: bool = False,
        access: Access | None = None,
        goal: str = "balanced",
        bandwidth: str | float | None = None,
    ) -> ArrayWriter:
        """Create an array.

        Args:
            path: the path of the array; parent groups are created.
            dtype: any NumPy dtype that Zarr supports; ``str`` for variable-length strings.
            shape: length of each axis; 0 for the first axis if rows will be appended.
            dims: dimension names, one per axis.
            chunks: shape of the unit of decoding; planned by default.
            shards: shape of the unit of I/O, a multiple of ``chunks``; by default planned to fit the
                writer's ``memory``.
            codec: ``auto`` measures codecs on the first shard and chooses one for the goal; for other values
                see :func:`icecore.codecs.spec.resolve`.
            fill_value: value of elements that are never written; zero or an empty string by default.
            attrs: attributes; see :meth:`attrs`.
            portable: use only codecs that other Zarr readers have.
            access: expected reads, for planning chunks; see :func:`icecore.pack`.
            goal: the goal of ``auto``: ``archive``, ``balanced`` or ``speed``; see
                :class:`icecore.analyzer.measure.Goal`.
            bandwidth: speed of the store for ``balanced``: bytes per second, or ``"200MB/s"`` (the default).

        Returns:
            An array writer: assign to parts of it, or append rows.

        Raises:
            Error: ``exists``, ``dtype``, ``codec``, ``invalid``; ``format`` if the codecs don't fit the axes.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     t2m = w.array("/t2m", "f4", (2, 3), dims=("y", "x"), fill_value=-1, attrs={"units": "K"})
            ...     t2m[0] = [1, 2, 3]
            >>> repo.at("main")["/t2m"][:, 0].tolist()
            [1.0, -1.0]
        """
        path = self._path(path)
        lengths = tuple(shape) if isinstance(shape, Iterable) else None
        if lengths is None or not all(map(is_int, lengths)):
            raise errors.make("invalid", f"{path} of shape {shape!r}", "a length for each axis: (0, 138)")
        shape = tuple(map(int, lengths))
        layout.check(chunks, shards)
        wished = Goal.of(goal, bandwidth)
        if self._native.exists(path):
            raise errors.make(
                "exists", f"{path} exists already", "use w[path] to write to it, or w.delete(path) first"
            )
        named = _dtype(dtype, path)
        numpy_dtype = np.dtype("O") if named.kind == "T" else named.newbyteorder("=")
        if dims is not None and len(dims) != len(shape):
            raise errors.make("invalid", f"{len(dims)} dimension names for {len(shape)} axes of {path}")
        kind = data_type(numpy_dtype)
        planned = partial(
            layout.plan,
            shape,
            zarr_dtypes.itemsize(numpy_dtype),
            chunks,
            shards,
            None,
            reads=_reads(access, path, shape, dims),
            inner_bytes=codecspec.chunk_bytes(codec, numpy_dtype),
            rows_bytes=self._memory // _ROWS,
            shard_bytes=self._memory // _SHARD,
        )
        where = planned(self._commit_every)
        codecs = codecspec.resolve(codec, kind, numpy_dtype, where.chunk, portable)
        codecspec.fit(codecs, kind, numpy_dtype, path, len(shape))
        ours = adaptive_codec.wish(wished, portable) if codec == "auto" else None
        stored_fill = fill_json(fill_value, numpy_dtype)
        attrs = encoded(storable(attrs or {}, path), numpy_dtype)
        node = Node(path, True, layout.document(shape, kind, stored_fill, where, codecs, dims, attrs, ours))
        self._parents(path)
        self._native.add_array(path, node.zarr_json)
        grows = bool(shape) and shape[0] == 0
        suiting = Suiting(planned) if grows and shards is None and self._commit_every is None else None
        self._arrays[path] = ArrayWriter(self, node, numpy_dtype, suiting, new=True)
        if grows:
            self._rounds.joins(path)
        return self._arrays[path]

    @in_turn
    def __getitem__(self, path: str) -> ArrayWriter:
        """Return a writer of an existing array: assign to parts of it, or append rows.

        Raises:
            Error: ``not-found`` (also a ``KeyError``).
        """
        path = self._path(path)
        if path not in self._arrays:
            array = self._view()._array(path)
            self._arrays[path] = ArrayWriter(self, array._node, array._native.dtype)
            self._rounds.opens()
        return self._arrays[path]

    @in_turn
    def attrs(self, path: str, attrs: Mapping[str, Any]) -> None:
        """Replace the attributes of a group or array.

        Args:
            path: the path of the group or array.
            attrs: strings, numbers, True, False, None, and lists, tuples and dictionaries of them. NumPy
                scalars and arrays become numbers and lists; bytes and times become strings. Complex numbers
                are stored as pairs and read back as complex numbers.

        Raises:
            Error: ``not-found``; ``invalid`` for values of other types.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
            ...     w.attrs("/t2m", {"units": "K"})
            >>> repo.at("main")["/t2m"].attrs
            {'units': 'K'}
        """
        path = self._path(path)
        storable(attrs, path)
        if "_FillValue" in attrs and self._native.document(path) is not None:
            attrs = encoded(attrs, self._view()._array(path).dtype)
        self._native.set_attrs(path, dump(attrs))
        if path in self._arrays:
            self._arrays[path].reread()

    def store(self) -> Any:
        """A Zarr store of what is being written: ``dataset.to_zarr(writer.store())``.

        Chunks go through this writer, into its commit. Arrays to which zarr-python gives its default codecs
        get measured ones.

        Raises:
            Error: ``unsupported`` if zarr is not installed.

        Example:
            >>> import icecore, numpy as np, xarray as xr
            >>> repo = icecore.create("memory://")
            >>> with repo.writer("one commit") as w:
            ...     ds = xr.Dataset({"t": ("x", np.arange(3.0))})
            ...     _ = ds.to_zarr(w.store(), consolidated=False)
            >>> repo.at("main")["/t"][...].tolist()
            [0.0, 1.0, 2.0]
        """
        return provider("writable_store")(self)

    @in_turn
    def delete(self, path: str) -> None:
        """Delete an array, or a group and everything below it, with the summaries of a table.

        Args:
            path: the path of the array or group.

        Raises:
            Error: ``not-found``.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
            >>> with repo.at("main").writer() as w:
            ...     w.delete("/t2m")
            >>> repo.at("main").keys()
            []
        """
        path = self._path(path)
        for known in [known for known in self._arrays if known == path or known.startswith(path + "/")]:
            self._arrays.pop(known).is_deleted = True
            self._rounds.leaves(known)
        self._native.delete(path)
        self._deleted = True
        summary = f"/{SUMMARY}{path}"
        if self._native.exists(summary):
            self._native.delete(summary)

    @in_turn
    def commit(self, message: str | None = None) -> str:
        """Commit the data written so far; the end of the ``with`` block commits the rest.

        Args:
            message: the commit message; that of the writer by default.

        Returns:
            The id of the new snapshot; the branch's newest if nothing was written since the last commit.

        Raises:
            Error: ``conflict`` if another writer changed the same nodes meanwhile (the message names the
                paths); ``io``, ``permission``, ``network``. After an error the data is still in the writer.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     t2m = w.array("/t2m", "f4", (0, 2))
            ...     t2m.append([1, 2])
            ...     first = w.commit("first row")
            ...     t2m.append([3, 4])
            >>> repo.at(first)["/t2m"].shape, repo.at("main")["/t2m"].shape
            ((1, 2), (2, 2))
        """
        self._path("/")
        return self._commit(message)

    def _commit(self, message: str | None = None, is_last: bool = False) -> str:
        said = _said(message) if message is not None else self.message
        self._mend()
        for array in self._arrays.values():
            array.shorten(is_last)
        for array in self._arrays.values():
            array.finish()
        self._renew_trends()
        before = self._native.base()
        try:
            self.snapshot_id = self._native.commit(said)
        except KeyboardInterrupt:
            # Python tells of Ctrl-C when the commit is over, in place of its result.
            committed = self._native.base()
            if committed != before:
                self.snapshot_id = committed
                self._committed(before)
            raise
        if not is_last:
            self._committed(before)
        self._rounds.committed()
        return self.snapshot_id

    def _renew_trends(self) -> None:
        """Keep stored trends right where their arrays have changed."""
        changed = self._touched()
        if changed and self._native.exists(f"/{SUMMARY}"):
            provider("renew_trends")(self, changed)
            self._native.touched()  # the trends themselves
        self._changed = {}

    def _touched(self) -> dict[str, int]:
        """Array → first row that changed; the caller may remove arrays whose trends it has written."""
        for path, row in self._native.touched().items():
            self._changed[path] = min(row, self._changed.get(path, row))
        return self._changed

    def _committed(self, before: str) -> None:
        """Count a commit of changes to version ``before``, and look whether others came first."""
        if before != self._known:  # after the last commit: arrays used since then know
            self._met = self._commits
        self._commits += 1
        # A commit without anything of this writer gives the id of somebody else's.
        is_ours = self._native.bytes_stored > self._stored and not self._deleted
        self._stored, self._deleted = self._native.bytes_stored, False
        assert self.snapshot_id is not None
        self._known = self.snapshot_id
        if self._known == before or (is_ours and self._parent() == before):
            return
        self._met = self._commits

    def _parent(self) -> str | None:
        """Of the version that was committed last; None where that can't be read now."""
        try:
            return self._repo.at(self._known).log(1)[0].parent
        except errors.Error:
            return None

    def _met_others(self, seen: int) -> bool:
        """Whether arrays may have changed that were looked at after so many commits."""
        return seen < self._met or self._native.base() != self._known

    @in_turn
    def abort(self) -> None:
        """Discard everything since the last commit and close the writer.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
            ...     w.abort()
            >>> repo.at("main").keys()
            []
        """
        self._closed = True
        self._torn = None
        self._arrays.clear()

    def base(self) -> Repo:
        """Return the version that the changes are based on.

        It is the newest version of the branch when this writer was created, or its own last commit.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
            ...     w.base().keys()
            []
        """
        base = self._native.base()
        return self._repo if base == self._repo.snapshot_id else self._repo.at(base)

    @property
    def bytes_raw(self) -> int:
        """Bytes handed to the encoders so far."""
        return self._native.bytes_raw

    @property
    def bytes_stored(self) -> int:
        """Bytes that came out of them."""
        return self._native.bytes_stored

    def __enter__(self) -> Writer:
        self._open()
        return self

    @in_turn
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._closed:
            return
        if kind is None:
            self._commit(is_last=True)
        self.abort()

    def _append_begins(self, path: str) -> None:
        self._open()
        if self._rounds.begins(path):
            self.commit()

    def _append_ends(self, path: str) -> None:
        if self._rounds.ends(path):
            self.commit()

    def _tail_memory(self) -> int:
        """Bytes that the waiting rows of one array may take."""
        return self._memory // (_ROWS * max(len(self._arrays), 1))

    @property
    def _box(self) -> int:
        """Bytes that are read, patched or copied at once, where a shard isn't more."""
        return min(_BLOCK, self._memory // _COPIED)

    def _open(self) -> None:
        if self._closed:
            raise errors.make("invalid", "this writer is closed", "open another one: repo.writer()")
        if os.getpid() != self._process:
            self._native.base()  # refused in a process that was forked: rows would wait there for no commit

    def __reduce__(self) -> NoReturn:
        raise errors.make(
            "unsupported",
            "a writer can't be copied, nor handed to another process",
            "open one there: repo.writer(); or let other processes compute, and write what comes back here",
        )

    def _path(self, path: str) -> str:
        self._open()
        self._mend()
        return address.absolute(path)

    def _mend(self) -> None:
        if self._torn is not None:
            self._torn.mend()

    def _parents(self, path: str) -> None:
        parts = path.split("/")[1:-1]
        for depth in range(1, len(parts) + 1):
            parent = "/" + "/".join(parts[:depth])
            if not self._native.exists(parent):
                self._native.add_group(parent, "{}")

    def _pending(self) -> _icecore.Repo:
        return self._repo._native.pending(self._native)

    def _view(self) -> Repo:
        """What would be read now, the uncommitted included."""
        return self._repo._over(self._pending())


def _said(message: Any) -> str:
    """A commit's message, looked at before there is anything to commit."""
    if not isinstance(message, str) or any("\ud800" <= letter <= "\udfff" for letter in message):
        raise errors.make("invalid", f"{message!a:.60} is no commit message", "a text: message='spin-up'")
    return message


def _dtype(given: Any, path: str) -> np.dtype[Any]:
    try:
        found = np.dtype(given)
        # NumPy's text without a length, also by the names "str" and "U"; no array has texts of length 0
        return np.dtype("O") if found.kind == "U" and not found.itemsize else found
    except (TypeError, ValueError) as error:
        hint = "NumPy's names: 'f4', 'int16', 'datetime64[s]', …, or str for text"
        raise errors.make("dtype", f"{given!r:.60} is no type for {path}: {error}", hint) from None


def _reads(
    spec: Access | None, path: str, shape: Sequence[int], dims: Sequence[str | None] | None
) -> list[Query]:
    patterns, names = parse(spec), dims if dims is not None else [None] * len(shape)
    check(patterns, [(path, shape, names)])
    return queries(patterns, shape, names)
