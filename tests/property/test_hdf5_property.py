"""HDF5 files of any layout and filter, linked and packed, read as h5py reads them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
import zoo
from hypothesis import assume, given, note
from hypothesis import strategies as st
from strategies import examples, numpy_selections

try:
    import hdf5plugin
except ImportError:
    hdf5plugin = None

DTYPES = ["u1", "i2", ">i4", "<i8", "<u2", ">f4", "<f8", "<f2", "<c8", "?", "S5", "S1"]
FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "gzip": {"compression": "gzip", "compression_opts": 1},
    "shuffle": {"shuffle": True},
    "shuffle gzip": {"shuffle": True, "compression": "gzip"},
    "fletcher32": {"fletcher32": True},
    "all three": {"shuffle": True, "compression": "gzip", "fletcher32": True},
    "lzf": {"compression": "lzf"},
    "shuffle lzf fletcher32": {"shuffle": True, "compression": "lzf", "fletcher32": True},
}
if hdf5plugin is not None:
    FILTERS |= {
        "zstd": dict(hdf5plugin.Zstd()),
        "lz4": dict(hdf5plugin.LZ4()),
        "blosc": dict(hdf5plugin.Blosc(cname="lz4", shuffle=hdf5plugin.Blosc.SHUFFLE)),
        "blosc zstd": dict(hdf5plugin.Blosc(cname="zstd", shuffle=hdf5plugin.Blosc.BITSHUFFLE)),
        "bitshuffle": dict(hdf5plugin.Bitshuffle(cname="none")),
        "bitshuffle lz4": dict(hdf5plugin.Bitshuffle(cname="lz4")),
        "bitshuffle zstd": dict(hdf5plugin.Bitshuffle(cname="zstd")),
        "bzip2": dict(hdf5plugin.BZip2()),
    }


def values(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Any bits, in the byte order asked for; text without what HDF5 cuts off."""
    if dtype.startswith("S"):
        data = np.random.default_rng(seed).choice([b"", b"a", b"bcd", b"xyzzy"], size=shape)
        return np.asarray(data, dtype)
    return zoo.values(dtype.lstrip("<>"), shape, seed).astype(dtype)


@st.composite
def datasets(draw: Any) -> dict[str, Any]:
    """Arguments of ``create_dataset``, and what is written to it and when."""
    ndim = draw(st.integers(0, 3))
    shape = tuple(draw(st.integers(0, [30, 30, 12, 7][ndim])) for _ in range(ndim))
    chunked = ndim > 0 and draw(st.booleans())
    dtype = draw(st.sampled_from(DTYPES))
    made: dict[str, Any] = {"shape": shape, "dtype": dtype}
    if chunked:
        made["chunks"] = tuple(draw(st.integers(1, max(n, 1) + 2)) for n in shape)
        made["maxshape"] = tuple(
            None if draw(st.booleans()) else max(n, c) + draw(st.sampled_from([0, 0, 5]))
            for n, c in zip(shape, made["chunks"], strict=True)
        )
        made["filter"] = draw(st.sampled_from(sorted(FILTERS)))
    if draw(st.booleans()) and not dtype.startswith("S"):
        made["fillvalue"] = draw(st.sampled_from([0, 1, 5] if dtype != "?" else [0, 1]))
    made["seed"] = draw(st.integers(0, 99))
    made["how"] = draw(st.sampled_from(["whole", "part", "nothing", "then longer", "then shorter"]))
    made["libver"] = draw(st.sampled_from(["earliest", "latest"]))
    return made


def write(path: Path, spec: dict[str, Any]) -> np.ndarray:
    """Make the file; what h5py then reads from it."""
    spec = dict(spec)
    options = FILTERS[spec.pop("filter", "none")]
    seed, how, libver = spec.pop("seed"), spec.pop("how"), spec.pop("libver")
    data = values(spec["dtype"], spec["shape"], seed)
    with h5py.File(path, "w", libver=libver) as file:
        dataset = file.create_dataset("x", **spec, **options)
        if how == "part" and data.ndim:
            part = tuple(slice(n // 3, n // 3 + n // 2 + 1) for n in data.shape)
            dataset[part] = data[part]
        elif how != "nothing":
            dataset[...] = data
        if how.startswith("then") and "chunks" in spec:
            longer = how == "then longer"
            shape = [n + 3 if longer else n // 2 for n in spec["shape"]]
            most = [m if m is not None else s for m, s in zip(spec["maxshape"], shape, strict=True)]
            dataset.resize([min(s, m) for s, m in zip(shape, most, strict=True)])
    with h5py.File(path) as file:
        read = np.asarray(file["x"][...])
        return read.astype(read.dtype.newbyteorder("="))


@examples(250)
@given(datasets(), st.data())
def test_linked_and_packed(spec: dict[str, Any], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.h5"
        try:
            expected = write(path, spec)
        except (ValueError, TypeError, RuntimeError, OSError) as error:
            note(f"HDF5 itself refuses: {error}")
            assume(False)
        sel = data.draw(numpy_selections(expected.shape))
        note(f"{sel!r}")
        for verb in (icecore.link, icecore.pack):
            repo = f"{folder}/{verb.__name__}.icecore"
            report = verb(path, repo, group="/f")
            assert not report.failures
            array = icecore.open(repo)["/f/x"]
            assert zoo.same(array.read(), expected), zoo.difference(array.read(), expected)
            assert zoo.same(array[sel], expected[sel])
            assert icecore.open(repo).verify(deep=True) == []


@pytest.mark.parametrize("libver", ["earliest", "v110", "latest"])
@pytest.mark.parametrize("free", [(0,), (1,), (2,), (0, 2), ()], ids=str)
def test_every_kind_of_chunk_index(tmp_path: Path, free: tuple[int, ...], libver: str) -> None:
    """HDF5 has six kinds, by which axes may grow; one of them comes with positions that are wrong."""
    shape, limits = (5, 6, 4), tuple(None if axis in free else n + 4 for axis, n in enumerate((5, 6, 4)))
    data = np.arange(1, 121).reshape(shape)
    with h5py.File(tmp_path / "f.h5", "w", libver=libver) as file:
        for name, part in (("all", ...), ("first", np.s_[:2]), ("last", np.s_[3:, 3:, 3:])):
            dataset = file.create_dataset(name, shape=shape, chunks=(2, 4, 1), maxshape=limits, dtype="i4")
            dataset[part] = data[part]
    icecore.link(tmp_path / "f.h5", tmp_path / "r", group="/f")
    repo = icecore.open(tmp_path / "r")
    with h5py.File(tmp_path / "f.h5") as file:
        for name in file:
            assert repo[f"/f/{name}"].linked
            assert zoo.same(repo[f"/f/{name}"].read(), file[name][...]), name


@examples(100)
@given(st.data())
def test_chunks_that_skipped_filters(data: st.DataObject) -> None:
    """HDF5 may store single chunks without some of the filters, and says so in a mask."""
    shape, chunk = (12, 10), (5, 4)
    codec = data.draw(st.sampled_from([{"compression": "gzip"}, {"shuffle": True, "compression": "gzip"}]))
    content = zoo.values("i4", (15, 12))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.h5"
        with h5py.File(path, "w") as file:
            dataset = file.create_dataset("x", shape=shape, dtype="<i4", chunks=chunk, **codec)
            dataset[...] = content[:12, :10]
            every = (1 << dataset.id.get_create_plist().get_nfilters()) - 1
            for index in data.draw(
                st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=5, unique=True)
            ):
                start = tuple(i * c for i, c in zip(index, chunk, strict=True))
                raw = content[tuple(slice(s, s + c) for s, c in zip(start, chunk, strict=True))]
                dataset.id.write_direct_chunk(start, np.ascontiguousarray(raw).tobytes(), every)
        with h5py.File(path) as file:
            expected = file["x"][...]
        for verb in (icecore.link, icecore.pack):
            verb(path, f"{folder}/{verb.__name__}", group="/f")
            got = icecore.open(f"{folder}/{verb.__name__}")["/f/x"].read()
            assert zoo.same(got, expected), zoo.difference(got, expected)
