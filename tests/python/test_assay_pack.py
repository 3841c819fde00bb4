"""``codec="auto"``: what a pack measures, chooses, keeps, and how well it foresees the outcome."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import cli
from icecore.analyzer.measure import Goal

RNG = np.random.default_rng(23)
CORE = {"bytes", "vlen-utf8", "gzip", "zstd", "blosc", "crc32c"}


def smooth(shape: tuple[int, ...]) -> np.ndarray:
    axes = np.meshgrid(*[np.linspace(0, 3, n) for n in shape], indexing="ij")
    return (280 + 10 * np.sin(sum(axes)) + RNG.normal(0, 1e-3, shape)).astype("f4")


def packed(tmp_path: Path, data: np.ndarray, name: str = "r", **options: Any) -> icecore.Array:
    np.save(tmp_path / "x.npy", data)
    icecore.pack(tmp_path / "x.npy", tmp_path / f"{name}.icecore", "/", **options)
    array = icecore.open(tmp_path / f"{name}.icecore")["/x"]
    assert isinstance(array, icecore.Array)
    np.testing.assert_array_equal(array[...], data)
    return array


def record(array: icecore.Array) -> dict[str, Any]:
    kept: dict[str, Any] = array._node.ours["codec"]
    return kept


@pytest.mark.parametrize("goal", ["archive", "balanced", "speed"])
def test_goals(tmp_path: Path, goal: str) -> None:
    data = smooth((40, 60, 80))
    array = packed(tmp_path, data, goal=goal)
    kept = record(array)
    assert kept["goal"] == goal
    assert ("bandwidth" in kept) == (goal == "balanced")
    assert kept["losers"]
    assert kept["chosen"] not in [name for name, *_ in kept["losers"]]
    assert kept["ratio"] == pytest.approx(array.nbytes / array.nbytes_stored, rel=0.03)
    assert array.attrs == {}


def test_archive_is_no_larger_than_the_others(tmp_path: Path) -> None:
    data = smooth((40, 60, 80))
    stored = {
        goal: packed(tmp_path, data, goal, goal=goal).nbytes_stored
        for goal in ("archive", "balanced", "speed")
    }
    default = packed(tmp_path, data, "d", codec="default")
    assert stored["archive"] <= min(stored["balanced"], stored["speed"], default.nbytes_stored)
    assert default._node.ours == {}


def test_a_slow_line_wants_fewer_bytes(tmp_path: Path) -> None:
    data = smooth((40, 60, 80))
    slow = packed(tmp_path, data, "slow", bandwidth="1MB/s")
    fast = packed(tmp_path, data, "fast", bandwidth=1e12)
    assert slow.nbytes_stored < fast.nbytes_stored
    assert record(slow)["bandwidth"] == 1e6


def test_a_chunk_in_its_reference_has_no_checksum_of_its_own(tmp_path: Path) -> None:
    days = np.arange(0.5, 20_000)
    array = packed(tmp_path, days, "days", goal="archive")
    assert array.nbytes_stored <= 64
    assert "crc32c" not in {codec["name"] for codec in array.codecs}
    assert icecore.open(tmp_path / "days.icecore").verify(deep=True) == []
    # The checksum of its reference is the manifest's: no byte of it can be flipped unseen.
    (manifest,) = (tmp_path / "days.icecore" / "manifests").iterdir()
    whole = manifest.read_bytes()
    for at in range(0, len(whole), 5):
        manifest.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        with pytest.raises(icecore.Error):
            icecore.open(tmp_path / "days.icecore")["/x"][...]
    manifest.write_bytes(whole)
    with icecore.open(tmp_path / "days.icecore").writer("longer now") as w:
        w["/x"][5:8] = [1.0, 2.0, 3.0]
    changed = icecore.open(tmp_path / "days.icecore")["/x"]
    days[5:8] = [1.0, 2.0, 3.0]
    assert changed.codecs[-1]["name"] == "crc32c"
    assert np.array_equal(changed[...], days)
    with icecore.open(tmp_path / "days.icecore").writer("grown") as w:
        w["/x"].append(np.random.default_rng(0).normal(0, 1, 30_000))
    assert np.array_equal(icecore.open(tmp_path / "days.icecore")["/x"][:20_000], days)
    other = packed(tmp_path, smooth((20, 30, 40)), "field", goal="archive")
    assert other.codecs[-1]["name"] == "crc32c" or other.codecs[0]["name"] == "icecore.choice"
    with icecore.create(tmp_path / "g.icecore").writer() as w:
        growing = w.array("/x", "f8", (0,), chunks=(20_000,), goal="archive")
        growing.append(days)
    assert "crc32c" in json.dumps(icecore.open(tmp_path / "g.icecore")["/x"].codecs)


@pytest.mark.parametrize("goal", ["archive", "balanced"])
def test_portable(tmp_path: Path, goal: str) -> None:
    array = packed(tmp_path, smooth((40, 60, 80)), goal=goal, portable=True)
    assert {codec["name"] for codec in array.codecs} <= CORE


def test_shards_count_stored_bytes(tmp_path: Path) -> None:
    """Shards hold as much more as compression and memory allow; an array written again shares them still."""
    data = np.repeat(np.arange(3_000_000, dtype="i4"), 8)
    np.save(tmp_path / "x.npy", data)
    icecore.pack(tmp_path / "x.npy", tmp_path / "r", group="/", codec="none")
    plain = icecore.open(tmp_path / "r")["/x"]
    icecore.pack(tmp_path / "x.npy", tmp_path / "r", group="/", replace=True, memory="300MB")
    packed = icecore.open(tmp_path / "r")["/x"]
    assert plain.shards is not None
    assert packed.shards is not None
    assert 4 * plain.shards[0] <= 32 << 20 < 4 * packed.shards[0] <= 128 << 20
    assert np.array_equal(packed[...], data)
    data[0] = -1
    np.save(tmp_path / "x.npy", data)
    report = icecore.pack(tmp_path / "x.npy", tmp_path / "r", group="/", replace=True, memory="300MB")
    again = icecore.open(tmp_path / "r")["/x"]
    assert again.shards == packed.shards
    assert packed.shards[0] < data.size <= 2 * packed.shards[0]
    assert [row.why for row in report.rows] == ["1 chunk as before"]
    assert again[0] == -1


def test_many_chunks_are_foreseen_from_some(tmp_path: Path) -> None:
    array = packed(tmp_path, smooth((200, 100, 200)), chunk=(10, 50, 50), shard=(100, 100, 200))
    kept = record(array)
    assert kept["sample"]["chunks"] < kept["sample"]["of"] == 160
    assert kept["ratio"] == pytest.approx(array.nbytes / array.nbytes_stored, rel=0.03)


def test_chunks_that_disagree_choose_each(tmp_path: Path) -> None:
    """Half of the chunks count upwards, half repeat phrases: no one codec is good at both."""
    counting = np.arange(200_000, dtype="i4").cumsum().astype("i4").reshape(20, 10_000)
    phrases = [RNG.bytes(37) for _ in range(20)]
    text = b"".join(phrases[i] for i in RNG.integers(0, 20, 22_000))
    repeating = np.frombuffer(text[:800_000], "i4").reshape(20, 10_000)
    data = np.stack([counting, repeating], 1).reshape(40, 10_000)
    # A slow line, but no time for codecs that choose for themselves.
    array = packed(tmp_path, data, bandwidth="1MB/s", chunk=(1, 10_000), shard=(40, 10_000))
    assert [codec["name"] for codec in array.codecs] == ["icecore.choice"]
    lists = array.codecs[0]["configuration"]["choices"]
    assert 2 <= len(lists) <= 4
    assert array.nbytes_stored < 0.1 * array.nbytes


KINDS = {
    "constant": np.full((200, 300), 7.5, "f4"),
    "zero": np.zeros((200, 300), "f8"),
    "nan": np.full((200, 300), np.nan, "f8"),
    "size 0": np.empty((0, 5), "f4"),
    "scalar": np.array(3.5),
    "bool": RNG.random((300, 400)) > 0.9,
    "int": RNG.integers(-5, 500, (300, 200)).astype("i4"),
    "int8": RNG.integers(-5, 50, (300, 400)).astype("i1"),
    "uint64": RNG.integers(0, 2**63, 20_000).astype("u8"),
    "complex": (RNG.random(20_000) + 1j).astype("c8"),
    "half": RNG.random(50_000).astype("f2"),
    "bytes": np.array([b"ab", b"cde"] * 20_000, "S3"),
    "text": np.array(["ä", "日本語"] * 20_000, "U3"),
    "time": np.arange(40_000).astype("M8[s]"),
}


@pytest.mark.parametrize("goal", ["archive", "balanced", "speed"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(tmp_path: Path, kind: str, goal: str) -> None:
    packed(tmp_path, KINDS[kind], goal=goal)


def test_structured_and_strings_of_any_length(tmp_path: Path) -> None:
    rows = np.zeros(10_000, [("a", "i4"), ("b", "f8")])
    rows["a"], rows["b"] = np.arange(10_000), RNG.random(10_000)
    words = np.array(["some", "words", "again"] * 10_000, object)
    with icecore.create(tmp_path / "s.icecore").writer() as w:
        w.array("/rows", rows.dtype, rows.shape)[...] = rows
        w.array("/words", str, words.shape)[...] = words
    icecore.pack(str(tmp_path / "s.icecore"), tmp_path / "r.icecore", goal="archive")
    repo = icecore.open(tmp_path / "r.icecore")
    np.testing.assert_array_equal(repo["/rows"][...], rows)
    np.testing.assert_array_equal(repo["/words"][...], words)
    assert "chosen" in repo["/words"]._node.ours["codec"]


def test_goals_that_are_none() -> None:
    for arguments, hint in (
        (("fast",), "balanced"),
        (("balanced", "soon"), "200MB/s"),
        (("balanced", -1), "200MB/s"),
    ):
        with pytest.raises(icecore.Error, match=hint):
            Goal.of(*arguments)
    assert Goal.of("balanced", "20 MB/s").bandwidth == 20e6


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", smooth((40, 60, 80)))
    into = str(tmp_path / "r.icecore")
    arguments = [str(tmp_path / "x.npy"), "--into", into, "--group", "/", "--for", "balanced"]
    assert cli.run(["pack", *arguments, "--bandwidth", "50MB/s"]) == 0
    capsys.readouterr()
    assert cli.run(["info", into, "/x"]) == 0
    out = capsys.readouterr().out
    assert "for balanced at 50 MB/s" in out
    assert "instead of" in out
    assert "a sample of" in out, "its ratio is not that of the array"
    assert cli.run(["info", into, "/x", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measured"]["bandwidth"] == 50e6
    assert cli.run(["pack", *arguments[:-1], "wishes", "--replace"]) == 2
    assert "archive or balanced or speed" in capsys.readouterr().err
