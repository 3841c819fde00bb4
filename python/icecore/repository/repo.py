"""A repository at one version: look around, read, and git's words over snapshots."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from shlex import quote
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository import address, selection
from icecore.repository.array import Array, precision
from icecore.repository.cached_property import cached_property
from icecore.repository.group import Group, Members
from icecore.repository.nodes import Node, hidden, suggestion
from icecore.repository.upper_rooms import provider

if TYPE_CHECKING:
    import numpy as np

    from icecore import _icecore
    from icecore.repository.read_plan import Plan
    from icecore.tables.query.table import Table
    from icecore.writing.writer import Writer

#: of a repository to which nothing was committed yet
_ROOT = Node("/", False, '{"zarr_format": 3, "node_type": "group"}')


def open(
    url: str | os.PathLike[str],
    *,
    storage: Mapping[str, str] | None = None,
    allow_links: list[str] | None = None,
) -> Repo:
    """Open a repository: ``moon.icecore``, ``moon.icecore@v1``, ``s3://bucket/moon@2026-11-01T00:00:00Z``.

    Args:
        url: a folder or URL, and after ``@`` a branch, a tag, a snapshot id or an ISO time; branch ``main``
            by default.
        storage: credentials and settings of the object store, by the store's names for them.
        allow_links: URL prefixes or folders that linked files may be read from; by default those the
            repository was linked with.

    Raises:
        Error: ``not-found`` (a ``FileNotFoundError`` where there is no repository, a ``KeyError`` where
            there is no such version), ``permission``, ``network``, ``format``.
    """
    place, ref = address.repository(url)
    return _open(address.location(place), ref, storage, allow_links)


def create(
    url: str | os.PathLike[str], *, storage: Mapping[str, str] | None = None, exist_ok: bool = False
) -> Repo:
    """Create an empty repository in a folder, in memory (``memory://name``, for as long as the
    process lives; ``memory://``, for as long as it is used) or in an object store.

    Args:
        url: where; the folder must not exist or be empty.
        storage: credentials and settings of the object store.
        exist_ok: open the repository that is already there instead of refusing.

    Raises:
        Error: ``exists``, ``permission``, ``io``, ``network``, ``read-only`` (http), ``invalid`` inside of
            another repository.
    """
    from icecore import _icecore

    place = address.location(url)
    outer = None if address.is_url(place) else address.around(place)
    if outer is not None:
        # A path as zarr-python takes it: what was made there would be in nobody's tree.
        message, hint = f"{place} lies inside of the repository {outer[0]}", "link and pack it with --group"
        raise errors.make("invalid", message, f"{hint} {outer[1]} --into {outer[0]}")
    try:
        return Repo(_icecore.Repo.create(place, dict(storage or {})), storage, None)
    except errors.Error as error:
        if exist_ok and error.kind == "exists":
            return _open(place, None, storage, None)
        raise


def _open(
    place: str, ref: str | None, storage: Mapping[str, str] | None, allow_links: list[str] | None
) -> Repo:
    from icecore import _icecore

    allowed = None if allow_links is None else [address.prefix(item) for item in allow_links]
    try:
        return Repo(_icecore.Repo.open(place, ref, dict(storage or {}), allowed), storage, allowed)
    except errors.NotFound as error:
        if ref is None or not _exists(place, storage):
            raise errors.no_file(error.message, _elsewhere(place) or error.hint) from None
        raise


def _elsewhere(place: str) -> str:
    """What to try where nothing is at ``place``, but around it."""
    if place.startswith("memory://"):
        return f'icecore.create("{place}") makes one, for as long as this process lives'
    found = None if address.is_url(place) else address.around(place)
    return f"name the path apart from the repository: {found[0]} {found[1]}" if found else ""


def _exists(place: str, storage: Mapping[str, str] | None) -> bool:
    from icecore import _icecore

    if not address.is_url(place) and not os.path.exists(place):
        return False
    try:
        _icecore.Repo.open(place, None, dict(storage or {}), None)
    except errors.Error:
        return False
    return True


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
    found = _open(place, snapshot, dict(storage), None if allow_links is None else list(allow_links))
    return Repo(found._native, found._storage, found._allow_links, ref)


class Repo(Members):
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
        bytes: int | None = None,
    ) -> dict[str, np.ndarray]:
        """Read from many arrays as one coalesced plan.

        Args:
            items: path → selection (as between brackets, by dimension name in a dictionary, or None for all).
            out: path → array to fill, for some or all of them.
            rtol: the relative error of a number that you accept, in every array; see :meth:`Array.read`.
            bytes: instead, how many of the most significant bytes of each number to read.

        Returns:
            path → ndarray, with the keys and the order of ``items``.

        Raises:
            Error: as :meth:`Array.read`; ``unsupported`` where ``rtol`` or ``bytes`` is given and any of the
                arrays is not of floating-point numbers; ``invalid`` where ``items`` or ``out`` is no mapping.
        """
        asked = self._items(items, out)
        found = self._native.read_many([item for item, _ in asked], False, precision(rtol, bytes))
        return {path: finish(data) for path, (_, finish), data in zip(items, asked, found, strict=True)}

    def plan(self, items: Mapping[str, Any], rtol: float | None = None, bytes: int | None = None) -> Plan:
        """What :meth:`read` of ``items`` would do, as one plan; its ``rtol_bound`` is the largest of all."""
        asked = [item for item, _ in self._items(items, None)]
        from icecore.repository.read_plan import Plan

        return Plan(**self._native.plan_many(asked, False, precision(rtol, bytes)))

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

    def store(self, via: str = "auto") -> Any:
        """Return this version as a read-only store for zarr-python (`icecore.integrations.zarr_store`)."""
        return provider("store")(self, via)

    def log(self, limit: int | None = None) -> list[dict[str, Any]]:
        """The commits that led here, newest first: id, parent, message, time_us (since 1970, UTC).

        Raises:
            Error: ``invalid`` for a negative ``limit``.
        """
        if limit is not None and limit < 0:
            raise errors.make("invalid", f"a limit of {limit} commits", "give 0 or more")
        return self._native.log(None if limit is None else min(limit, sys.maxsize))

    def diff(self, a: str, b: str | None = None, values: bool = False) -> dict[str, Any]:
        """What changed from version ``a`` to ``b`` (this version by default).

        Args:
            a: a branch, tag, snapshot id or time.
            b: another.
            values: read what was written in both versions, and count the elements that really differ.

        Returns:
            ``new_groups``, ``new_arrays``, ``deleted_…`` and ``updated_…`` (metadata): sorted paths, without
            those that icecore keeps for itself (summaries);
            ``chunks``: path → ``chunks`` that were written, the ``boxes`` they make up as (first element, one
            behind the last) along each axis, clipped to the newer shape, the ``elements`` in them, and with
            ``values`` how many ``differ``, bit for bit.
        """
        a, b = address.version(a), self._version(b)
        found = self._native.diff(a, b)
        for what, paths in found.items():
            seen = [path for path in paths if not hidden(path)]
            found[what] = {path: paths[path] for path in seen} if what == "chunks" else seen
        if values:
            from icecore.repository.changes import differing

            old, new = self.at(a), self.at(b)
            for path, written in found["chunks"].items():
                written["differ"] = differing(old, new, path, written["boxes"])
        return found

    @property
    def branches(self) -> dict[str, str]:
        """branch → the snapshot at its tip."""
        return self._native.branches()

    @property
    def tags(self) -> dict[str, str]:
        """tag → its snapshot."""
        return self._native.tags()

    def _version(self, ref: str | None) -> str:
        return self.snapshot_id if ref is None else address.version(ref)

    def tag(self, name: str, ref: str | None = None) -> None:
        """Give a version (this one by default) a name that never moves.

        Raises:
            Error: ``exists`` where a branch or tag has that name, or a tag once had it; ``not-found`` for
                ``ref``; ``invalid`` for what can be no name, or is a time; ``read-only``.
        """
        self._native.create_tag(address.version(name, "a tag"), self._version(ref))

    def branch(self, name: str, ref: str | None = None) -> None:
        """Start a branch at a version (this one by default).

        Raises:
            Error: ``exists`` where a branch or tag has that name; else as :meth:`tag`.
        """
        self._native.create_branch(address.version(name, "a branch"), self._version(ref))

    def delete_tag(self, name: str) -> None:
        """Forget a tag; its name can't be used again.

        Raises:
            Error: ``not-found``, ``read-only``.
        """
        self._native.delete_tag(address.version(name, "a tag"))

    def delete_branch(self, name: str) -> None:
        """Forget a branch; snapshots that only it reached go at the next :meth:`gc`.

        Raises:
            Error: ``not-found``, ``read-only``; ``invalid`` for ``main``.
        """
        self._native.delete_branch(address.version(name, "a branch"))

    def gc(self, older_than_us: int | None = None, dry_run: bool = False) -> dict[str, Any]:
        """Delete objects that no version refers to, and old copies of the root object, which names all
        versions: each commit makes one. The newest copy stays. (Icechunk's own list of operations, not the
        log, ends after the last thousand then.)

        Args:
            older_than_us: spare objects younger than this time (microseconds since 1970), which a writer
                may still need; those of the last day where None.
            dry_run: only count what would go.
        """
        return self._native.gc(older_than_us, dry_run)

    def verify(
        self, deep: bool = False, progress: Callable[[int, int], None] | None = None, history: bool = False
    ) -> list[dict[str, Any]]:
        """Check this version's own files, every reference and linked file; with ``deep`` decode every chunk;
        with ``history`` check the files of all versions, but not what only older ones link to.

        Returns:
            The problems, empty where all is well: kind, path, chunk, where, message, hint.
        """
        return self._native.verify(deep, progress, history)

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
