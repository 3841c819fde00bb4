"""Batches for training: every sample once, every chunk once, an order that seed and epoch determine."""

from __future__ import annotations

import pickle
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.integrations import batches as module

T = np.arange(50 * 12 * 9, dtype="i4").reshape(50, 12, 9)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> icecore.Repo:
    made = icecore.create(tmp_path_factory.mktemp("batches") / "r.icecore")
    with made.writer() as w:
        w.array("/t", "i4", T.shape, ("time", "y", "x"), chunks=(8, 5, 9), codec="zstd")[...] = T
        w.array("/u", "f4", (50, 12), ("time", "y"), chunks=(10, 4), codec="zstd")[...] = T[:, :, 0]
        w.array("/table/a", "i8", (1000,), chunks=(64,))[...] = np.arange(1000)
        w.array("/table/b", "f4", (1000, 3), chunks=(100, 3))[...] = np.arange(3000).reshape(1000, 3)
        w.array("/table/name", str, (1000,), chunks=(64,))[...] = np.array([str(i) for i in range(1000)], "O")
    return made.at("main")


def rows(found: Any) -> list[int]:
    return [int(i) for batch in found for i in batch["a"]]


@pytest.mark.parametrize("shuffle", [None, 3])
@pytest.mark.parametrize("memory", [None, "20kB"])
def test_every_row_is_in_one_batch(repo: icecore.Repo, shuffle: int | None, memory: str | None) -> None:
    batches = repo.batches("/table", batch=37, shuffle=shuffle, memory=memory)
    if memory:
        assert batches._per_pool < batches._grid.blocks
    epochs = [[*batches] for _ in range(2)]
    for epoch in epochs:
        assert len(epoch) == len(batches) == 28
        assert [len(each["a"]) for each in epoch] == [37] * 27 + [1]
        assert sorted(rows(epoch)) == list(range(1000))
        for each in epoch:
            assert each["b"].shape == (len(each["a"]), 3)
            assert np.array_equal(each["b"][:, 0], 3 * each["a"])
            assert each["name"].tolist() == [str(i) for i in each["a"]]
    if shuffle is None:
        assert rows(epochs[0]) == rows(epochs[1]) == list(range(1000))
    else:
        assert rows(epochs[0]) != rows(epochs[1])
        assert rows(repo.batches("/table", batch=37, shuffle=shuffle, memory=memory)) == rows(epochs[0])
        batches.epoch = 1
        assert rows(batches) == rows(epochs[1])


def test_boxes_are_samples(repo: icecore.Repo) -> None:
    batches = repo.batches(["/t", "/u"], {"time": 7, "y": 3}, batch=5, shuffle=1)
    assert batches.samples == 7 * 4
    seen = []
    for each in batches:
        assert each["/t"].shape[1:] == (7, 3, 9)
        for t, u in zip(each["/t"], each["/u"], strict=True):
            time, y, x = np.argwhere(t.flat[0] == T)[0].tolist()
            assert (time % 7, y % 3, x) == (0, 0, 0)
            assert np.array_equal(t, T[time : time + 7, y : y + 3])
            assert np.array_equal(u, T[time : time + 7, y : y + 3, 0])
            seen.append((time, y))
    assert sorted(seen) == [(i * 7, j * 3) for i in range(7) for j in range(4)]


@pytest.mark.parametrize(
    "sample", [{"time": 1}, {"time": 4}, {"time": 16, "x": 3}, {"y": 5}, {"time": 3, "y": 2}]
)
def test_every_chunk_is_read_once(repo: icecore.Repo, sample: dict[str, int]) -> None:
    """The chunks of all blocks add up to those of the array, without the ones behind the last sample."""
    batches = repo.batches("/t", sample, memory="1GB")
    array, grid = repo["/t"], batches._grid
    counted = sum(array.plan(grid.box(array, block)).chunks for block in range(grid.blocks))
    stops = [
        sample[dim] * (n // sample[dim]) if dim in sample else n
        for dim, n in zip(array.dims, array.shape, strict=True)
    ]
    assert counted == array.plan(tuple(slice(0, stop) for stop in stops)).chunks


def test_a_pool_is_one_plan(repo: icecore.Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[int]] = []
    read = module.Batches._read
    monkeypatch.setattr(
        module.Batches, "_read", lambda self, blocks: calls.append(blocks) or read(self, blocks)
    )
    batches = repo.batches("/t", {"time": 1}, memory=4 * 8 * 12 * 9 * 4)
    assert sum(len(each["/t"]) for each in batches) == 50
    assert calls == [[0, 1], [2, 3], [4, 5], [6]]


def test_workers_share_an_epoch(repo: icecore.Repo) -> None:
    for count in (1, 2, 3, 16, 40):
        parts = [repo.batches("/table/a", batch=10, shuffle=5, worker=(i, count)) for i in range(count)]
        found = [[int(i) for each in part for i in each["/table/a"]] for part in parts]
        assert sorted(number for each in found for number in each) == list(range(1000))
        for part in parts:
            part.epoch = 0
        assert [len(part) for part in parts] == [-(-len(each) // 10) for each in found]
    again = pickle.loads(pickle.dumps(repo.batches("/table", batch=100, shuffle=5)))
    assert sorted(rows(again)) == list(range(1000))


def test_the_last_batch_may_be_left_out(repo: icecore.Repo) -> None:
    batches = repo.batches("/table", batch=300, drop_last=True)
    assert [len(each["a"]) for each in batches] == [300] * 3
    assert len(batches) == 3


def test_tensors_share_memory(repo: icecore.Repo) -> None:
    each = next(iter(repo.batches("/table/a", batch=8)))["/table/a"]
    assert np.shares_memory(np.from_dlpack(each), each)
    torch = pytest.importorskip("torch")
    assert next(iter(repo.batches("/table/a", kind="torch")))["/table/a"].dtype == torch.int64


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"paths": "/nope"}, "not-found"),
        ({"paths": ["/t", "/table/a"]}, "mismatch"),
        ({"paths": "/t", "sample": {"z": 1}}, "selection"),
        ({"paths": "/t", "sample": {"time": 51}}, "selection"),
        ({"paths": "/t", "sample": {"time": 0}}, "invalid"),
        ({"paths": "/t", "sample": {}}, "invalid"),
        ({"paths": "/t", "batch": 0}, "invalid"),
        ({"paths": "/t", "worker": (2, 2)}, "invalid"),
        ({"paths": "/t", "kind": "jax"}, "invalid"),
        ({"paths": "/t", "sample": {"time": 7}, "memory": "3kB"}, "memory"),
    ],
)
def test_errors(repo: icecore.Repo, options: dict[str, Any], kind: str) -> None:
    with pytest.raises(icecore.Error) as caught:
        repo.batches(**options)
    assert caught.value.kind == kind
    assert caught.value.hint
