"""Blocks of one step, written by several processes and committed by one."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.writing.parts import Parts, Written

RANKS = 3


def block(step: int, rank: int) -> np.ndarray:
    return np.random.default_rng([step, rank]).normal(280, 5, (1, 8, 20)).astype("f4")


def rank_of_model(rank: int, parts: Parts, step: int) -> Written:
    part = parts.open()
    part.write("/run/t", (step, 8 * rank, 0), block(step, rank))
    if rank == 0:
        part.write("/run/time", (step,), [step])
    return part.close()


def test_the_ranks_of_a_model(tmp_path: Path) -> None:
    """Each step is one commit; no data passes through the process that commits."""
    repo = icecore.create(tmp_path / "r")
    with multiprocessing.get_context("spawn").Pool(2) as pool, repo.writer("model") as w:
        t = w.array(
            "/run/t",
            "f4",
            (0, 8 * RANKS, 20),
            ("time", "y", "x"),
            chunks=(1, 8, 20),
            shards=(1, 8, 20),
            codec="zstd",
        )
        time = w.array("/run/time", "f8", (0,), ("time",), chunks=(1,), shards=(1,), codec="zstd")
        for step in range(3):
            t.resize((step + 1, 8 * RANKS, 20))
            time.resize((step + 1,))
            parts = w.parts()
            written = pool.starmap(rank_of_model, [(rank, parts, step) for rank in range(RANKS)])
            w.merge(written)
            w.commit(f"step {step}")
    repo = icecore.open(tmp_path / "r")
    assert [each.message for each in repo.log()][:3] == ["step 2", "step 1", "step 0"]
    expected = np.stack(
        [np.concatenate([block(step, rank)[0] for rank in range(RANKS)]) for step in range(3)]
    )
    np.testing.assert_array_equal(repo["/run/t"][...], expected)
    assert repo["/run/time"][...].tolist() == [0, 1, 2]
    assert not repo.verify(deep=True)


def test_blocks_that_other_processes_would_overwrite(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "r")
    with repo.writer() as w:
        w.array("/t", "f4", (10, 9), chunks=(4, 5), shards=(4, 5), codec="zstd")
        parts = w.parts()
        part = parts.open()
        for start, shape, what in (
            ((0, 0), (3, 9), "0 to 3 along axis 0"),
            ((1, 0), (4, 9), "1 to 5 along axis 0"),
            ((0, 5), (4, 3), "5 to 8 along axis 1"),
            ((8, 0), (4, 9), "has 10 elements"),
            ((0,), (4,), "2 axes"),
        ):
            with pytest.raises(icecore.Error, match=what) as caught:
                part.write("/t", start, np.zeros(shape))
            assert caught.value.kind == "invalid"
        with pytest.raises(icecore.Error, match="no array /u"):
            part.write("/u", (0,), [1])
        part.write("/t", (8, 5), np.ones((2, 4)))  # the end of the array
        other = parts.open()
        other.write("/t", (8, 0), np.full((2, 9), 3))
        written = [part.close(), other.close()]
        with pytest.raises(icecore.Error, match="chunk 5 was written by two processes"):
            w.merge(written)
        w.merge(written[1:])
    found = icecore.open(tmp_path / "r")["/t"][...]
    assert found[8:].tolist() == [[3] * 9] * 2
    assert not found[:8].any()


def test_a_repository_in_memory_has_no_parts() -> None:
    with icecore.create("memory://").writer() as w, pytest.raises(icecore.Error, match="in memory"):
        w.parts()


def test_rounded_arrays_and_existing_ones(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "r")
    values = np.random.default_rng(0).normal(280, 5, (6, 4))
    with repo.writer() as w:
        w.array("/a", "f8", (6, 4), chunks=(3, 4), shards=(3, 4), codec="round(rel=1e-3)+zstd")
        w.array("/b", "i4", (6,), chunks=(3,), shards=(3,))[...] = np.arange(6)
    with icecore.open(tmp_path / "r").writer() as w:
        _ = w["/a"], w["/b"]
        part = w.parts().open()
        part.write("/a", (3, 0), values[3:])
        part.write("/b", (3,), [7, 8, 9])
        w.merge([part.close()])
    repo = icecore.open(tmp_path / "r")
    assert repo["/b"][...].tolist() == [0, 1, 2, 7, 8, 9]
    error = np.abs(repo["/a"][3:] / values[3:] - 1).max()
    assert 1e-5 < error <= 1e-3
