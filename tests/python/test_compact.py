"""Compaction: short chunks become planned ones, all values stay, full chunks are not written again."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.cli import table
from icecore.writing.compaction import _cut, _regions
from icecore.writing.row_grid import RowGrid
from typer.testing import CliRunner

RNG = np.random.default_rng(41)
NOW = timedelta(0)


def chunk_lengths(repo: icecore.Repo, path: str) -> list[int]:
    node = repo[path]._node  # type: ignore[union-attr]
    return RowGrid.of(node.document, 1).lengths.tolist()


def grow(path: Path, rows: np.ndarray, step: int = 1, name: str = "/x", **options: object) -> None:
    """Append ``rows``, one commit for every ``step`` of them."""
    repo = icecore.open(path) if path.exists() else icecore.create(path)
    for at in range(0, len(rows), step):
        with repo.at("main").writer(**options) as w:  # type: ignore[arg-type]
            if at == 0 and name not in repo.at("main"):
                attrs = {"units": "K"}
                w.array(name, rows.dtype, (0, *rows.shape[1:]), ("time", None), attrs=attrs, codec="zstd")
            w[name].append(rows[at : at + step])


@pytest.mark.parametrize("seed", range(8))
def test_cuts_keep_all_rows_and_full_chunks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    unit = int(rng.integers(2, 40))
    lengths = rng.integers(1, unit + 1, 200)
    lengths[rng.random(200) < rng.random()] = unit
    grid = RowGrid(unit, lengths)
    regions = _regions(grid)
    merged = np.array([*_cut(grid, regions)])
    assert merged.sum() == lengths.sum()
    assert (merged <= unit).all()
    assert all(first < last for first, last in regions)
    after = RowGrid(unit, merged)
    assert _regions(after) == [] or len(after.lengths) < len(lengths)
    bounds, before = np.cumsum(merged), np.cumsum(lengths)
    outside = [b for b in before if not any(first < b < last for first, last in regions)]
    assert set(outside) <= set(bounds.tolist()), "chunks outside of the runs stay"
    for most in (1, unit, 5 * unit, 10**9):
        limited = _regions(grid, most)
        assert sum(last - first for first, last in limited) <= most
        assert sum(_cut(grid, limited)) == lengths.sum()


def test_values_stay_and_the_tail_is_planned(tmp_path: Path) -> None:
    path, rows = tmp_path / "r", RNG.normal(size=(150, 500))
    grow(path, rows)
    with icecore.open(path).writer() as w:
        w.array("/y", "i4", (7,))[...] = np.arange(7)
    before = icecore.open(path)
    short = chunk_lengths(before, "/x")
    report = before.compact(older=NOW)
    after = icecore.open(path)
    assert report.snapshot_id == after.snapshot_id
    lengths = chunk_lengths(after, "/x")
    assert report.arrays == {"/x": (len(short), len(lengths))}
    assert len(lengths) < len(short)
    assert sum(length < max(lengths) for length in lengths) <= 1
    np.testing.assert_array_equal(after["/x"].read(), rows)
    np.testing.assert_array_equal(before["/x"].read(), rows)
    assert after["/x"].attrs == {"units": "K"}
    assert after["/x"].codecs == before["/x"].codecs
    assert after.verify(deep=True, history=True) == []
    assert after.compact(older=NOW).arrays == {}, "nothing is left to merge"
    assert icecore.open(path).snapshot_id == after.snapshot_id, "no empty commit"
    grow(path, rows[:40])
    np.testing.assert_array_equal(icecore.open(path)["/x"].read(), np.concatenate([rows, rows[:40]]))


def test_full_chunks_keep_their_bytes(tmp_path: Path) -> None:
    """Chunks of 100 rows; short ones at both ends of ten full ones, which only get other numbers."""
    path, rows = tmp_path / "r", RNG.normal(size=(1100, 1000))
    with icecore.create(path).writer() as w:
        w.array("/x", "f8", (0, 1000), chunks=(100, 1000), codec="zstd").append(rows[:10])
    at = 10
    for step in (20, 30, 1000, 3, 4, 5):
        with icecore.open(path).writer() as w:
            w["/x"].append(rows[at : at + step])
        at += step
    before = set((path / "chunks").iterdir())
    assert chunk_lengths(icecore.open(path), "/x") == [10, 20, 30, *[100] * 10, 3, 4, 5]
    report = icecore.open(path).compact("/x", NOW)
    assert chunk_lengths(icecore.open(path), "/x") == [60, *[100] * 10, 12]
    assert report.bytes == 72 * 8000
    new = set((path / "chunks").iterdir()) - before
    assert sum(file.stat().st_size for file in new) < 72 * 8000 * 1.02
    np.testing.assert_array_equal(icecore.open(path)["/x"].read(), rows[:at])
    np.testing.assert_array_equal(icecore.open(path)["/x"][55:65], rows[55:65])


def test_budget_goes_on_with_the_next_call(tmp_path: Path) -> None:
    path, rows = tmp_path / "r", RNG.normal(size=(90, 500))
    grow(path, rows)
    counts = [len(chunk_lengths(icecore.open(path), "/x"))]
    for _ in range(20):
        report = icecore.open(path).compact(older=NOW, budget=20 * 4000)
        np.testing.assert_array_equal(icecore.open(path)["/x"].read(), rows)
        if not report.arrays:
            break
        assert report.bytes <= 20 * 4000
        counts.append(len(chunk_lengths(icecore.open(path), "/x")))
        assert counts[-1] < counts[-2]
    assert len(counts) >= 2


def test_young_and_linked_arrays_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "r"
    grow(path, RNG.normal(size=(20, 500)))
    report = icecore.open(path).compact()
    assert report.arrays == {}
    assert list(report.skipped) == ["/x"]
    assert "/x" in str(report)
    with pytest.raises(icecore.Error) as caught:
        icecore.open(path).compact("/nothing")
    assert caught.value.kind == "not-found"


def test_strings_and_other_axes(tmp_path: Path) -> None:
    path = tmp_path / "r"
    words = np.array([f"word {n}" * (n % 5) for n in range(60)], object)
    cube = RNG.integers(0, 9, (60, 70, 90)).astype("i4")
    with icecore.create(path).writer() as w:
        w.array("/s", str, (0,))
        w.array("/c", "i4", (0, 70, 90), chunks=(16, 32, 64))
    for n in range(60):
        with icecore.open(path).writer() as w:
            w["/s"].append(words[n : n + 1])
            w["/c"].append(cube[n])
    icecore.open(path).compact(older=NOW)
    repo = icecore.open(path)
    assert repo["/s"].read().tolist() == words.tolist()
    np.testing.assert_array_equal(repo["/c"].read(), cube)
    np.testing.assert_array_equal(repo["/c"][11:50, 30:40, 60:70], cube[11:50, 30:40, 60:70])


def test_a_writer_compacts_at_its_end(tmp_path: Path) -> None:
    path, rows = tmp_path / "r", RNG.normal(size=(60, 500))
    grow(path, rows[:59])
    before = len(chunk_lengths(icecore.open(path), "/x"))
    with icecore.open(path).writer(compact="auto") as w:
        w["/x"].append(rows[59])
    repo = icecore.open(path)
    assert w.snapshot_id == repo.snapshot_id
    assert len(chunk_lengths(repo, "/x")) < before
    np.testing.assert_array_equal(repo["/x"].read(), rows)
    with pytest.raises(icecore.Error) as caught:
        repo.writer(compact="always")
    assert caught.value.kind == "invalid"


def test_command_line(tmp_path: Path) -> None:
    path = tmp_path / "r"
    grow(path, RNG.normal(size=(20, 500)))
    run = CliRunner().invoke(
        table(), ["compact", str(path), "/x", "--older", "0s", "--budget", "1MB", "--json"]
    )
    assert run.exit_code == 0, run.output
    assert list(json.loads(run.output)["arrays"]) == ["/x"]
