"""The peer "Icechunk virtual references, read by zarr-python": how its repository is made and opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def containers(prefix: str) -> Any:
    """A configuration that lets references point below `prefix` (file:// or http://, ending in a slash)."""
    import icechunk

    local = prefix.startswith("file://")
    store = (
        icechunk.local_filesystem_store(prefix.removeprefix("file://")) if local else icechunk.http_store()
    )
    config = icechunk.RepositoryConfig.default()
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, store))
    return config


def link(repo: Path, file: str, location: str, prefix: str) -> dict[str, Any]:
    """Make an Icechunk repository whose 1-D arrays are the chunks of an HDF5 file, seen at `location`."""
    import h5py
    import icechunk
    import zarr

    made = icechunk.Repository.create(icechunk.local_filesystem_storage(str(repo)), containers(prefix))
    session = made.writable_session("main")
    root = zarr.group(session.store)
    with h5py.File(file) as source:
        datasets: list[Any] = []
        source.visititems(lambda _, node: datasets.append(node) if isinstance(node, h5py.Dataset) else None)
        for dataset in datasets:
            references(session.store, root, dataset, location)
    session.commit("link")
    return {"repo": str(repo), "prefix": prefix}


def references(store: Any, root: Any, dataset: Any, location: str) -> None:
    import zarr.codecs

    filters: list[Any] = []
    if dataset.shuffle:
        filters.append(zarr.codecs.numcodecs.Shuffle(elementsize=dataset.dtype.itemsize))
    filters.append(zarr.codecs.numcodecs.Zlib(level=6))
    name = dataset.name.strip("/")
    root.create_array(
        name, shape=dataset.shape, chunks=dataset.chunks, dtype=dataset.dtype, compressors=filters
    )
    size = dataset.chunks[0]
    grid = -(-dataset.shape[0] // size)
    offsets, lengths = np.zeros(grid, "u8"), np.zeros(grid, "u8")

    def visit(info: Any) -> None:
        offsets[info.chunk_offset[0] // size], lengths[info.chunk_offset[0] // size] = (
            info.byte_offset,
            info.size,
        )

    dataset.id.chunk_iter(visit)
    store.set_virtual_refs_arr("/" + name, (grid,), [location] * grid, offsets, lengths)


def open_group(storage: Any, prefix: str, config: Any = None) -> Any:
    """The zarr-python view of the main branch; the references below `prefix` may be read."""
    import icechunk
    import zarr

    local = prefix.startswith("file://")
    access = icechunk.Credentials.LocalFileSystemAccess() if local else icechunk.Credentials.HttpAccess()
    opened = icechunk.Repository.open(storage, config, authorize_virtual_chunk_access={prefix: access})
    return zarr.open_group(opened.readonly_session("main").store, mode="r")


def pipeline(array: Any) -> str:
    """The class that really decodes an array's chunks: a configured pipeline may silently not be used."""
    return type(array._async_array.codec_pipeline).__name__
