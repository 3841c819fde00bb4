"""Writer: groups, arrays, regions and appended rows in one commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.codecs import spec as codecspec
from icecore.layout.access_pattern import Spec as Access
from icecore.repository.typed_attributes import dump, encoded, storable
from icecore.repository.upper_rooms import provider
from icecore.writing.array_writer import ArrayWriter
from icecore.writing.new_array import NewArray
from icecore.writing.open_writer import OpenWriter
from icecore.writing.synchronized import in_turn

if TYPE_CHECKING:
    from icecore.repository.repo import Repo
    from icecore.writing.parts import Parts, Written


class Writer(OpenWriter):
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
                self._set_attrs(path, attrs)
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
            portable: use only codecs that other Zarr readers support.
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
        asked: dict[str, Any] = {
            "dims": dims,
            "chunks": chunks,
            "shards": shards,
            "codec": codec,
            "access": access,
        }
        asked |= {"fill_value": fill_value, "portable": portable}
        new = NewArray.of(path, dtype, shape, goal, bandwidth, attrs, **asked)
        if self._native.exists(path):
            raise errors.make(
                "exists", f"{path} exists already", "use w[path] to write to it, or w.delete(path) first"
            )
        return self._create(new)

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
        self._set_attrs(path, attrs)
        if path in self._arrays:
            self._arrays[path].reread()

    def store(self) -> Any:
        """Return a Zarr store for the uncommitted data: ``dataset.to_zarr(writer.store())``.

        Chunks are written through this writer and become part of its commit. Arrays with zarr-python's
        default codecs get measured codecs instead.

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
    def parts(self) -> Parts:
        """Return the arrays that this writer used so far, for other processes that write blocks of them.

        The result can be pickled. Each process opens it (``part = parts.open()``), writes whole shards
        (``part.write(path, start, block)``) and returns ``part.close()`` for :meth:`merge`. Create or resize
        the arrays first. Codecs stay as they are then: name one, or write a block before, which ``auto``
        measures.

        Raises:
            Error: ``invalid`` for a repository in memory.

        Example:
            >>> import icecore, numpy as np, tempfile
            >>> repo = icecore.create(tempfile.mkdtemp() + "/r")
            >>> with repo.writer() as w:
            ...     _ = w.array("/t", "f4", (4,), chunks=(2,), shards=(2,), codec="zstd")
            ...     part = w.parts().open()  # in another process
            ...     part.write("/t", (2,), [5, 6])
            ...     w.merge([part.close()])
            >>> repo.at("main")["/t"][...].tolist()
            [0.0, 0.0, 5.0, 6.0]
        """
        self._path("/")
        found: Parts = provider("parts")(self)
        return found

    @in_turn
    def merge(self, written: Iterable[Written]) -> None:
        """Add blocks that other processes wrote to the changes of this writer; see :meth:`parts`.

        Args:
            written: what ``part.close()`` returned in each process.

        Raises:
            Error: ``invalid`` if two processes wrote one chunk.

        Example:
            >>> import icecore, tempfile
            >>> repo = icecore.create(tempfile.mkdtemp() + "/r")
            >>> with repo.writer() as w:
            ...     _ = w.array("/t", "f4", (2,), chunks=(1,), shards=(1,), codec="zstd")
            ...     part = w.parts().open()
            ...     part.write("/t", (1,), [7])
            ...     w.merge([part.close()])
            >>> repo.at("main")["/t"][1]
            np.float32(7.0)
        """
        self._path("/")
        provider("merge_parts")(self, written)

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
        self._delete(self._path(path))

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
        self._close()

    def base(self) -> Repo:
        """Return the base version of the changes.

        It is the newest version of the branch at the time when this writer was created, or its own last
        commit.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
            ...     w.base().keys()
            []
        """
        return self._base()

    @property
    def bytes_raw(self) -> int:
        """Number of bytes passed to the encoders so far."""
        return self._native.bytes_raw

    @property
    def bytes_stored(self) -> int:
        """Number of bytes that the encoders produced so far."""
        return self._native.bytes_stored
