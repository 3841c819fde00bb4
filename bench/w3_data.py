"""W3's stores: the same array in each peer's format, from one copy in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fields
import numpy as np
from data import built, folder, forget, size_mb

INNER = fields.INNER["1.3 MB"]


class Once:
    """The whole array, made when the first store needs it: with every store in place it is never made."""

    def __init__(self, quick: bool) -> None:
        self.quick = quick
        self.made: np.ndarray | None = None

    def __call__(self) -> np.ndarray:
        if self.made is None:
            self.made = fields.whole(self.quick)
        return self.made


def prepare(quick: bool, reps: int) -> dict[str, Any]:
    """Paths of all stores, their sizes, and the checksums of every query."""
    here = folder(quick) / "field"
    here.mkdir(exist_ok=True)
    values = Once(quick)
    facts = built(here / "expect", fields.VERSION, lambda p: expect(p, values, quick, reps))
    paths: dict[str, Any] = {"expect": facts, "zarr": str(here / "zarr")}
    (here / "zarr").mkdir(exist_ok=True)
    for codec, config in fields.CODECS.items():
        for name, inner in fields.INNER.items():
            store = here / "zarr" / f"{codec}, {name}".replace(" ", "")
            made = zarr_store(values, inner, config)
            built(store, fields.VERSION, made)
    others = {"b2nd": b2nd, "tiledb": tiledb_array, "h5": hdf5, "same": same_frames}
    for key, make in others.items():
        paths[key] = optional(here / f"field.{key}", make, values)
    paths["icecore"] = icecore_stores(here)
    paths["warm"] = [str(here)]
    paths["touch_gb"] = 3.0
    stores = [*here.glob("zarr/*"), *here.glob("field.*")]
    paths["sizes_mb"] = {p.name: round(size_mb(p)) for p in stores if p.suffix != ".json"}
    return paths


def expect(path: Path, values: Once, quick: bool, reps: int) -> dict[str, int]:
    path.write_text("the checksums lie in the file of facts beside this one\n")
    return fields.checksums(values(), quick, reps)


def zarr_store(
    values: Once, inner: tuple[int, ...], codec: dict[str, Any]
) -> Callable[[Path], dict[str, Any]]:
    def make(path: Path) -> dict[str, Any]:
        write(str(path), values(), inner, codec)
        return {}

    return make


def write(store: Any, raw: np.ndarray, inner: tuple[int, ...], codec: dict[str, Any]) -> None:
    """The array by zarr-python, into a folder or a store."""
    import zarr

    root = zarr.create_group(store)
    array = root.create_array(
        "field",
        shape=raw.shape,
        dtype=raw.dtype,
        shards=fields.SHARD,
        chunks=inner,
        compressors=[codec],
        dimension_names=("time", "z", "y", "x"),
    )
    for first in range(0, len(raw), fields.SHARD[0]):
        array[first : first + fields.SHARD[0]] = raw[first : first + fields.SHARD[0]]


def same_frames(path: Path, raw: np.ndarray) -> None:
    """A repository by icechunk and zarr-python: the very bytes that the peers read."""
    import icechunk

    repo = icechunk.Repository.create(icechunk.local_filesystem_storage(str(path)))
    session = repo.writable_session("main")
    write(session.store, raw, fields.INNER["144 kB"], fields.CODECS["zstd"])
    session.commit("field")


def optional(path: Path, make: Callable[[Path, np.ndarray], None], values: Once) -> str:
    """The store's path, or "" where its library is not installed."""

    def run(unfinished: Path) -> dict[str, Any]:
        make(unfinished, values())
        return {}

    try:
        built(path, fields.VERSION, run)
    except ImportError:
        return ""
    return str(path)


def b2nd(path: Path, raw: np.ndarray) -> None:
    import blosc2

    how = blosc2.CParams(codec=blosc2.Codec.ZSTD, clevel=3, filters=[blosc2.Filter.SHUFFLE])
    blosc2.asarray(
        raw, urlpath=str(path), chunks=fields.SHARD, blocks=INNER, cparams=how, mode="w", contiguous=True
    )


def tiledb_array(path: Path, raw: np.ndarray) -> None:
    import tiledb

    filters = tiledb.FilterList([tiledb.ByteShuffleFilter(), tiledb.ZstdFilter(level=3)])
    axes = [
        tiledb.Dim(name, domain=(0, n - 1), tile=t, dtype="u4")
        for name, n, t in zip("tzyx", raw.shape, INNER, strict=True)
    ]
    schema = tiledb.ArraySchema(tiledb.Domain(*axes), attrs=[tiledb.Attr("v", dtype="f4", filters=filters)])
    tiledb.Array.create(str(path), schema)
    with tiledb.open(str(path), "w") as array:
        array[:] = raw


def hdf5(path: Path, raw: np.ndarray) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        options = {"chunks": INNER, "compression": "gzip", "compression_opts": 4, "shuffle": True}
        file.create_dataset("field", data=raw, **options)


def icecore_stores(here: Path) -> dict[str, str]:
    """The same four layouts packed by icecore from the peers' folders, by layout; anew for each build."""
    try:
        import icecore
        import icecore._icecore as engine
    except ImportError:
        return {}
    stamp = f"{fields.VERSION} {Path(engine.__file__).stat().st_mtime_ns}"
    repos: dict[str, str] = {}
    for codec, config in fields.CODECS.items():
        for name, inner in fields.INNER.items():
            layout = f"{codec}, {name}"
            source = here / "zarr" / layout.replace(" ", "")
            repo = here / f"icecore-{layout.replace(' ', '')}"

            def pack(
                unfinished: Path, source: Path = source, inner: tuple[int, ...] = inner, config: Any = config
            ) -> dict[str, Any]:
                codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, config]
                icecore.pack(
                    [str(source)],
                    into=str(unfinished),
                    group="/",
                    chunk=inner,
                    shard=fields.SHARD,
                    codec=codecs,
                )
                return {}

            built(repo, stamp, pack)
            repos[layout] = str(repo)
    forget(here / "unfinished")
    return repos
