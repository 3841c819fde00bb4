"""Other readers of columns, those that are installed: the same columns, written in each one's own format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import icecore
import numpy as np

from icecore_bench.root import trees

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
_BASKET, _CLUSTER = 8192, 250_000


@dataclass(frozen=True)
class Peer:
    """Columns in one format: its files, and how column ``c0`` is read at some rows, or as a whole."""

    name: str
    path: Path
    read: Callable[[Rows], Any]


def has(module: str) -> bool:
    """Return whether a package is installed."""
    return find_spec(module) is not None


def missing(*more: str) -> str:
    """Return a sentence on the readers, and ``more``, that were left out; empty if there are none."""
    absent = [name for module, name in _PACKAGES.items() if not has(module)] + [name for name in more if name]
    return f"Not installed, so not measured: {', '.join(absent)}." if absent else ""


def peers(columns: trees.Columns, work: Path, say: Callable[[str], None]) -> list[Peer]:
    """Write the columns in each format; all of them are read through open handles."""
    makers = [_uproot, _linked, _packed, _ntuple]
    makers += [make for module, make in _MAKERS if has(module)]
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


def _ntuple(columns: trees.Columns, work: Path) -> Peer:
    """An RNTuple with clusters of 250,000 entries; uproot decompresses the column of a cluster at a time."""
    import uproot

    path = work / "ntuple.root"
    with uproot.recreate(path, compression=uproot.LZ4(1)) as file:
        ntuple = file.mkrntuple("Events", {name: column.dtype for name, column in columns.items()})
        for start in range(0, len(columns["c0"]), _CLUSTER):
            ntuple.extend({name: column[start : start + _CLUSTER] for name, column in columns.items()})
    found = uproot.open(path, array_cache=None, object_cache=None)["Events"]

    def read(rows: Rows) -> Any:
        values = found["c0"].array(library="np")
        return values if rows is None else values[rows]

    return Peer("uproot, RNTuple, lz4", path, read)


_CPLUSPLUS = """
#include <ROOT/RNTupleReader.hxx>
#include <TBranch.h>
#include <TFile.h>
#include <TTree.h>
#include <memory>
namespace icecore_study {
  struct Branch {
    std::unique_ptr<TFile> file;
    TBranch *branch;
    float value;
    Branch(const char *path) : file(TFile::Open(path)) {
      auto tree = file->Get<TTree>("Events");
      tree->SetCacheSize(0);
      branch = tree->GetBranch("c0");
      branch->SetAddress(&value);
    }
    void read(std::size_t rows, std::size_t count, std::size_t out) {
      auto from = reinterpret_cast<const long long *>(rows);
      auto to = reinterpret_cast<float *>(out);
      for (std::size_t i = 0; i < count; i++) { branch->GetEntry(from[i]); to[i] = value; }
    }
  };
  struct Field {
    std::unique_ptr<ROOT::RNTupleReader> reader;
    ROOT::RNTupleView<float> view;
    Field(const char *path)
      : reader(ROOT::RNTupleReader::Open("Events", path)), view(reader->GetView<float>("c0")) {}
    void read(std::size_t rows, std::size_t count, std::size_t out) {
      auto from = reinterpret_cast<const long long *>(rows);
      auto to = reinterpret_cast<float *>(out);
      for (std::size_t i = 0; i < count; i++) to[i] = view(from[i]);
    }
  };
}
"""


def _root(name: str, kind: str, path: Path, count: int) -> Peer:
    """A reader of C++ ROOT, one entry after the other; both files are those that uproot reads."""
    import ROOT

    if not hasattr(ROOT, "icecore_study"):
        ROOT.gInterpreter.Declare(_CPLUSPLUS)
    opened = getattr(ROOT.icecore_study, kind)(str(path))
    every = np.arange(count, dtype="i8")

    def read(rows: Rows) -> Any:
        asked = every if rows is None else np.ascontiguousarray(rows, "i8")
        found = np.empty(len(asked), "f4")
        opened.read(asked.ctypes.data, len(asked), found.ctypes.data)
        return found

    return Peer(name, path, read)


def _root_tree(columns: trees.Columns, work: Path) -> Peer:
    return _root("C++ ROOT, TTree, the same file", "Branch", work / "entries.root", len(columns["c0"]))


def _root_ntuple(columns: trees.Columns, work: Path) -> Peer:
    return _root("C++ ROOT, RNTuple, the same file", "Field", work / "ntuple.root", len(columns["c0"]))


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


_MAKERS = [
    ("ROOT", _root_tree),
    ("ROOT", _root_ntuple),
    ("pyarrow", _parquet),
    ("vortex", _vortex),
    ("lance", _lance),
    ("tensorstore", _tensorstore),
]
