"""Other readers of columns, those that are installed: the same columns, written in each one's own format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import icecore
from icecore.studies.root import trees

#: rows of a read, or all of them
Rows = np.ndarray[Any, Any] | None
#: module → what the note calls it
_PACKAGES = {
    "ROOT": "C++ ROOT (pip install --pre root)",
    "pyarrow": "Parquet (pip install pyarrow)",
    "vortex": "Vortex (pip install vortex-data)",
    "lance": "Lance (pip install pylance)",
    "tensorstore": "tensorstore (pip install tensorstore)",
}
_BASKET = 8192


@dataclass(frozen=True)
class Peer:
    """Columns in one format: its files, and how column ``c0`` is read at some rows, or as a whole."""

    name: str
    path: Path
    read: Callable[[Rows], Any]


def has(module: str) -> bool:
    """Return whether a package is installed."""
    return find_spec(module) is not None


def missing() -> str:
    """Return a sentence on the readers that were left out."""
    absent = [name for module, name in _PACKAGES.items() if not has(module)]
    squash = "SquashFS is not measured: there is no tool for it in the Python packages of the study."
    return (f"Not installed, so not measured: {', '.join(absent)}. " if absent else "") + squash


def peers(columns: trees.Columns, work: Path, say: Callable[[str], None]) -> list[Peer]:
    """Write the columns in each format; all of them are read through open handles."""
    makers = [_uproot, _linked, _packed]
    makers += [make for module, make in _MAKERS.items() if has(module)]
    found = []
    for make in makers:
        say(f"entries: writing for {make.__name__.strip('_')}")
        found.append(make(columns, work))
    return found


def _uproot(columns: trees.Columns, work: Path) -> Peer:
    import uproot

    path = trees.write(work / "entries.root", columns, "lz4-1", _BASKET)
    branch = uproot.open(path, array_cache=None, object_cache=None)["Events"]["c0"]
    edges = np.array(branch.entry_offsets)

    def read(rows: Rows) -> Any:
        if rows is None:
            return branch.array(library="np")
        found = np.empty(len(rows), "f4")
        at = np.searchsorted(edges, rows, "right") - 1
        for number in np.unique(at):  # a basket is the least that uproot decompresses
            values = branch.array(entry_start=edges[number], entry_stop=edges[number + 1], library="np")
            found[at == number] = values[rows[at == number] - edges[number]]
        return found

    return Peer("uproot, lz4, baskets of 32 kB", path, read)


def _icecore(name: str, path: Path, files: Path) -> Peer:
    table = icecore.open(path).table("/Events")

    def read(rows: Rows) -> Any:
        if rows is None:
            return table.arrays("c0", library="np")["c0"]
        return table.arrays("c0", entries=rows, library="np")["c0"]

    return Peer(name, files, read)


def _linked(_: trees.Columns, work: Path) -> Peer:
    icecore.link(work / "entries.root", work / "linked.icecore", group="/")
    return _icecore("icecore, the same file linked", work / "linked.icecore", work / "entries.root")


def _packed(columns: trees.Columns, work: Path) -> Peer:
    path = work / "packed.icecore"
    icecore.pack(dict(columns), path, "/Events", goal="random")
    return _icecore("icecore, packed --for random", path, path)


def _parquet(columns: trees.Columns, work: Path) -> Peer:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = work / "entries.parquet"
    pq.write_table(pa.table(columns), path, compression="zstd", row_group_size=65_536)
    file = pq.ParquetFile(path)
    edges = np.arange(0, file.metadata.num_rows, 65_536)

    def read(rows: Rows) -> Any:
        if rows is None:
            return file.read(["c0"])["c0"].to_numpy()
        at = np.searchsorted(edges, rows, "right") - 1
        groups, place = np.unique(at, return_inverse=True)
        values = file.read_row_groups(groups.tolist(), ["c0"])["c0"].to_numpy()
        return values[rows - edges[at] + place * 65_536]

    return Peer("Parquet, zstd, pyarrow", path, read)


def _vortex(columns: trees.Columns, work: Path) -> Peer:
    import pyarrow as pa
    import vortex

    path = work / "entries.vortex"
    vortex.io.write(pa.table(columns), str(path))
    file = vortex.open(str(path))

    def read(rows: Rows) -> Any:
        indices = None if rows is None else vortex.array(pa.array(rows.astype("u8")))
        return file.scan(["c0"], indices=indices).read_all().to_arrow_table()["c0"].to_numpy()

    return Peer("Vortex", path, read)


def _lance(columns: trees.Columns, work: Path) -> Peer:
    import lance
    import pyarrow as pa

    path = work / "entries.lance"
    dataset = lance.write_dataset(pa.table(columns), str(path))

    def read(rows: Rows) -> Any:
        found = dataset.to_table(["c0"]) if rows is None else dataset.take(rows.tolist(), columns=["c0"])
        return found["c0"].to_numpy()

    return Peer("Lance", path, read)


def _tensorstore(columns: trees.Columns, work: Path) -> Peer:
    import tensorstore as ts

    path = work / "entries.zarr"
    for name, values in columns.items():
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path / name)}}
        layout = ts.ChunkLayout(read_chunk_shape=[4096], write_chunk_shape=[1 << 20])
        codec = {"name": "blosc", "configuration": {"cname": "zstd", "clevel": 3, "shuffle": "shuffle"}}
        inner = {
            "driver": "zarr3",
            "codecs": [{"name": "sharding_indexed", "configuration": {"codecs": [codec]}}],
        }
        options = {"create": True, "dtype": ts.float32, "shape": [len(values)], "chunk_layout": layout}
        ts.open(spec, codec=ts.CodecSpec(inner), **options).result().write(values).result()
    array = ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path / "c0")}}).result()

    def read(rows: Rows) -> Any:
        return (array if rows is None else array[rows]).read().result()

    return Peer("tensorstore, Zarr, blosc zstd", path, read)


_MAKERS = {"pyarrow": _parquet, "vortex": _vortex, "lance": _lance, "tensorstore": _tensorstore}
