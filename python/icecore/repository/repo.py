"""A repository at one version: look around, read, and git's words over snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from shlex import quote
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository import address, selection
from icecore.repository.array import Array
from icecore.repository.cached_property import cached_property
from icecore.repository.group import Group, Members
from icecore.repository.native import open_native
from icecore.repository.nodes import Node, hidden, suggestion
from icecore.repository.precision import precision
from icecore.repository.upper_rooms import provider
from icecore.repository.versions import Versions

if TYPE_CHECKING:
    import numpy as np

    from icecore import _icecore
    from icecore.repository.read_plan import Plan
    from icecore.tables.query.table import Table
    from icecore.writing.writer import Writer

#: of a repository to which nothing was committed yet
_ROOT = Node("/", False, '{"zarr_format": 3, "node_type": "group"}')


@lru_cache(maxsize=16)
def _reopen(
    place: str,
    snapshot: str,
    storage: tuple[tuple[str, str], ...],
    allow_links: tuple[str, ...] | None,
    ref: str,
) -> Repo:
    """A pickled repository again; each snapshot once per process, so that many small tasks share its
    reference tables. It keeps the name that it was opened at: a branch can be written to there, too.
    """
    allowed = None if allow_links is None else list(allow_links)
    return Repo(open_native(place, snapshot, dict(storage), allowed), dict(storage), allowed, ref)


class Repo(Members, Versions):
    """A repository at one version, as a mapping from all paths below its root, sorted, to arrays and groups.
    Use :func:`icecore.open`.

    A version never changes: open the repository again to see what others committed since.
    """

    def __init__(
        self,
        native: _icecore.Repo,
        storage: Mapping[str, str] | None,
        allow_links: list[str] | None,
        ref: str | None = None,
    ) -> None:
        self._native = native
        self._ref = native.ref if ref is None else ref
        self._storage = dict(storage or {})
        self._allow_links = allow_links

    @property
    def url(self) -> str:
        """Where the repository is."""
        return self._native.url

    @property
    def ref(self) -> str:
        """The branch, tag, snapshot id or time it was opened at."""
        return self._ref

    @property
    def snapshot_id(self) -> str:
        """The snapshot that is read."""
        return self._native.snapshot_id

    @property
    def link_prefixes(self) -> list[str]:
        """URL prefixes that linked files may be read from."""
        return list(self._native.link_prefixes)

    def at(self, ref: str) -> Repo:
        """The same repository at another branch, tag, snapshot id or ISO time.

        Raises:
            Error: ``not-found``; ``invalid`` for what is no text.
        """
        return self._over(self._native.at(address.version(ref)))

    def _over(self, native: _icecore.Repo) -> Repo:
        """Another version, with this one's settings."""
        return Repo(native, self._storage, self._allow_links)

    @cached_property
    def _nodes(self) -> dict[str, Node]:
        return {path: Node(path, is_array, text) for path, is_array, text in self._native.nodes()}

    def _visible(self) -> list[Node]:
        return [node for node in self._nodes.values() if not hidden(node.path)]

    def _array(self, path: str) -> Array:
        item = self[path]
        if not isinstance(item, Array):
            raise errors.make(
                "not-found",
                f"{item.path} is a group, not an array",
                f"see `icecore ls {quote(self.url)} {quote(item.path)}`",
            )
        return item

    def __getitem__(self, path: str) -> Array | Group:
        """The array or group at ``path`` (a leading ``/`` may be left out).

        Raises:
            Error: ``not-found`` (also a ``KeyError``), naming the nearest existing paths.
        """
        absolute = address.absolute(path)
        node = self._nodes.get(absolute, _ROOT if absolute == "/" else None)
        if node is None:
            known = (node.path for node in self._visible())
            hint = suggestion(absolute, known, f"see `icecore ls {quote(self.url)}`")
            raise errors.make("not-found", f"no {absolute} in {self.url} at {self.ref}", hint)
        return Array(self, node) if node.is_array else Group(self, node)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and address.absolute(path) in self._nodes

    def __iter__(self) -> Iterator[str]:
        return (node.path for node in self._visible() if node.path != "/")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def arrays(self) -> dict[str, Array]:
        """path → array, for every array."""
        return {node.path: Array(self, node) for node in self._visible() if node.is_array}

    @property
    def groups(self) -> dict[str, Group]:
        """path → group, for every group, the root included."""
        return {node.path: Group(self, node) for node in self._visible() if not node.is_array}

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes of the root group (a copy)."""
        return self._nodes["/"].numbers if "/" in self._nodes else {}

    def table(self, path: str, columns: Sequence[str] | None = None) -> Table:
        """The group at ``path`` as a table: its one-dimensional arrays are the columns.

        Args:
            path: of a group.
            columns: only these; needed where the arrays differ in length.

        Raises:
            Error: ``not-found``; ``mismatch`` where ``path`` is an array or lengths differ.
        """
        found = self[path]
        if not isinstance(found, Group):
            raise errors.make(
                "mismatch", f"{found.path} is an array, a table is a group of them", f"{found._node.parent}"
            )
        made: Table = provider("table")(found, columns)
        return made

    def read(
        self,
        items: Mapping[str, Any],
        out: Mapping[str, np.ndarray] | None = None,
        rtol: float | None = None,
        leading_bytes: int | None = None,
    ) -> dict[str, np.ndarray]:
        """Read from many arrays as one coalesced plan.

        Args:
            items: path → selection (as between brackets, by dimension name in a dictionary, or None for all).
            out: path → array to fill, for some or all of them.
            rtol: the relative error of a number that you accept, in every array; see :meth:`Array.read`.
            leading_bytes: instead, how many of the most significant bytes of each number to read.

        Returns:
            path → ndarray, with the keys and the order of ``items``.

        Raises:
            Error: as :meth:`Array.read`; ``unsupported`` where ``rtol`` or ``leading_bytes`` is given and any
                of the arrays is not of floating-point numbers; ``invalid`` if ``items`` or ``out`` is not a
                mapping.
        """
        asked = self._items(items, out)
        found = self._native.read_many([item for item, _ in asked], False, precision(rtol, leading_bytes))
        return {path: finish(data) for path, (_, finish), data in zip(items, asked, found, strict=True)}

    def plan(
        self, items: Mapping[str, Any], rtol: float | None = None, leading_bytes: int | None = None
    ) -> Plan:
        """What :meth:`read` of ``items`` would do, as one plan; its ``rtol_bound`` is the largest of all."""
        asked = [item for item, _ in self._items(items, None)]
        from icecore.repository.read_plan import Plan

        return Plan(**self._native.plan_many(asked, False, precision(rtol, leading_bytes)))

    def _items(self, items: Mapping[str, Any], out: Mapping[str, np.ndarray] | None) -> list[Any]:
        for given in (items, {} if out is None else out):
            if not isinstance(given, Mapping):
                raise errors.make(
                    "invalid",
                    f"{given!r:.60} for many arrays at once, which is no dictionary",
                    "path → selection: repo.read({'/a': None, …}); one array: repo['/a'][...]",
                )
        arrays = [self._array(path) for path in items]
        asked: list[Any] = []
        for array, (path, sel) in zip(arrays, items.items(), strict=True):
            index = selection.normalize(sel, array.dims)
            index, target, finish = array._asked(index, out.get(path) if out else None)
            asked.append(((array.path, index, target), finish))
        return asked

    async def aread(
        self, items: Mapping[str, Any], rtol: float | None = None, leading_bytes: int | None = None
    ) -> dict[str, np.ndarray]:
        """Read from many arrays in a thread, for callers that run an event loop; see :meth:`read`."""
        import asyncio

        return await asyncio.to_thread(self.read, items, None, rtol, leading_bytes)

    def to_xarray(self, path: str = "/", **options: Any) -> Any:
        """Return a group as an ``xarray.Dataset``, or an array as an ``xarray.DataArray``, read lazily.

        Args:
            path: of a group or an array.
            **options: those of :func:`xarray.open_dataset` with ``engine="icecore"``.

        Raises:
            Error: ``not-found``; ``unsupported`` if xarray is missing.
        """
        return provider("to_xarray")(self[path], **options)

    def store(self, via: str = "auto") -> Any:
        """Return this version as a read-only store for zarr-python (`icecore.integrations.zarr_store`)."""
        return provider("store")(self, via)

    def writer(
        self,
        message: str = "write",
        branch: str | None = None,
        memory: int | str | None = None,
        commit_every: int | None = None,
        commit_seconds: float | None = None,
    ) -> Writer:
        """A context manager that writes groups and arrays and makes one atomic commit at its end.

        An exception inside leaves the repository as it was.

        Args:
            message: of the commit.
            branch: to commit to; by default the branch this repository was opened at: one that was opened at
                a tag, a snapshot or a time is ``read-only``.
            memory: bytes that the writer holds at most, as a number or ``"256MiB"``; 1 GiB where None, of
                which one growing array takes about 250 MB. A quarter is for rows that wait for their shards
                to fill, a quarter for data on their way to the encoders, the rest for copies and for what
                the encoders make of them; shards of new arrays are planned to fit. Shards that are given
                and larger than that take three times their size. On top come the package's own parts and
                what the encoders work with: 40 MB together, with ``archive`` 50 MB more for each thread.
            commit_every: commit by itself after so many appends to each growing array (see
                :mod:`icecore.writing.commit_schedule`), and plan the shards of new ones for it. Threads that
                append to different arrays and don't wait for each other get versions in which these differ
                in length.
            commit_seconds: the same after so many seconds; looked at with each append. Then, and where
                ``commit()`` is called, shards of new arrays are planned again when it is seen how many rows
                a commit brings (:mod:`icecore.writing.shard_replan`).
        """
        if branch is None:
            branch = self.ref
            # A tag, a snapshot and a time stay what they are, even where a branch is still there.
            if branch not in self.branches:
                raise errors.make(
                    "read-only",
                    f"{branch} is not a branch, so nothing can be committed to it",
                    "name one: REPO@main; in Python repo.writer(branch='main')",
                )
        made: Writer = provider("writer")(self, message, branch, memory, commit_every, commit_seconds)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        allow = None if self._allow_links is None else tuple(self._allow_links)
        return (_reopen, (self.url, self.snapshot_id, tuple(sorted(self._storage.items())), allow, self.ref))

    def __dask_tokenize__(self) -> tuple[str, str]:
        return (self.url, self.snapshot_id)

    def __repr__(self) -> str:
        from icecore.display import tree

        return tree.text(self._visible(), "/", f"<icecore.Repo {self.url}@{self.ref}>")

    def _repr_html_(self) -> str:
        from icecore.display import html

        return html.hierarchy(self._visible(), "/", f"{self.url}@{self.ref}")
