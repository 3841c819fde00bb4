"""A repository as zarr-python and icechunk see it, without any of our code."""

from __future__ import annotations

import sys
from typing import Any

import pytest

if sys.version_info < (3, 12):
    pytest.skip("the icechunk wheel needs Python 3.12", allow_module_level=True)
icechunk = pytest.importorskip("icechunk")
zarr = pytest.importorskip("zarr")


class Peer:
    """An Icechunk repository in a local folder; created where there is none.

    Links are followed to every container that the repository's own configuration names.
    """

    def __init__(self, path: str, create: bool = False) -> None:
        storage = icechunk.local_filesystem_storage(path)
        if create:
            self.repo = icechunk.Repository.create(storage)
        else:
            config = icechunk.Repository.fetch_config(storage)
            prefixes = list((config.virtual_chunk_containers or {}) if config else {})
            access = icechunk.containers_credentials({prefix: None for prefix in prefixes})
            self.repo = icechunk.Repository.open(storage, authorize_virtual_chunk_access=access)

    def group(self, branch: str = "main") -> Any:
        """The root group, read only, at the tip of a branch."""
        return zarr.open_group(self.repo.readonly_session(branch=branch).store, mode="r")

    def writing(self, message: str = "zarr-python") -> Writing:
        """``with peer.writing() as root``: a root group to write to; committed at the end."""
        return Writing(self.repo, message)


class Writing:
    """One commit by zarr-python."""

    def __init__(self, repo: Any, message: str) -> None:
        self.session = repo.writable_session("main")
        self._message = message

    def __enter__(self) -> Any:
        return zarr.open_group(self.session.store, mode="a")

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.session.commit(self._message)
