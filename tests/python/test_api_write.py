"""Writing arrays: whole, by region, row by row; one commit or none."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

RNG = np.random.default_rng(11)
DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16", "M8[ns]", "m8[s]", "S5", "U4", "V3"]


def values(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Random bits of a dtype (letters for text)."""
    kind = np.dtype(dtype)
    count = int(np.prod(shape))
    if kind.kind == "?":
        return RNG.random(shape) < 0.5
    if kind.kind in "SU":
        letters = RNG.choice(list("abcxyz"), (count, 4))
        return np.array(["".join(row) for row in letters]).astype(kind).reshape(shape)
    raw = RNG.integers(0, 2 if kind.kind == "b" else 256, count * kind.itemsize, "u1")
    return raw.view(kind).reshape(shape)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Bit for bit."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", [*DTYPES, ">i4", ">f8"])
def test_every_dtype(tmp_path: Path, dtype: str) -> None:
    data = values(dtype, (7, 5))
    with icecore.create(tmp_path / "d.icecore").writer() as w:
        w.array("/x", dtype, data.shape)[...] = data
    got = icecore.open(tmp_path / "d.icecore")["/x"][...]
    assert same(got, data.astype(np.dtype(dtype).newbyteorder("=")))


@pytest.mark.parametrize("codec", ["auto", "zstd"])
def test_a_single_text(tmp_path: Path, codec: str) -> None:
    with icecore.create(tmp_path / "r").writer() as w:
        array = w.array("/a", str, (), codec=codec)
        array[...] = "before"
        array[()] = "crème brûlée"
    assert icecore.open(tmp_path / "r")["/a"][()] == "crème brûlée"


def test_structures(tmp_path: Path) -> None:
    data = np.zeros(9, [("a", "i4"), ("b", "f8"), ("c", "S3")])
    data["a"], data["b"], data["c"] = range(9), RNG.random(9), b"xyz"
    with icecore.create(tmp_path / "d.icecore").writer() as w:
        w.array("/x", data.dtype, data.shape)[...] = data
    got = icecore.open(tmp_path / "d.icecore")["/x"][...]
    assert got.dtype.names == data.dtype.names
    for name in data.dtype.names:
        np.testing.assert_array_equal(got[name], data[name])


def test_fill_and_attributes(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "d.icecore").writer() as w:
        w.array(
            "/x",
            "f4",
            (4,),
            fill_value=np.nan,
            attrs={"scale": np.float32(0.1), "flags": np.array([1, 2], "i2")},
        )
        w.array("/s", str, (2,), fill_value="none")
        w.array("/t", "M8[s]", (2,), fill_value=np.datetime64("2020-01-01", "s"))
    repo = icecore.open(tmp_path / "d.icecore")
    assert np.isnan(repo["/x"][...]).all()
    assert np.isnan(repo["/x"].fill_value)
    assert repo["/x"].attrs["flags"] == [1, 2]
    assert repo["/s"][...].tolist() == ["none", "none"]
    assert repo["/t"][0] == np.datetime64("2020-01-01", "s")


def test_attributes_that_are_no_numbers_in_json_stay_numbers(tmp_path: Path) -> None:
    attrs = {
        "nan": np.nan,
        "single": np.float32("inf"),
        "list": [1.5, -np.inf],
        "array": np.array([np.nan, 2], "f4"),
        "text": "NaN",
        "words": ["NaN", "x"],
        "plain": 1.5,
        "deep": {"a": [1]},
    }
    wanted = str({**attrs, "single": np.inf, "array": [np.nan, 2.0]})
    with icecore.create(tmp_path / "d.icecore").writer() as w:
        w.group("/", attrs)
        w.group("/g")
        w.attrs("/g", attrs)
        w.array("/g/x", "f4", (4,), attrs=attrs)
        w.array("/y", "f4", (4,))
        w.attrs("/y", attrs)
    repo = icecore.open(tmp_path / "d.icecore")
    again = icecore.pack(repo.url, tmp_path / "e.icecore", "/")
    assert again.snapshot
    for opened in (repo, icecore.open(tmp_path / "e.icecore")):
        for item in (opened, opened["/g"], opened["/g/x"], opened["/y"]):
            assert str({name: item.attrs[name] for name in attrs}) == wanted
        assert opened["/y"]._node.attrs["nan"] == "NaN", "JSON is strict"


@pytest.mark.parametrize("rows", [1, 3, 8, 20])
def test_append(tmp_path: Path, rows: int) -> None:
    data = RNG.random((41, 6)).astype("f4")
    with icecore.create(tmp_path / "a.icecore").writer() as w:
        a = w.array("/x", "f4", (0, 6), ("t", "x"), chunks=(2, 6), shards=(8, 6))
        for start in range(0, len(data), rows):
            block = data[start : start + rows].copy()
            a.append(block if rows > 1 else block[0])
            block[...] = -1  # the writer keeps nothing of ours
    repo = icecore.open(tmp_path / "a.icecore")
    assert same(repo["/x"][...], data)
    # a later commit continues inside the last shard
    with repo.writer() as w:
        w["/x"].append(data[:5])
    assert same(icecore.open(repo.url)["/x"][...], np.concatenate([data, data[:5]]))


def test_append_with_planned_layout(tmp_path: Path) -> None:
    data = RNG.random((30, 50, 60)).astype("f4")
    with icecore.create(tmp_path / "a.icecore").writer() as w:
        a = w.array("/t2m", dtype="f4", dims=("time", "y", "x"), shape=(0, 50, 60), codec="auto")
        for snapshot in data:
            a.append(snapshot)
    got = icecore.open(tmp_path / "a.icecore")["/t2m"]
    assert same(got[...], data)
    assert got.chunks[0] > 1


def test_append_refuses_other_shapes(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "a.icecore").writer() as w:
        a = w.array("/x", "f4", (0, 6))
        with pytest.raises(ValueError, match="rows of shape") as caught:
            a.append(np.zeros((2, 5)))
        assert caught.value.kind == "mismatch"


BIG = np.array([(2**40, 1.0)], [("a", "i8"), ("b", "f8")])
CHANGED = [
    ("i2", np.array([70000])),
    ("i2", 70000),
    ("u1", np.array([1, -1])),
    ("i8", np.array([2**63], "u8")),
    ("i8", np.array([2.0**63])),
    ("i8", [2**70]),
    ("i2", np.array([np.nan])),
    ("i2", [1, 1.5]),
    ("i2", np.array([1.5], "O")),
    ("?", np.array([2])),
    ("f4", np.array([1e300])),
    ("f2", np.array([70000])),
    ("f4", np.array([1 + 2j])),
    ("S3", [b"abc", b"abcd"]),
    ("S3", "ä"),
    ("U2", np.array(["abc"])),
    ("M8[s]", np.array(["2020-01-01T00:00:01.5"], "M8[ms]")),
    ("M8[ns]", np.array(["2500-01-01"], "M8[D]")),
    (np.dtype([("a", "i4"), ("b", "f4")]), BIG),
]


@pytest.mark.parametrize("dtype", ["foo", "M8[banana]", 3])
def test_what_names_no_dtype_is_said(tmp_path: Path, dtype: Any) -> None:
    with (
        icecore.create(tmp_path / "a").writer() as w,
        pytest.raises(icecore.Error, match=r"/x: dtype .* is not valid") as caught,
    ):
        w.array("/x", dtype, (3,))
    assert caught.value.kind == "dtype"


@pytest.mark.parametrize("dtype", [str, np.str_, "str", "U"])
def test_text_without_a_length_is_text_of_any(dtype: Any) -> None:
    repo = icecore.create("memory://")
    with repo.writer() as w:
        w.array("/x", dtype, (0,)).append(["a", "longer"])
    assert repo.at("main")["/x"].read().tolist() == ["a", "longer"]


@pytest.mark.parametrize(("dtype", "hint"), [("S", "'S8'"), (bytes, "'S8'"), ("M8", r"'M8\[s\]'")])
def test_what_a_dtype_lacks_is_said(dtype: Any, hint: str) -> None:
    with icecore.create("memory://").writer() as w, pytest.raises(icecore.Error, match=hint):
        w.array("/x", dtype, (3,))


@pytest.mark.parametrize(("dtype", "data"), CHANGED, ids=[f"{i}" for i in range(len(CHANGED))])
def test_numbers_that_the_dtype_cannot_hold_are_refused(tmp_path: Path, dtype: str, data: object) -> None:
    with icecore.create(tmp_path / "a.icecore").writer() as w:
        a, b = w.array("/x", dtype, (0,)), w.array("/y", dtype, (4,))
        ways = [lambda: a.append(np.atleast_1d(data)), lambda: b.__setitem__(slice(0, np.size(data)), data)]
        ways += [lambda: b.write((1,), np.atleast_1d(data))]
        for way in ways:
            with pytest.raises(icecore.Error, match=r"/[xy] is .* can't hold") as caught:
                way()
            assert caught.value.kind == "dtype"
            assert caught.value.hint
        assert a.shape == (0,)


@pytest.mark.parametrize(
    ("dtype", "data", "wanted"),
    [
        ("i2", np.array([1, -7], "i8"), [1, -7]),
        ("i2", np.array([1.0, -7.0]), [1, -7]),
        ("u1", [0, 255], [0, 255]),
        ("?", np.array([0, 1]), [False, True]),
        ("f4", np.array([0.1, np.inf, 1.0]), [np.float32(0.1), np.inf, 1.0]),
        ("f4", np.array([2**24 + 1]), [2.0**24]),
        ("S3", np.array([b"abc", b""], "S9"), [b"abc", b""]),
        ("S3", ["abc"], [b"abc"]),
        (
            "M8[s]",
            np.array(["2020-01-01", "NaT"], "M8[ns]"),
            ["2020-01-01", "NaT"],
        ),
        (np.dtype([("a", "i4"), ("b", "f4")]), [(1, 0.5)], [(1, 0.5)]),
        (np.dtype([("a", "i2"), ("b", "f4")]), np.array([(9, np.nan)], BIG.dtype), [(9, np.nan)]),
    ],
)
def test_values_that_the_dtype_can_hold_are_converted(
    tmp_path: Path, dtype: str, data: object, wanted: list[object]
) -> None:
    with icecore.create(tmp_path / "a.icecore").writer() as w:
        w.array("/x", dtype, (0,)).append(data)
        w.array("/y", dtype, (len(wanted),))[...] = data
    repo = icecore.open(tmp_path / "a.icecore")
    for path in ("/x", "/y"):
        assert str(repo[path][...].tolist()) == str(np.array(wanted, dtype).tolist())  # NaN equals NaN


def test_masked_elements_become_the_fill_value(tmp_path: Path) -> None:
    data = np.ma.masked_array([1.0, 1e20, 3.0], [False, True, False])
    with icecore.create(tmp_path / "a.icecore").writer() as w:
        w.array("/short", "i2", (0,), fill_value=-9).append(data)
        w.array("/double", "f8", (3,), fill_value=np.nan)[...] = data
        attrs = {"_FillValue": icecore.repository.json_attributes.fill_attribute(-1.0, np.dtype("f4"))}
        w.array("/attribute", "f4", (0,), attrs=attrs).append(data)
        w.array("/text", "S1", (0,), fill_value=b"-").append(np.ma.masked_array([b"a", b"b"], [0, 1]))
        none = w.array("/none", "i2", (0,))
        none.append(np.ma.masked_array([1, 2]))
        with pytest.raises(icecore.Error, match="/none has no fill value for 1 masked") as caught:
            none.append(data)
        assert caught.value.kind == "dtype"
    repo = icecore.open(tmp_path / "a.icecore")
    assert repo["/short"][...].tolist() == [1, -9, 3]
    np.testing.assert_array_equal(repo["/double"][...], [1, np.nan, 3])
    assert repo["/attribute"][...].tolist() == [1, -1, 3]
    assert repo["/text"][...].tolist() == [b"a", b"-"]
    assert repo["/none"][...].tolist() == [1, 2]


@settings(max_examples=60)
@given(st.data())
def test_regions_are_numpys(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=3)))
    chunk = tuple(data.draw(st.integers(1, n)) for n in shape)
    shard = tuple(c * data.draw(st.integers(1, 3)) for c in chunk)
    expected = np.full(shape, 7, "i4")
    repo = icecore.create(f"memory://regions{RNG.integers(1 << 60)}")
    with repo.writer() as w:
        a = w.array("/x", "i4", shape, chunks=chunk, shards=shard, fill_value=7)
        for value in range(data.draw(st.integers(1, 4))):
            bounds = [sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n)))) for n in shape]
            sel = tuple(slice(*pair) for pair in bounds)
            block = RNG.integers(0, 1000, expected[sel].shape, "i4") + value
            a[sel] = block
            expected[sel] = block
    np.testing.assert_array_equal(icecore.open(repo.url)["/x"][...], expected)


def test_region_forms(tmp_path: Path) -> None:
    expected = np.zeros((6, 7), "f8")
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        a = w.array("/x", "f8", (6, 7), chunks=(2, 3))
        for sel, data in [
            (0, 1),
            ((slice(2, 4), -1), [5, 6]),
            ((..., 2), 3),
            (slice(-2, None), np.ones((2, 7))),
            ((slice(None, None, 2), slice(1, None, 3)), [[8, 9], [10, 11], [12, 13]]),
            ((slice(5, 0, 2), 0), 14),  # empty
        ]:
            a[sel] = data
            expected[sel] = data
        for bad in [(slice(None, None, -1),), (slice(None, None, 0),), ([1, 2],), (6,), (0, 0, 0)]:
            with pytest.raises(IndexError):
                a[bad] = 0
        with pytest.raises(ValueError, match="region of shape"):
            a[0:2] = np.zeros((3, 7))
    np.testing.assert_array_equal(icecore.open(tmp_path / "r.icecore")["/x"][...], expected)


def test_arrays_may_be_changed_after_they_were_written(tmp_path: Path) -> None:
    data = RNG.random((100, 100))
    kept = data.copy()
    with icecore.create(tmp_path / "c.icecore").writer() as w:
        w.array("/x", "f8", data.shape)[...] = data
        data[...] = 0
    assert same(icecore.open(tmp_path / "c.icecore")["/x"][...], kept)


def test_nothing_is_committed_on_an_exception(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "n.icecore")
    writer = repo.writer()

    def simulation() -> None:
        with writer as w:
            w.array("/x", "f8", (10,))[...] = 1
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        simulation()
    assert list(icecore.open(repo.url)) == []
    with pytest.raises(ValueError, match="closed"):
        writer.array("/y")


@pytest.mark.parametrize("how", ["ended", "failed", "aborted"])
def test_a_closed_writer_takes_nothing(tmp_path: Path, how: str) -> None:
    repo = icecore.create(tmp_path / "r.icecore")
    writer = repo.writer()
    array = writer.array("/x", "f4", (4,))
    if how == "aborted":
        writer.abort()
    else:
        with suppress(KeyError), writer:
            if how == "failed":
                raise KeyError
    for write in (
        lambda: array.__setitem__(0, 9),
        lambda: array.__setitem__(slice(0, 0), 9),
        lambda: array.write((0,), np.ones(2, "f4")),
        lambda: array.resize((10,)),
        lambda: array.append(1.0),
        lambda: writer.__enter__(),
        lambda: writer["/x"],
    ):
        with pytest.raises(icecore.Error, match="writer is closed") as caught:
            write()
        assert caught.value.kind == "invalid"
    assert array.shape == (4,)


@pytest.mark.parametrize("message", [None, 3, b"x", "\udcff"])
def test_what_is_no_message_is_said_before_anything_is_written(tmp_path: Path, message: Any) -> None:
    repo = icecore.create(tmp_path / "r.icecore")
    with pytest.raises(icecore.Error, match="commit message must be a string") as caught:
        repo.writer(message)
    assert caught.value.kind == "invalid"
    with repo.writer() as writer:
        array = writer.array("/x", "f4", (0,))
        array.append(1.0)
        if message is not None:
            with pytest.raises(icecore.Error, match="commit message must be a string"):
                writer.commit(message)
    assert icecore.open(repo.url)["/x"][...].tolist() == [1.0]


@pytest.mark.parametrize("copied", [copy.deepcopy, pickle.dumps])
def test_a_writer_is_its_processs(tmp_path: Path, copied: Callable[[Any], Any]) -> None:
    with icecore.create(tmp_path / "r.icecore").writer() as writer:
        array = writer.array("/x", "f4", (0,))
        for one in (writer, array):
            with pytest.raises(icecore.Error, match="another process") as caught:
                copied(one)
            assert caught.value.kind == "unsupported"


def test_one_commit(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "o.icecore")
    with repo.writer(message="spin-up") as w:
        w.array("/a/b/c", "i4", (3,))[...] = 1
        w.group("/a", {"title": "x"})
        w.array("/d", "i4", (3,))
    after = icecore.open(repo.url)
    assert w.snapshot_id == after.snapshot_id
    assert after.log(1)[0].message == "spin-up"
    assert len(after.log()) == len(repo.log()) + 1
    assert after["/a"].attrs == {"title": "x"}
    assert sorted(after.groups) == ["/", "/a", "/a/b"]


def test_existing_and_missing(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "e.icecore")
    with repo.writer() as w:
        w.array("/x", "i4", (3,))
        with pytest.raises(icecore.Error) as caught:
            w.array("/x", "i4", (3,))
        assert caught.value.kind == "exists"
        with pytest.raises(KeyError):
            w["/y"]
    with icecore.open(repo.url).writer() as w:
        w.delete("/x")
        w.array("/x", "f8", (2,))[...] = 3
        w.attrs("/x", {"units": "m"})
    after = icecore.open(repo.url)
    assert after["/x"][...].tolist() == [3, 3]
    assert after["/x"].attrs == {"units": "m"}


@pytest.mark.parametrize(
    "codec", ["auto", "none", "zstd", "gzip:1", "shuffle+zstd:5", "lz4", "blosc", "zlib:9", "bz2"]
)
def test_codecs_by_name(tmp_path: Path, codec: str) -> None:
    data = np.cumsum(RNG.integers(-3, 4, (200, 30)), 0).astype("i4")
    with icecore.create(tmp_path / "c.icecore").writer() as w:
        w.array("/x", "i4", data.shape, codec=codec)[...] = data
    a = icecore.open(tmp_path / "c.icecore")["/x"]
    assert same(a[...], data)
    assert (a.nbytes_stored < a.nbytes) == (codec != "none")


def test_codecs_as_zarr_spells_them(tmp_path: Path) -> None:
    chain = [
        {"name": "bytes", "configuration": {"endian": "big"}},
        {"name": "gzip", "configuration": {"level": 2}},
    ]
    with icecore.create(tmp_path / "c.icecore").writer() as w:
        w.array("/x", "i4", (5,), codec=chain)[...] = range(5)
    a = icecore.open(tmp_path / "c.icecore")["/x"]
    assert a.codecs == chain
    assert a[...].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("codec", ["zip", "zstd:x", "{", "[1]", "[]"])
def test_what_is_no_codec(tmp_path: Path, codec: str) -> None:
    with (
        icecore.create(tmp_path / "c.icecore").writer() as w,
        pytest.raises(ValueError, match="codec") as caught,
    ):
        w.array("/x", "i4", (5,), codec=codec)
    assert caught.value.kind == "codec"


@pytest.mark.parametrize(
    "layout",
    [
        {"chunks": (0, 2)},
        {"chunks": (2,)},
        {"chunks": (3, 3), "shards": (4, 3)},
        {"shards": (-1, 2)},
        {"dims": ("a",)},
    ],
)
def test_layouts_that_make_no_sense(tmp_path: Path, layout: dict[str, object]) -> None:
    with (
        icecore.create(tmp_path / "c.icecore").writer() as w,
        pytest.raises(ValueError, match=r".") as caught,
    ):
        w.array("/x", "i4", (6, 6), **layout)
    assert caught.value.kind == "invalid"


def test_given_chunk_or_shard(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "c.icecore").writer() as w:
        w.array("/chunk", "f4", (100, 100), chunks=(7, 9))
        w.array("/shard", "f4", (100, 100), shards=(60, 50))
        w.array("/both", "f4", (100, 100), chunks=(5, 5), shards=(10, 20))
    repo = icecore.open(tmp_path / "c.icecore")
    assert repo["/chunk"].chunks == (7, 9)
    assert all(s % c == 0 for s, c in zip(repo["/chunk"].shards or (7, 9), (7, 9), strict=True))
    assert (repo["/shard"].shards or repo["/shard"].chunks) == (60, 50)
    assert (repo["/both"].chunks, repo["/both"].shards) == ((5, 5), (10, 20))


UNNAMED = """
import icecore
from pathlib import Path

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def use():
    repo = icecore.create("memory://")
    with repo.writer() as w:
        w.array("/x", "u1", (40_000_000,), chunks=(4_000_000,), codec="none")[...] = 7
    assert icecore.open(repo.url)["/x"][5] == 7, "found by its address while it is used"

use()
before = resident()
for _ in range(6):
    use()
print(resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_memory_of_unnamed_repositories_is_given_back() -> None:
    """To the C library, that is, which keeps such blocks for each thread unless it is told to map them."""
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000"}
    command = [sys.executable, "-c", UNNAMED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout) < 30e6


@pytest.mark.parametrize("shape", [(0, 5), (0,), (3_000_000,), (200_000, 5, 3)])
def test_small_chunks_have_a_small_index(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """16 bytes a chunk, in every unfinished shard too."""
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        a = w.array("/x", "f4", shape, chunks=(1,) * len(shape), codec="none")
        if shape[0] == 0:
            a.append(np.ones((1, *shape[1:])))
    a = icecore.open(tmp_path / "r.icecore")["/x"]
    assert a.shards is not None
    assert np.prod(a.shards) <= (16_384 if shape[0] else 1_024)
    assert a.shards[0] > 1
    assert a.nbytes_stored < 100_000


@pytest.mark.parametrize(
    "codecs",
    [
        [{"name": "icecore.fpc", "configuration": {"axis": 2}}],
        [{"name": "transpose", "configuration": {"order": [1, 0, 2]}}, {"name": "bytes"}],
    ],
)
def test_codecs_of_other_axes_are_refused_at_once(codecs: list[dict[str, object]]) -> None:
    with (
        icecore.create("memory://").writer() as w,
        pytest.raises(icecore.Error, match="the codecs don't fit its 2 axes") as caught,
    ):
        w.array("/a", "f4", (0, 4), codec=codecs)
    assert caught.value.kind == "format"


@pytest.mark.parametrize("dtype", ["?", "S3", str])
def test_codecs_of_other_types_name_the_array(tmp_path: Path, dtype: Any) -> None:
    """By a writer and by a pack."""
    codec = '[{"name": "icecore.predict"}]'
    repo = icecore.create(tmp_path / "r.icecore")
    with repo.writer() as w:
        with pytest.raises(icecore.Error, match=r"^/g/a: .*icecore\.predict of") as caught:
            w.array("/g/a", dtype, (3,), codec=codec)
        assert caught.value.kind == "unsupported"
        w.array("/g/a", dtype, (3,))[...] = np.ones(3, dtype)
    with pytest.raises(icecore.Error, match=r"^/b/g/a: .*icecore\.predict of") as caught:
        icecore.pack(tmp_path / "r.icecore", into=tmp_path / "p.icecore", group="/b", codec=codec)
    assert caught.value.kind == "unsupported"


def test_what_fails_behind_the_scenes_names_its_array(tmp_path: Path) -> None:
    decimal = {"name": "icecore.decimal", "configuration": {"scale": 1, "dtype": "int32"}}

    def run() -> None:
        with icecore.create(tmp_path / "e.icecore").writer() as w:
            a = w.array("/a", "f8", (0,), chunks=(4,), shards=(4,), codec=[decimal, {"name": "bytes"}])
            b = w.array("/b", "f8", (0,), chunks=(4,), shards=(4,), codec="none")
            for _ in range(100):
                a.append(np.full(4, 3.14))
                b.append(np.zeros(4))

    with pytest.raises(icecore.Error, match=r"^/a: icecore\.decimal: element 0 .* is 3\.14"):
        run()


def test_what_is_on_its_way_to_a_deleted_array_reaches_no_other(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as w:
        w.array("/a", "i4", (40,), chunks=(10,), shards=(10,), codec="none")[...] = np.arange(40)
        w.delete("/a")
        w.array("/a", "i4", (40,), chunks=(10,), shards=(10,), codec="none")[:10] = 7
    np.testing.assert_array_equal(icecore.open(repo_path)["/a"].read(), [7] * 10 + [0] * 30)
    with icecore.open(repo_path).writer() as w:
        w["/a"][20:30] = 1
        w.delete("/a")
        w.array("/b", "i4", (3,))[...] = 2
    assert list(icecore.open(repo_path)) == ["/b"]


def test_a_deleted_array_takes_nothing_more(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as w:
        old = w.array("/a", "f4", (0, 3))
        old.append([1, 2, 3])
        w.delete("/a")
        new = w.array("/a", "i4", (2,))
        with pytest.raises(icecore.Error, match="/a was deleted") as caught:
            old.append([4, 5, 6])
        assert caught.value.kind == "not-found"
        with pytest.raises(icecore.Error, match="/a was deleted"):
            old[:] = 0
        new[...] = [7, 8]
    assert icecore.open(repo_path)["/a"][...].tolist() == [7, 8]


def test_what_was_written_to_a_deleted_array_is_gone(repo_path: str) -> None:
    """Also where it was still on its way to the encoders, and another array is made at that path."""
    with icecore.create(repo_path).writer() as w:
        w.array("/g/x", "i4", (4, 4), chunks=(2, 2), codec="none")[...] = 7
        w.delete("/g")
        w.array("/g/x", "i4", (4, 2), chunks=(2, 2), codec="none")[:2] = 1
    assert icecore.open(repo_path)["/g/x"].read().tolist() == [[1, 1], [1, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize("how", ["group", "attrs"])
def test_the_root_takes_attributes_after_another_group(how: str) -> None:
    repo = icecore.create("memory://")
    with repo.writer() as w:
        w.group("/g")
        getattr(w, how)("/", {"title": "run"})
        getattr(w, how)("/", {"title": "run 2"})
    assert repo.at("main").attrs == {"title": "run 2"}
    assert repo.at("main").keys() == ["/g"]
    with pytest.raises(icecore.Error) as caught, repo.at("main").writer() as w:
        w.attrs("/none", {})
    assert caught.value.kind == "not-found"
