"""``codec="auto"`` of arrays that are written bit by bit, and lists of codecs that grow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.analyzer import adaptive_codec, choose_codec, drift_monitor
from icecore.analyzer.choose_codec import Planned

RNG = np.random.default_rng(31)


def waves(count: int, first: int = 0) -> np.ndarray:
    t, y, x = np.meshgrid(np.arange(first, first + count), np.arange(40), np.arange(50), indexing="ij")
    return (280 + 8 * np.sin(x / 7 + t / 5) * np.cos(y / 9) + RNG.normal(0, 1e-3, t.shape)).astype("f4")


def phrases(count: int) -> np.ndarray:
    """Nothing that numbers do: only repeats of a few strings of bytes."""
    parts = [RNG.bytes(52) for _ in range(20)]
    rows = b"".join(parts[i] for i in RNG.integers(0, 20, count * 8000 // 52 + 1))
    return np.frombuffer(rows[: count * 8000], "f4").reshape(count, 40, 50)


def same(path: Path, data: np.ndarray, name: str = "/x") -> icecore.Array:
    array = icecore.open(path)[name]
    assert isinstance(array, icecore.Array)
    np.testing.assert_array_equal(array[...].view("u4"), data.view("u4"))
    return array


def kept(array: icecore.Array) -> dict[str, Any]:
    record: dict[str, Any] = array._node.ours.get("codec", {})
    return record


def test_the_first_shard_decides(tmp_path: Path) -> None:
    data = waves(64)
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        array = w.array("/x", "f4", (0, 40, 50), chunks=(8, 40, 50), shards=(32, 40, 50), goal="archive")
        for row in data:
            array.append(row)
    stored = same(tmp_path / "r.icecore", data)
    assert kept(stored)["goal"] == "archive"
    assert drift_monitor.is_choice(stored.codecs), "the list may grow"
    with icecore.open(tmp_path / "r.icecore").writer() as w:
        w.array("/d", "f4", data.shape, chunks=(8, 40, 50), shards=(32, 40, 50), codec="default")[...] = data
    default = same(tmp_path / "r.icecore", data, "/d")
    assert kept(default) == {}
    assert stored.nbytes_stored < default.nbytes_stored


def test_a_small_first_commit_does_not_decide_for_good(tmp_path: Path) -> None:
    """Two rows of noise first: what is stored is written again with the shard, so is chosen again."""
    data = np.concatenate([RNG.random((2, 40, 50), "f4"), waves(62)])
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        array = w.array("/x", "f4", (0, 40, 50), chunks=(8, 40, 50), shards=(64, 40, 50))
        array.append(data[:2])
        first = w.commit()
        same(tmp_path / "r.icecore", data[:2])
        array.append(data[2:])
    stored = same(tmp_path / "r.icecore", data)
    assert kept(stored)["sample"]["of"] == 8
    old = icecore.open(f"{tmp_path}/r.icecore@{first}")["/x"]
    np.testing.assert_array_equal(old[...], data[:2])


def test_regions_of_an_array_of_known_shape(tmp_path: Path) -> None:
    data = waves(48)
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        array = w.array("/x", "f4", data.shape, chunks=(8, 40, 50), shards=(16, 40, 50), goal="speed")
        array[:3] = data[:3]
        array[:40] = data[:40]
        array[3:] = data[3:]
    stored = same(tmp_path / "r.icecore", data)
    assert not drift_monitor.is_choice(stored.codecs), "it doesn't grow"


def test_written_twice_as_a_whole(tmp_path: Path) -> None:
    data = waves(32)
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        array = w.array("/x", "f4", (0, 40, 50), chunks=(8, 40, 50), shards=(16, 40, 50))
        array.append(phrases(4))
        w.commit()
        array.resize((32, 40, 50))
        array[...] = data
        array.resize((20, 40, 50))
        array.append(data[20:])
    same(tmp_path / "r.icecore", data)


def only_pco(*_: Any, **__: Any) -> Planned:
    """As if a measurement had chosen it."""
    codecs = [{"name": "numcodecs.pcodec", "configuration": {"level": 8}}, {"name": "crc32c"}]
    return Planned(codecs, {"goal": "archive", "chosen": "pco-8", "losers": []})


def test_the_list_grows_with_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift_monitor, "_SHARE", 1.0)
    monkeypatch.setattr(adaptive_codec, "plan", only_pco)
    data = np.concatenate([waves(32), phrases(160)])
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        array = w.array("/x", "f4", (0, 40, 50), chunks=(8, 40, 50), shards=(16, 40, 50), goal="archive")
        for row in data[:96]:
            array.append(row)
    stored = same(tmp_path / "r.icecore", data[:96])
    lists = stored.codecs[0]["configuration"]["choices"]
    assert len(lists) >= 2
    assert "joined the list" in kept(stored)["drift"]
    assert kept(stored)["goal"] == "archive", "the rest of the record stays"
    # Another session goes on with the list; what was written before keeps its meaning.
    with icecore.open(tmp_path / "r.icecore").writer() as w:
        w["/x"].append(data[96:])
    stored = same(tmp_path / "r.icecore", data)
    assert stored.codecs[0]["configuration"]["choices"][: len(lists)] == lists
    assert stored.nbytes_stored < 0.5 * stored.nbytes


def test_a_pack_notes_drift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift_monitor, "_SHARE", 1.0)
    monkeypatch.setattr(choose_codec, "plan", only_pco)
    data = np.concatenate([waves(64), phrases(192)])
    np.save(tmp_path / "x.npy", data)
    options: dict[str, Any] = {
        "chunk": (8, 40, 50),
        "shard": (16, 40, 50),
        "memory": "1MB",
        "goal": "archive",
    }
    icecore.pack(tmp_path / "x.npy", tmp_path / "r.icecore", "/", **options)
    stored = same(tmp_path / "r.icecore", data)
    assert "costs" in kept(stored)["drift"]


def test_portable_and_strings(tmp_path: Path) -> None:
    data = waves(32)
    words = np.array(["some", "words", "again"] * 30_000, object)
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/x", "f4", (0, 40, 50), portable=True).append(data)
        w.array("/w", str).append(words)
        w.array("/none", "f4", (0, 3), goal="archive")
    stored = same(tmp_path / "r.icecore", data)
    assert not any(codec["name"].startswith(("icecore", "numcodecs")) for codec in stored.codecs)
    repo = icecore.open(tmp_path / "r.icecore")
    np.testing.assert_array_equal(repo["/w"][...], words)
    assert repo["/none"].shape == (0, 3)
    with pytest.raises(icecore.Error), repo.writer() as w:
        w.array("/y", goal="fast")


@pytest.mark.parametrize("first", ["resize", "append", "region"])
def test_codecs_are_never_chosen_anew_for_what_is_stored(tmp_path: Path, first: str) -> None:
    """An array that was resized before it had data kept its wish, and the next writer chose other codecs."""
    values = waves(120)
    path = tmp_path / "r.icecore"
    with icecore.create(path).writer() as w:
        a = w.array("/x", "f4", (0, 40, 50), codec="auto")
        if first == "append":
            a.append(values[:20])
        else:
            a.resize((20, 40, 50))
            a[:10] = values[:10]
            a[10:] = values[10:20]
            if first == "resize":
                a.resize((21, 40, 50))
                a.resize((20, 40, 50))
    assert "wish" not in same(path, values[:20])._node.ours
    with icecore.open(path).writer() as w:
        w["/x"].append(values[20:])
    same(path, values)


def test_a_wish_that_others_did_not_look_at(tmp_path: Path) -> None:
    values = waves(40)
    path = tmp_path / "r.icecore"
    with icecore.create(path).writer() as w:
        w.array("/x", "f4", values.shape, chunks=(20, 40, 50), shards=(20, 40, 50), codec="auto")
    with icecore.open(path).writer() as w:  # as another program would
        w._native.write("/x", (0, 0, 0), np.ascontiguousarray(values[:20]))
    with icecore.open(path).writer() as w:
        w["/x"][20:] = values[20:]
    same(path, values)


def test_a_new_array_in_place_of_another_has_its_codecs_chosen(tmp_path: Path) -> None:
    values = waves(200)
    path = tmp_path / "r.icecore"
    icecore.create(path)
    for _ in range(2):
        with icecore.open(path).writer() as w:
            if "/x" in icecore.open(path):
                w.delete("/x")
            w.array("/x", "f4", values.shape, codec="auto")[...] = values
        assert kept(same(path, values))


def test_systems_that_bind_no_process_to_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS has no list of the cores that a process may use."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    repo = icecore.create("memory://")
    with repo.writer() as w:
        w.array("/x", "i4", (100_000,))[...] = np.arange(100_000)
    assert repo.at("main")["/x"].nbytes_stored < 40_000


def test_short_lived_writers_measure_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer for each row: one in 32 rows (4 chunks here) measures, and the next one confirms a change."""
    monkeypatch.setattr(adaptive_codec, "plan", only_pco)
    looks, original = 0, drift_monitor.Watch._measure

    def counted(self: drift_monitor.Watch, *given: Any) -> Any:
        nonlocal looks
        looks += 1
        return original(self, *given)

    monkeypatch.setattr(drift_monitor.Watch, "_measure", counted)
    monkeypatch.setattr(adaptive_codec, "_EVERY", 4)
    data = np.concatenate([waves(40), phrases(110)])
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/x", "f4", (0, 40, 50), chunks=(8, 40, 50)).append(data[:24])
    for row in data[24:]:
        with icecore.open(tmp_path / "r.icecore").writer() as w:
            w["/x"].append(row)
    assert 3 <= looks <= 12, "every 32 rows that are written or merged, and to confirm; 126 were appended"
    stored = same(tmp_path / "r.icecore", data)
    assert len(stored.codecs[0]["configuration"]["choices"]) >= 2
    assert "joined the list" in kept(stored)["drift"]
    assert kept(stored)["behind"] == 0
