"""A version of a repository as a read-only store for zarr-python."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository import address

if TYPE_CHECKING:
    from icecore.repository.repo import Repo

#: first major version of the package icechunk that reads icecore's repositories
_ICECHUNK = 2


def store(repo: Repo, via: str = "auto") -> Any:
    """Return a zarr-python store: ``zarr.open(store(repo))`` or ``zarr.open_group(store(repo), mode="r")``.

    ``open_group`` rejects a read-only store without ``mode="r"``.

    Args:
        repo: the repository, at the version to read.
        via: ``"icechunk"``: Icechunk's own store, which hands zarr-python the stored bytes and metadata as
            they are (a local repository, and the packages zarr and icechunk ≥ 2, which needs Python ≥ 3.12).
            It hangs in processes that were forked after it was used.
            ``"icecore"``: chunks are decoded by icecore and handed over as plain bytes, so that every codec
            that icecore knows can be read (needs zarr alone). ``"auto"``: Icechunk's where it can be used and
            zarr-python has what decodes the arrays, else icecore's.

    Raises:
        Error: ``unsupported`` where the packages are missing, ``invalid`` for another ``via``.
    """
    if via not in ("auto", "icechunk", "icecore"):
        raise errors.make("invalid", f"no store is made via {via!r}", "auto, icechunk or icecore")
    if via == "icechunk" or (via == "auto" and not _lacks_pcodec(repo)):
        made = _icechunk(repo)
        if made is not None:
            return made
        if via == "icechunk":
            raise errors.needs(
                "zarr",
                f"Icechunk's store for {repo.url} needs a local folder, the package icechunk ≥ 2"
                " and Python 3.12 or newer",
                "use via='icecore'",
            )
    try:
        from icecore.integrations.zarr_view import DecodedStore
    except ModuleNotFoundError as error:
        raise errors.needs("zarr", f"a Zarr store needs {error.name}") from None
    return DecodedStore(repo)


def _lacks_pcodec(repo: Repo) -> bool:
    """Whether arrays need the one codec of a pack for which zarr-python and icecore bring nothing."""
    return find_spec("pcodec") is None and any(
        '"numcodecs.pcodec"' in node.zarr_json for node in repo._visible()
    )


def _icechunk(repo: Repo) -> Any:
    path = repo.url.removeprefix("file://")
    if address.is_url(path):
        return None
    try:
        import icechunk
    except ModuleNotFoundError:
        return None
    # The first ones know an older format than the one that is written.
    if int(icechunk.__version__.partition(".")[0]) < _ICECHUNK:
        return None
    storage = icechunk.local_filesystem_storage(path)
    config = icechunk.Repository.fetch_config(storage)
    containers = (config.virtual_chunk_containers or {}) if config is not None else {}
    prefixes = [prefix for prefix in containers if prefix.startswith(tuple(repo.link_prefixes))]
    allowed: Any = {prefix: _access(icechunk.credentials, prefix) for prefix in prefixes}
    opened = icechunk.Repository.open(storage, authorize_virtual_chunk_access=allowed)
    return opened.readonly_session(snapshot_id=repo.snapshot_id).store


def _access(credentials: Any, prefix: str) -> Any:
    """Icechunk's leave to read linked files without credentials; None, which later versions of it refuse, in
    those that have no word for it.
    """
    names = {"file": "LocalFileSystemAccess", "http": "HttpAccess", "https": "HttpAccess"}
    return getattr(credentials, names.get(prefix.partition(":")[0], ""), None)
