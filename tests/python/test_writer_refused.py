"""What a writer refuses at once, before there is anything to commit."""

from __future__ import annotations

import datetime
import decimal
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest

HOLDS_ITSELF: list[Any] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)


def test_a_group_where_an_array_is(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "r.icecore")
    with repo.writer() as w:
        w.array("/a", "f4", (2,), attrs={"units": "K"})
        for attrs in (None, {"units": "m"}):
            with pytest.raises(icecore.Error, match="/a is an array") as caught:
                w.group("/a", attrs)
            assert caught.value.kind == "exists"
        w.group("/g", {"x": 1})
        w.group("/g")
    again = icecore.open(repo.url)
    assert again["/a"].attrs == {"units": "K"}
    assert again["/g"].attrs == {"x": 1}


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1, 2},
        range(3),
        [1, {"a": [object()]}],
        np.array([object()], object),
        np.ma.array([1, 2], mask=[False, True]),
        bytearray(b"ab"),
        len,
        int,
        "\ud800",
        HOLDS_ITSELF,
    ],
    ids=lambda value: type(value).__name__,
)
def test_attributes_that_json_has_no_form_for(tmp_path: Path, value: Any) -> None:
    repo = icecore.create(tmp_path / "r.icecore")
    with repo.writer() as w:
        w.array("/a", "f4", (2,), attrs={"units": "K"})
        ways = (
            lambda: w.attrs("/a", {"odd": value}),
            lambda: w.group("/g", {"odd": value}),
            lambda: w.array("/b", "f4", (2,), attrs={"odd": value}),
        )
        for way, path in zip(ways, ("/a", "/g", "/b"), strict=True):
            with pytest.raises(icecore.Error, match=f"{path}: the attribute 'odd' can't be stored") as caught:
                way()
            assert (caught.value.kind, bool(caught.value.hint)) == ("invalid", True)
    again = icecore.open(repo.url)
    assert list(again) == ["/a"]
    assert again["/a"].attrs == {"units": "K"}


@pytest.mark.parametrize("attrs", [None, [1], "ab", {None: 1}, {("a",): 1}])
def test_what_are_no_attributes(tmp_path: Path, attrs: Any) -> None:
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.group("/g")
        with pytest.raises(icecore.Error, match="/g") as caught:
            w.attrs("/g", attrs)
        assert caught.value.kind == "invalid"


def test_attributes_that_json_has_a_form_for(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "r.icecore")
    attrs = {
        "complex": 1 + 2j,
        "bytes": b"ab",
        "time": datetime.datetime(2020, 1, 2),
        "day": np.datetime64("2020-01-02"),
        "decimal": decimal.Decimal("1.5"),
        "scalar": np.int64(3),
        "array": np.arange(3),
        "nested": {"a": {"b": [1, None, True, (2,)]}},
    }
    with repo.writer() as w:
        w.group("/g", attrs)
    assert icecore.open(repo.url)["/g"].attrs == {
        "complex": 1 + 2j,
        "bytes": "ab",
        "time": "2020-01-02 00:00:00",
        "day": "2020-01-02",
        "decimal": "1.5",
        "scalar": 3,
        "array": [0, 1, 2],
        "nested": {"a": {"b": [1, None, True, [2]]}},
    }


SHARDED = [
    {
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": [1],
            "codecs": [{"name": "bytes"}, {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}],
            "index_codecs": [{"name": "bytes"}, {"name": "crc32c"}],
        },
    }
]


@pytest.mark.parametrize(
    ("codec", "named"),
    [
        ("lz4", "numcodecs.lz4"),
        ("zlib:3", "numcodecs.zlib"),
        ("shuffle+zstd", "numcodecs.shuffle"),
        ("planes", "icecore.byteplanes"),
        ('[{"name": "bytes"}, {"name": "icecore.predict"}]', "icecore.predict"),
        (json.dumps(SHARDED), "numcodecs.lz4"),
        (SHARDED, "numcodecs.lz4"),
    ],
)
def test_codecs_that_are_not_portable(tmp_path: Path, codec: Any, named: str) -> None:
    np.save(tmp_path / "x.npy", np.arange(5.0))
    writer = icecore.create(tmp_path / "r.icecore").writer()
    ways = (
        lambda: icecore.pack(tmp_path / "x.npy", tmp_path / "p.icecore", codec=codec, portable=True),
        lambda: writer.array("/x", "f4", (5,), codec=codec, portable=True),
    )
    for way in ways:
        with pytest.raises(icecore.Error, match=re.escape(named)) as caught:
            way()
        assert caught.value.kind == "codec"
        assert "portable" in caught.value.hint
    assert not (tmp_path / "p.icecore").exists()


@pytest.mark.parametrize(
    "codec", ["auto", "default", "none", "gzip", "zstd:9", "blosc", '[{"name": "bytes"}]']
)
def test_codecs_that_are_portable(tmp_path: Path, codec: str) -> None:
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/x", "f4", (5,), codec=codec, portable=True)[...] = 1


@pytest.mark.parametrize(
    ("bandwidth", "bytewise"), [("100Mb/s", "12.5MB/s"), ("1 Gb/s", "0.125GB/s"), ("8Kb", "1KB/s")]
)
def test_bandwidths_in_bits(bandwidth: str, bytewise: str) -> None:
    from icecore.analyzer.measure import Goal

    with pytest.raises(icecore.Error, match="bits") as caught:
        Goal.of("balanced", bandwidth)
    assert caught.value.kind == "invalid"
    assert bytewise in caught.value.hint
    assert Goal.of("balanced", bytewise).bandwidth > 0
    assert Goal.of("balanced", "100mb/s").bandwidth == 100e6


@pytest.mark.parametrize("lengths", [3, "abc", (2.5,), (0,), (True,), {"a": "b"}])
def test_chunks_that_are_no_lengths(tmp_path: Path, lengths: Any) -> None:
    np.save(tmp_path / "x.npy", np.arange(5.0))
    for name in ("chunk", "shard"):
        with pytest.raises(icecore.Error, match="chunks or shards of") as caught:
            icecore.pack(tmp_path / "x.npy", tmp_path / "r.icecore", **{name: lengths})
        assert caught.value.kind == "invalid"
        with icecore.create("memory://").writer("w") as w:
            with pytest.raises(icecore.Error, match="chunks or shards of"):
                w.array("/x", shape=(5,), dtype="f4", **{name + "s": lengths})
            w.array("/y", shape=(5,), dtype="f4")
    assert not (tmp_path / "r.icecore").exists()


@pytest.mark.parametrize("shape", [3, "abc", (2.5,), None])
def test_shapes_that_are_none(shape: Any) -> None:
    with icecore.create("memory://").writer("w") as w, pytest.raises(icecore.Error, match="shape must be"):
        w.array("/x", shape=shape, dtype="f4")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_full_output_is_named_and_the_commit_too(tmp_path: Path, form: list[str]) -> None:
    np.save(tmp_path / "x.npy", np.arange(5.0))
    into = str(tmp_path / "r.icecore")
    arguments = ["pack", str(tmp_path / "x.npy"), "--into", into, *form]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "icecore", *arguments], stdout=full, stderr=subprocess.PIPE
        )
    said = ran.stderr.decode()
    repo = icecore.open(into)
    assert ran.returncode == 2
    assert "error[io]: standard output: " in said
    assert f"{into}: snapshot {repo.snapshot_id} was committed" in said
