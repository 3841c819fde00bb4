"""Repository at one version: list, read, compare and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository import address
from icecore.repository.array_request import precision, requests
from icecore.repository.group import Group
from icecore.repository.hierarchy import Hierarchy
from icecore.repository.history.versions import Versions
from icecore.repository.storage.native import open_native
from icecore.repository.storage.storage_options import with_durability, without_secrets
from icecore.repository.upper_rooms import provider

if TYPE_CHECKING:
    import numpy as np

    from icecore import _icecore
    from icecore.integrations.batches import Batches
    from icecore.repository.read_plan import Plan
    from icecore.tables.query.table import Table
    from icecore.writing.compaction import CompactReport
    from icecore.writing.writer import Writer


@lru_cache(maxsize=16)
def _reopen(
    place: str,
    snapshot: str,
    storage: tuple[tuple[str, str], ...],
    allow_links: tuple[str, ...] | None,
    ref: str,
) -> Repo:
    """Open a pickled repository, once per snapshot and process, so that many small tasks share its manifests.

    Secrets are not pickled: the process needs its own credentials, from a profile or its environment.

    The result keeps the branch that the original was opened at, so it can be written to.
    """
    allowed = None if allow_links is None else list(allow_links)
    return Repo(open_native(place, snapshot, dict(storage), allowed), dict(storage), allowed, ref)


class Repo(Hierarchy, Versions):
    """A repository at one version: a mapping from sorted paths to arrays and groups.

    :func:`icecore.open` and :func:`icecore.create` return one. A version never changes; ``repo.at("main")``
    returns the version with the newest commits.

    Example:
        >>> import icecore
        >>> repo = icecore.create("memory://")
        >>> with repo.writer() as w:
        ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
        >>> repo = repo.at("main")
        >>> repo["/t2m"][0:2].tolist()
        [1.0, 2.0]
    """

    def at(self, ref: str) -> Repo:
        """Return the same repository at another version.

        Args:
            ref: a branch, a tag, a snapshot id or an ISO time; or a revision as in git: ``main~1`` and
                ``main^`` (one commit before), ``@{2026-11-01}`` and ``run@{2026-11-01}`` (the last commit
                until a time).

        Raises:
            Error: ``not-found``; ``invalid`` if ``ref`` is not a string.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
            >>> "/t2m" in repo, "/t2m" in repo.at("main")
            (False, True)
        """
        return self._over(self._native.at(address.version(ref)))

    def _over(self, native: _icecore.Repo) -> Repo:
        """Return another version with the same settings."""
        return Repo(native, self._storage, self._allow_links)

    def table(self, path: str, columns: Sequence[str] | None = None) -> Table:
        """Return the group at ``path`` as a table: its one-dimensional arrays are the columns.

        Args:
            path: the path of a group.
            columns: names of the columns; required if the arrays of the group differ in length.

        Raises:
            Error: ``not-found``; ``mismatch`` if ``path`` is an array or the lengths differ.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/rdr/tb", "f4", (3,))[...] = [200, 250, 300]
            >>> repo.at("main").table("/rdr").to_numpy(where="tb > 220")["tb"].tolist()
            [250.0, 300.0]
        """
        found = self[path]
        if not isinstance(found, Group):
            raise errors.make(
                "mismatch",
                f"{found.path} is an array; a table is a group of arrays",
                f"give its group: {found._node.parent}",
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
        """Read from many arrays in one plan; byte ranges that are close together are merged.

        Args:
            items: path → selection: an index as in ``array[...]``, a dictionary from dimension names to
                indexes, or None for everything.
            out: path → array to fill, for some or all of the arrays.
            rtol: the largest relative error that you accept, for all arrays; see :meth:`Array.read`.
            leading_bytes: alternative to ``rtol``: number of most significant bytes to read of each number.

        Returns:
            path → ndarray, with the keys and the order of ``items``.

        Raises:
            Error: as :meth:`Array.read`; ``unsupported`` if ``rtol`` or ``leading_bytes`` is given and an
                array does not have a floating-point dtype; ``invalid`` if ``items`` or ``out`` is not a
                mapping.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/u", "i4", (3,))[...] = [1, 2, 3]
            ...     w.array("/v", "i4", (3,))[...] = [4, 5, 6]
            >>> found = repo.at("main").read({"/u": slice(0, 2), "/v": None})
            >>> found["/u"].tolist(), found["/v"].tolist()
            ([1, 2], [4, 5, 6])
        """
        asked = requests(self, items, out)
        found = self._native.read_many([item for item, _ in asked], False, precision(rtol, leading_bytes))
        return {path: finish(data) for path, (_, finish), data in zip(items, asked, found, strict=True)}

    def batches(
        self,
        paths: str | Sequence[str],
        sample: Mapping[str, int] | None = None,
        batch: int = 32,
        shuffle: int | None = None,
        worker: tuple[int, int] | None = None,
        memory: int | str | None = None,
        drop_last: bool = False,
        kind: str = "numpy",
    ) -> Batches:
        """Return batches of samples for training, which fetch and decode each chunk once an epoch.

        Samples don't overlap; elements behind the last whole sample are left out. If the lengths of chunks
        and samples have no common multiple that fits the memory, some chunks are decoded twice.

        Args:
            paths: an array, several, or a group: all arrays in it.
            sample: dimension → length of a sample; other dimensions are whole. By default a sample is one
                element along the first axis: a row of a table.
            batch: samples of a batch; the last batch may be shorter.
            shuffle: seed of the order, which differs from epoch to epoch; in the order of blocks if omitted.
            worker: number of this worker and of all: each sample is in the batches of one worker. Workers of
                torch's ``DataLoader`` are detected.
            memory: largest number of bytes of samples in memory, as an integer or ``"1GiB"``; 512 MiB by
                default. Samples are mixed among those in memory.
            drop_last: leave out a last batch that is shorter.
            kind: ``numpy``, or ``torch`` for tensors that share the memory. NumPy's arrays support DLPack.

        Returns:
            An iterable; each iteration is an epoch of dictionaries path (of a group: name) → values of shape
            ``(batch, …)``. ``len()`` is its number of batches, ``epoch`` the number of the next epoch.

        Raises:
            Error: ``not-found``; ``selection`` for a dimension that an array lacks; ``mismatch`` for arrays
                of different lengths; ``memory`` if a chunk with its samples is larger; ``invalid``.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t", "i4", (6, 2), dims=["time", "x"])[...] = [[i, i] for i in range(6)]
            >>> batches = repo.at("main").batches("/t", sample={"time": 2}, batch=2)
            >>> [each["/t"].shape for each in batches]
            [(2, 2, 2), (1, 2, 2)]
        """
        made: Batches = provider("batches")(
            self, paths, sample, batch, shuffle, worker, memory, drop_last, kind
        )
        return made

    def plan(
        self, items: Mapping[str, Any], rtol: float | None = None, leading_bytes: int | None = None
    ) -> Plan:
        """Return the plan of :meth:`read` without reading the data; ``rtol_bound`` is the largest of all.

        Args:
            items, rtol, leading_bytes: as for :meth:`read`.

        Raises:
            Error: as :meth:`read`.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/u", "i4", (3,))[...] = [1, 2, 3]
            >>> repo.at("main").plan({"/u": slice(0, 2)}).bytes_out
            8
        """
        asked = [item for item, _ in requests(self, items, None)]
        from icecore.repository.read_plan import Plan

        return Plan(**self._native.plan_many(asked, False, precision(rtol, leading_bytes)))

    async def aread(
        self, items: Mapping[str, Any], rtol: float | None = None, leading_bytes: int | None = None
    ) -> dict[str, np.ndarray]:
        """Read from many arrays in a thread, for callers with an event loop; see :meth:`read`.

        Example:
            >>> import asyncio, icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/u", "i4", (3,))[...] = [1, 2, 3]
            >>> asyncio.run(repo.at("main").aread({"/u": slice(0, 2)}))["/u"].tolist()
            [1, 2]
        """
        import asyncio

        return await asyncio.to_thread(self.read, items, None, rtol, leading_bytes)

    def to_xarray(self, path: str = "/", **options: Any) -> Any:
        """Return a group as an ``xarray.Dataset``, or an array as an ``xarray.DataArray``, read lazily.

        Args:
            path: the path of a group or an array.
            **options: options of :func:`xarray.open_dataset` with ``engine="icecore"``.

        Raises:
            Error: ``not-found``; ``unsupported`` if xarray is not installed.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/wrf/t2m", "f4", (3,), dims=["time"])[...] = [1, 2, 3]
            >>> dict(repo.at("main").to_xarray("/wrf").sizes)
            {'time': 3}
        """
        return provider("to_xarray")(self[path], **options)

    def view(self, path: str = "/", height: int = 640, browser: bool | None = None) -> Any:
        """Show this version in a page: in a frame of a notebook, else in the browser.

        The page is served on this machine alone, by a process that ends with this one.

        Args:
            path: the array or group to show first.
            height: of the frame in pixels.
            browser: whether the browser is opened; by default outside of notebooks.

        Returns:
            An object with the page's ``url``; notebooks display it.

        Raises:
            Error: ``unsupported`` for a repository in memory; ``not-found`` for an unknown path.

        Example:
            >>> import icecore, tempfile
            >>> repo = icecore.create(tempfile.mkdtemp() + "/a.icecore")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
            >>> repo.at("main").view("/t2m", browser=False).url.endswith("path=/t2m")
            True
        """
        self[path]
        return provider("view")(self, path, height, browser)

    def store(self, via: str = "auto") -> Any:
        """Return this version as a read-only store for zarr-python.

        Args:
            via: ``"icechunk"``, ``"icecore"`` or ``"auto"``; see :mod:`icecore.integrations.zarr_store`.

        Raises:
            Error: ``unsupported`` if zarr is not installed; ``invalid`` for another ``via``.

        Example:
            >>> import icecore, zarr
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
            >>> zarr.open_group(repo.at("main").store(), mode="r")["t2m"][:2].tolist()
            [1.0, 2.0]
        """
        return provider("store")(self, via)

    def writer(
        self,
        message: str = "write",
        branch: str | None = None,
        memory: int | str | None = None,
        commit_every: int | None = None,
        commit_seconds: float | None = None,
        durability: str | None = None,
        compact: str | None = None,
    ) -> Writer:
        """Return a context manager that writes groups and arrays and makes one atomic commit at its end.

        An exception inside the block leaves the repository unchanged.

        Args:
            message: the commit message.
            branch: the branch to commit to. The default is the branch that this repository was opened at; a
                repository opened at a tag, a snapshot or a time has no default.
            memory: largest number of bytes of data in memory, as an integer or ``"256MiB"``; 1 GiB by
                default. One growing array uses about 250 MB of it. A quarter is for rows that wait until
                their shard is full, a quarter for the queue of the encoders, the rest for copies and encoded
                data. Shards of new arrays are planned to fit. A larger shard that you choose needs three
                times its size. The package itself and the encoders' working memory add 40 MB; codecs of goal
                ``archive`` add 50 MB per thread.
            commit_every: commit automatically after this many appends to each growing array (see
                :mod:`icecore.writing.open_writer`). If threads append to different arrays without waiting
                for each other, the arrays of a version may differ in length.
            commit_seconds: commit automatically when this many seconds have passed; checked at each append.
            durability: ``"none"`` for scratch data; see :func:`icecore.open`. By default as this repository
                was opened.
            compact: ``"auto"`` merges short chunks of the arrays that were written, in a commit of its own
                after the last one (see :meth:`compact`), at most 64 MiB of rows for each array.

        Raises:
            Error: ``read-only`` without a branch to commit to; ``not-found`` for ``branch``; ``conflict`` at
                the end if another writer changed the same arrays.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer(message="first run") as w:
            ...     t2m = w.array("/t2m", "f4", (2, 3), dims=["time", "x"])
            ...     t2m[0] = [1, 2, 3]
            >>> repo.at("main")["/t2m"][0].tolist()
            [1.0, 2.0, 3.0]
        """
        if branch is None:
            branch = self.ref
            # A tag, a snapshot and a time never change, even if a branch has the same tip.
            if branch not in self.branches:
                raise errors.make(
                    "read-only",
                    f"{branch} is not a branch: commits need a branch",
                    "name one: REPO@main; in Python repo.writer(branch='main')",
                )
        base = self if durability is None else self._with(durability)
        made: Writer = provider("writer")(
            base, message, branch, memory, commit_every, commit_seconds, compact
        )
        return made

    def compact(
        self,
        path: str = "/",
        older: timedelta = timedelta(hours=1),
        budget: int | None = None,
        branch: str | None = None,
        memory: int | str | None = None,
    ) -> CompactReport:
        """Merge short chunks of arrays that grew by small appends, in one commit.

        Values, dtypes, codecs and attributes stay. Full chunks are neither read nor written. Old versions
        keep the short chunks until they expire and :meth:`gc` runs.

        Args:
            path: an array, or a group with all arrays below it.
            older: arrays that changed since this age are left alone: an open writer that changes the same
                array could not commit.
            budget: number of bytes of rows that are written again at most; the next call goes on.
            branch: the branch to commit to; as for :meth:`writer`.
            memory: largest number of bytes of data in memory; as for :meth:`writer`.

        Returns:
            The arrays with their numbers of chunks, and the reasons why others were left alone.

        Raises:
            Error: ``not-found`` for ``path``; ``read-only`` without a branch to commit to; ``conflict`` if
                another writer changed the same arrays meanwhile.

        Example:
            >>> import icecore
            >>> from datetime import timedelta
            >>> repo = icecore.create("memory://")
            >>> repo.compact(older=timedelta(0)).arrays
            {}
        """
        made: CompactReport = provider("compact")(self, path, older, budget, branch, memory)
        return made

    def _with(self, durability: str) -> Repo:
        """Return this version, opened again with another durability."""
        storage = with_durability(self._storage, durability)
        if address.is_url(self.url):  # only directories know it
            return self
        return Repo(
            open_native(self.url, self.snapshot_id, storage, self._allow_links),
            storage,
            self._allow_links,
            self.ref,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        allow = None if self._allow_links is None else tuple(self._allow_links)
        options = tuple(sorted(without_secrets(self._storage).items()))
        return (_reopen, (self.url, self.snapshot_id, options, allow, self.ref))

    def __dask_tokenize__(self) -> tuple[str, str]:
        return (self.url, self.snapshot_id)
