"""Forks of a writer: other processes store chunks, and the writer merges and commits them.

A fork is based on the branch's newest version and is never committed. Its chunks are objects of the
repository at once; their locations travel to the writer as plain values.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository.repo import Repo
from icecore.repository.storage.native import open_native
from icecore.repository.storage.storage_options import without_secrets
from icecore.writing.writer import Writer

if TYPE_CHECKING:
    from icecore import _icecore


@dataclass(frozen=True)
class Fork:
    """Where forks of a writer write to.

    Attributes:
        url: the repository.
        branch: the branch of the writer.
        storage: options of the object store, without secrets.
        job: unique for each writer, so that a process opens the repository once for it.
    """

    url: str
    branch: str
    storage: tuple[tuple[str, str], ...]
    job: str

    @classmethod
    def of(cls, writer: Writer) -> Fork:
        """Return the fork of a writer.

        Raises:
            Error: ``invalid`` for a repository in memory.
        """
        repo = writer._repo
        if repo.url.startswith("memory://"):
            message = f"{repo.url} is in memory: other processes can't write to it"
            raise errors.make(
                "invalid", message, "name a directory that all workers see, or s3://bucket/name"
            )
        kept = tuple(sorted(without_secrets(repo._storage).items()))
        return cls(repo.url, writer.branch, kept, uuid.uuid4().hex)

    def writer(self) -> Writer:
        """Return a forked writer, in the process that will write."""
        from icecore import _icecore

        made = Writer(_opened(self), "fork", self.branch)
        _icecore.fork(made._native)
        return made


@dataclass(frozen=True)
class Chunks:
    """Chunks of an array that a fork stored; a plain value.

    Attributes:
        counts: raw bytes, stored bytes, chunks stored, chunks that were stored before.
        places: number of the chunk, bytes or id of the object, offset, length.
    """

    counts: tuple[int, int, int, int] = (0, 0, 0, 0)
    places: _icecore._Places | tuple[()] = ()

    def merge(self, writer: Writer, path: str) -> None:
        """Add the chunks to the changes of the writer that was forked."""
        from icecore import _icecore

        _icecore.merge_chunks(writer._native, path, self.counts, list(self.places))


def taken(fork: Writer) -> dict[str, Chunks]:
    """Wait until a forked writer has stored everything, and return its chunks by array.

    Raises:
        Error: the first failure.
    """
    from icecore import _icecore

    return {path: Chunks(*found) for path, found in _icecore.take_chunks(fork._native).items()}


@lru_cache(maxsize=8)
def _opened(fork: Fork) -> Repo:
    storage: dict[str, Any] = dict(fork.storage)
    return Repo(open_native(fork.url, fork.branch, storage, None), storage, None)
