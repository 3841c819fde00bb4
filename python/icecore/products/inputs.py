"""Sources of a product: files, which are linked into a repository in memory, and repositories."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from glob import has_magic
from typing import TYPE_CHECKING, Any, TypeVar

from icecore import errors
from icecore.cluster.tasks import Cluster
from icecore.display.progress import ProgressCall
from icecore.ingest.plan.repository_source import is_repository
from icecore.repository import address
from icecore.repository.channel_names import KEY, array_path
from icecore.repository.group import Group
from icecore.repository.open import create, open
from icecore.repository.storage.storage_options import without_secrets
from icecore.sources.failure import Failure
from icecore.sources.source_list import expand

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo
    from icecore.tables.query.table import Table


#: names of tables that an error lists
_SHOWN = 12


@dataclass(frozen=True)
class Source:
    """One source: its name, the repository that has its arrays, and the path below which they are."""

    name: str
    repo: Repo
    root: str

    def path(self, below: str) -> str:
        """Return a path of the repository."""
        return (
            address.join(self.root, address.absolute(below)) if self.root != "/" else address.absolute(below)
        )

    def below(self, path: str) -> str:
        """Return a path of the repository relative to this source, without a leading slash."""
        return path.removeprefix(self.root.rstrip("/") + "/")

    def groups(self, pattern: str) -> list[str]:
        """Return the paths of groups that match a shell pattern, relative to the source."""
        inside = [path for path in self.repo.groups if path.startswith(self.root.rstrip("/") + "/")]
        return [path for path in inside if fnmatchcase(self.below(path), pattern.strip("/"))]

    def tables(self, pattern: str | None, columns: list[str] | None = None) -> list[Table]:
        """Return the tables whose paths match a shell pattern; if None, the only table.

        Raises:
            Error: ``not-found`` if none matches; ``invalid`` if there are several and no pattern.
        """
        every = self._tables()
        if pattern is None and len(every) != 1:
            names = ", ".join(map(self.below, every[:_SHOWN])) + (", …" if len(every) > _SHOWN else "")
            message = f"{self.name} has {len(every)} tables" + (f": {names}" if names else "")
            raise errors.make("invalid", message, "name one, or a pattern of several: table=gt1l/heights")
        plain = pattern.strip("/") if pattern is not None else None
        found = [
            path for path in every if plain is None or fnmatchcase(self.below(path) or "/", plain or "/")
        ]
        if not found:
            names = ", ".join(map(self.below, every[:_SHOWN])) or "none"
            raise errors.make("not-found", f"{self.name} has no table {pattern}", f"its tables: {names}")
        return [self.repo.table(path, columns) for path in found]

    def array(self, path: str) -> Array:
        """Return an array by its path relative to the source.

        Raises:
            Error: ``not-found``, with the name of the source.
        """
        try:
            return self.repo._array(self.path(path))
        except errors.Error as error:
            if error.kind != "not-found":
                raise
            raise errors.make("not-found", f"{self.name} has no array {path}", error.hint) from None

    def series(self, name: str) -> Array:
        """Return an array by its path, or by the name of its channel: ``H1:GDS-CALIB_STRAIN``.

        Raises:
            Error: ``not-found``, with the name of the source.
        """
        inside = self.root.rstrip("/") + "/"
        if not name.startswith("/"):
            for path, array in self.repo.arrays.items():
                if path.startswith(inside) and array.attrs.get(KEY) == name:
                    return array
        return self.array(array_path(name) if not name.startswith("/") and ":" in name else name)

    def _tables(self) -> list[str]:
        inside = self.root.rstrip("/") + "/"
        arrays = (array for path, array in self.repo.arrays.items() if path.startswith(inside))
        return list(dict.fromkeys(array._node.parent for array in arrays if array.ndim == 1))


@dataclass
class Inputs:
    """The sources of a product, opened one after another.

    Attributes:
        names: files, directories, globs, ``@list.txt``, URLs, ``REPO``, ``REPO@REF`` or ``REPO:/path``.
        storage: credentials of object stores.
        keep_going: record failures instead of raising the first.
        failures: sources and pieces that failed.
        progress: called with (name, pieces done, pieces known so far).

    Example:
        >>> Inputs(["missing.h5"]).open_all()
        Traceback (most recent call last):
        ...
        icecore.errors.FileMissing: no file at missing.h5
          try: check the path
    """

    names: list[str]
    storage: Mapping[str, Any] | None = None
    keep_going: bool = False
    progress: ProgressCall | None = None
    failures: list[Failure] = field(default_factory=list)
    #: shell patterns of the arrays that a product reads from files; all if None
    variables: list[str] | None = None
    #: whether there is more than one source, if these are some of them
    several: bool | None = None
    cluster: Cluster | None = None

    @property
    def are_several(self) -> bool:
        """Whether there is, or may be, more than one source."""
        if self.several is not None:
            return self.several
        return len(self.names) != 1 or len(list(self._expanded())) > 1

    @property
    def are_joined_several(self) -> bool:
        """Whether :meth:`joined` gives more than one source."""
        if self.several is not None:
            return self.several
        return sum(map(is_repository, self.names)) + (len(self._files_named()) > 0) > 1

    def joined(self) -> Iterator[Source]:
        """Yield the repositories, and all files as one source, whose time series are joined in time."""
        for name in self.names:
            if is_repository(name):
                yield self._open(name)
        files = self._files_named()
        if len(files) == 1 and len(list(_files(files[0]))) == 1:
            yield self._open(files[0])
        elif files:
            from icecore.ingest.link import link

            repo = create("memory://")
            link(files, repo, variables=self.variables)
            yield Source(files[0] if len(files) == 1 else f"{files[0]} and others", repo.at("main"), "/")

    def _files_named(self) -> list[str]:
        return [name for name in self.names if not is_repository(name)]

    def open_all(self) -> list[Source]:
        """Open every source, and return those that could be opened.

        Raises:
            Error: as :func:`icecore.link` and :func:`icecore.open`.
        """
        return list(self)

    def __iter__(self) -> Iterator[Source]:
        for name in self._expanded():
            try:
                yield self._open(name)
            except errors.Error as error:
                self.failed(name, error)

    def others(self, names: Any, variables: list[str] | None = None) -> list[Source]:
        """Open the sources that a parameter names. A service opens only domains that its user may read.

        Args:
            names: one name or several, as ``names``.
            variables: shell patterns of the arrays that are read from files.

        Raises:
            Error: as :meth:`open_all`.
        """
        return Inputs(listed(names), self.storage, variables=variables).open_all()

    def failed(self, name: str, error: errors.Error) -> None:
        """Record a failure with ``keep_going``, else raise it with the name of what failed.

        Raises:
            Error: ``error``.
        """
        if not self.keep_going:
            if name in error.message:
                raise error
            raise errors.make(error.kind, f"{name}: {error.message}", error.hint) from error
        self.failures.append(Failure.of(name, error))

    def advance(self, name: str, done: int, total: int | None = None) -> None:
        """Report progress: pieces done, and all pieces if they are known."""
        if self.progress is not None:
            self.progress(name, done, total if total is not None else done)

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], name: Callable[[Item], str] = str
    ) -> Iterator[Result]:
        """Yield the results of ``work`` for each item, in order, computed on all cores.

        A failure ends the product, or is recorded with ``keep_going``; it is never ignored.

        Args:
            work: called in threads.
            items: read as results are taken.
            name: the name of an item in progress and failures.

        Raises:
            Error: the first failure.
        """
        done, known = 0, 0

        def counted() -> Iterator[Item]:
            nonlocal known
            for item in items:
                known += 1
                yield item

        for item, result in in_order(work, counted()):
            try:
                made = result()
            except errors.Error as error:
                self.failed(name(item), error)
                continue
            finally:
                done += 1
                self.advance(name(item), done, known)
            yield made

    def over_sources(self, work: Callable[[Inputs], Result]) -> Iterator[Result]:
        """Yield the result of ``work`` for all sources at once, or on a cluster for each source, in order.

        Raises:
            Error: the first failure, unless ``keep_going``.
        """
        if self.cluster is None:
            yield work(self)
            return
        names = self.expanded()
        alone = replace(
            self, names=[], storage=without_secrets(self.storage or {}), progress=None, failures=[]
        )
        alone = replace(alone, several=self.are_several, cluster=None)
        for done, (name, result) in enumerate(self.cluster.in_order(partial(_of, work, alone), names), 1):
            try:
                made, failures = result()
            except errors.Error as error:
                self.failed(name, error)
                continue
            finally:
                self.advance(name, done, len(names))
            self.failures += failures
            yield made

    def expanded(self) -> list[str]:
        """Return the names of all files and repositories."""
        return list(self._expanded())

    def _expanded(self) -> Iterator[str]:
        for name in self.names:
            if is_repository(name):
                yield name
            else:
                yield from _files(name)

    def _open(self, name: str) -> Source:
        if is_repository(name):
            place, path = address.split_path(name)
            repo = open(place, storage=self.storage)
            root = repo[path or "/"]
            if not isinstance(root, Group):
                raise errors.make(
                    "mismatch", f"{root.path} is an array", f"name its group: {root._node.parent}"
                )
            return Source(name, repo, root.path)
        from icecore.ingest.source_in_memory import fill

        repo = create("memory://")
        try:
            fill(name, repo, variables=self.variables)
        except errors.Error as error:
            if error.kind != "not-found" or self.variables is None:
                raise
            fill(name, repo)  # the product names what is missing
        return Source(name, repo.at("main"), "/")


def _of(work: Callable[[Inputs], Result], alone: Inputs, name: str) -> tuple[Result, list[Failure]]:
    """Return the result for one source and its failures, on a worker."""
    inputs = replace(alone, names=[name])
    return work(inputs), inputs.failures


def _files(name: str) -> list[str]:
    """Return the files of a source; of one that can't be listed its name, so that opening it reports why."""
    try:
        return list(expand(name))
    except errors.Error:
        return [name]


def is_pattern(text: str | None) -> bool:
    """Whether a name of tables is a shell pattern that may match several."""
    return text is not None and has_magic(text)


def listed(sources: Any) -> list[str]:
    """Return the names of sources that a caller gave: one name or several.

    Raises:
        Error: ``invalid`` for an object that is not a name.
    """
    many = (
        isinstance(sources, Iterable)
        and not isinstance(sources, (str, bytes))
        and not hasattr(sources, "__fspath__")
    )
    return [address.named(item) for item in (sources if many else [sources])]


# Run work on all cores, with results in order and a bounded number of them waiting.

Item = TypeVar("Item")
Result = TypeVar("Result")

#: results per thread that may wait for their turn
_AHEAD = 2


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None
) -> Iterator[tuple[Item, Callable[[], Result]]]:
    """Yield each item with a function that returns its result or raises its exception.

    If the iteration ends early, work that has not started is cancelled, and running work is waited for.
    """
    threads = threads or cores()
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    pool = ThreadPoolExecutor(threads, "icecore-product")
    try:
        for item in items:
            waiting.append((item, pool.submit(work, item)))
            if len(waiting) >= _AHEAD * threads:
                done, future = waiting.popleft()
                yield done, future.result
        while waiting:
            done, future = waiting.popleft()
            yield done, future.result
    finally:
        for _, future in waiting:
            future.cancel()
        pool.shutdown(wait=True)
