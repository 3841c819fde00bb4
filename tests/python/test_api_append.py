"""Appending from a running simulation: commits in between, tails that fill up later, O(new data)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from icecore.writing.open_writer import Rounds
from icecore.writing.row_grid import lengths_of

RNG = np.random.default_rng(5)


def sizes(repo: str, folder: str) -> dict[str, int]:
    """name → bytes of the repository's objects of a kind."""
    return {file.name: file.stat().st_size for file in (Path(repo) / folder).glob("*")}


def test_versions_in_between_stay_as_they_were(repo_path: str) -> None:
    data = RNG.random((23, 6)).astype("f4")
    ids = []
    with icecore.create(repo_path).writer() as w:
        a = w.array("/x", "f4", (0, 6), chunks=(2, 3), shards=(8, 6))
        for row in data:
            a.append(row)
            ids.append(w.commit())
            assert a.shape == (len(ids), 6)
    assert len(set(ids)) == len(data)
    for count, version in enumerate(ids, 1):
        np.testing.assert_array_equal(icecore.open(f"{repo_path}@{version}")["/x"].read(), data[:count])
    repo = icecore.open(repo_path)
    assert repo.snapshot_id == ids[-1], "the end of the block has nothing left to commit"
    assert repo.verify(deep=True) == []


def test_an_exception_loses_what_came_after_the_last_commit(repo_path: str) -> None:
    repo = icecore.create(repo_path)

    def simulation() -> None:
        with repo.writer(commit_every=4) as w:
            a = w.array("/x", "i4", (0,))
            for i in range(11):
                a.append(i)
            raise RuntimeError("the simulation failed")

    with pytest.raises(RuntimeError, match="simulation"):
        simulation()
    assert icecore.open(repo_path)["/x"].read().tolist() == list(range(8))
    with icecore.open(repo_path).writer() as w:
        w["/x"].append(np.arange(8, 11))
    assert icecore.open(repo_path)["/x"].read().tolist() == list(range(11))


@settings(max_examples=40)
@given(st.data())
def test_any_mixture_of_appends_commits_and_regions(data: st.DataObject) -> None:
    columns = data.draw(st.integers(1, 5))
    chunk = (data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5)))
    shard = (chunk[0] * data.draw(st.integers(1, 3)), chunk[1] * data.draw(st.integers(1, 2)))
    memory = data.draw(st.sampled_from([1, 200, None]))  # bytes: the first two hold less than a shard's rows
    expected = np.empty((0, columns), "i4")
    versions: list[tuple[str, np.ndarray]] = []
    repo = icecore.create(f"memory://append{RNG.integers(1 << 60)}")
    w = repo.writer(memory=memory)
    a = w.array("/x", "i4", (0, columns), chunks=chunk, shards=shard, codec="none")
    for _ in range(data.draw(st.integers(1, 12))):
        match data.draw(st.sampled_from(["row", "rows", "commit", "region", "reopen"])):
            case "row":
                row = RNG.integers(0, 1000, columns, "i4")
                a.append(row)
                expected = np.concatenate([expected, row[None]])
            case "rows":
                rows = RNG.integers(0, 1000, (data.draw(st.integers(0, 20)), columns), "i4")
                a.append(rows)
                expected = np.concatenate([expected, rows])
            case "region" if len(expected):
                at = data.draw(st.integers(0, len(expected) - 1))
                a[at] = expected[at] = RNG.integers(0, 1000, columns, "i4")
                expected = expected.copy()
            case "commit":
                versions.append((w.commit(), expected.copy()))
            case "reopen":
                w.commit()
                w = icecore.open(repo.url).writer(memory=memory)
                a = w["/x"]
        assert a.shape == expected.shape
    versions.append((w.commit(), expected))
    for version, rows in versions:
        np.testing.assert_array_equal(icecore.open(f"{repo.url}@{version}")["/x"].read(), rows)


def test_arrays_of_a_step_are_committed_together(repo_path: str) -> None:
    with icecore.create(repo_path).writer(commit_every=3) as w:
        names = ["/t", "/u", "/v"]
        arrays = [w.array(name, "f8", (0, 5)) for name in names]
        for step in range(10):
            for array in arrays:
                array.append(np.full(5, step))
    repo = icecore.open(repo_path)
    lengths = []
    for commit in repo.log():
        version = repo.at(commit.id)
        if version.arrays:
            lengths.append([version[name].shape[0] for name in names])
    assert lengths == [[10] * 3, [9] * 3, [6] * 3, [3] * 3]


@pytest.mark.parametrize(
    "how",
    [
        {"commit_every": 0},
        {"commit_every": 1.5},
        {"commit_every": "3"},
        {"commit_seconds": -1},
        {"commit_seconds": float("nan")},
        {"commit_seconds": "5"},
    ],
)
def test_commits_that_would_never_come_are_refused(repo_path: str, how: dict[str, Any]) -> None:
    with pytest.raises(icecore.Error, match="a commit every") as caught:
        icecore.create(repo_path).writer(**how)
    assert caught.value.kind == "invalid"


@pytest.mark.parametrize("how", [{"commit_every": 1}, {"commit_every": 2}, {"commit_seconds": 0}])
def test_a_run_that_goes_on_commits_whole_steps(repo_path: str, how: dict[str, float]) -> None:
    """Who takes part shows only as arrays are appended to; one that is only patched holds up nothing."""
    names = ["/t", "/u", "/v"]
    with icecore.create(repo_path).writer() as w:
        for name in names:
            w.array(name, "i4", (0,)).append([0, 1])
        w.array("/map", "i4", (4,))

    def step(w: icecore.Writer, i: int) -> None:
        w["/map"][i % 4] = i
        for name in names:
            w[name].append(i)

    def simulation(steps: int) -> None:
        with icecore.open(repo_path).writer(**how) as w:
            for i in range(steps):
                step(w, i)
            w["/t"].append(99)
            raise RuntimeError("in the middle of a step")

    for session in range(3):
        before = icecore.open(repo_path)["/t"].shape[0]
        with pytest.raises(RuntimeError, match="middle"):
            simulation(session * 3)
        repo = icecore.open(repo_path)
        kept = session * 3 // how.get("commit_every", 1) * how.get("commit_every", 1)
        assert repo["/t"].shape[0] - before == kept
        for commit in repo.log()[:-1]:
            version = repo.at(commit.id)
            assert len({version[name].shape[0] for name in names}) == 1


def test_rounds() -> None:
    now = [0.0]
    rounds = Rounds(2, None, lambda: now[0])
    for path in "ab":
        rounds.joins(path)
    assert [rounds.ends(path) for path in "abab"] == [False, False, False, True]
    rounds.committed()
    # b gets one append a round, a three
    assert [rounds.ends(path) for path in "aab"] == [False, False, False]
    assert rounds.begins("a")
    timed = Rounds(None, 10, lambda: now[0])
    timed.joins("a")
    assert not timed.ends("a")
    now[0] = 10
    assert timed.begins("a")
    assert timed.ends("a")
    timed.committed()
    assert not timed.ends("a")
    assert not Rounds(None, None).ends("a")
    resumed = Rounds(1, None)
    resumed.opens()
    assert not resumed.begins("a")
    assert not resumed.ends("a"), "b may follow"
    assert not resumed.ends("b")
    assert resumed.begins("a")
    resumed.committed()
    assert [resumed.ends(path) for path in "ab"] == [False, True]
    for bad in [(0, None), (None, -1.0)]:
        with pytest.raises(icecore.Error) as caught:
            Rounds(*bad)
        assert caught.value.kind == "invalid"


def test_two_writers_take_turns(repo_path: str) -> None:
    """Each goes on from what the other committed, although both stay open."""
    repo = icecore.create(repo_path)
    one = repo.writer()
    one.array("/x", "i4", (0,), chunks=(4,), shards=(8,))
    one.commit()
    one["/x"].append([7, 8])
    one.commit()
    two = icecore.open(repo_path).writer()
    two["/x"].append(9)
    two.commit()
    expected = [7, 8, 9]
    for step in range(20):
        for writer, value in ((one, step), (two, -step)):
            writer["/x"].append([value] * (1 + step % 3))
            writer.commit()
            expected += [value] * (1 + step % 3)
    assert icecore.open(repo_path)["/x"].read().tolist() == expected


@pytest.mark.parametrize("with_rows", [False, True])
def test_what_others_wrote_before_a_commit_stays(repo_path: str, with_rows: bool) -> None:
    """A commit takes it in, whether it has rows of another array or nothing to write."""
    with icecore.create(repo_path).writer() as w:
        for path in ("/x", "/y"):
            w.array(path, "i4", (0,), chunks=(4,), shards=(4,))
    one = icecore.open(repo_path).writer()
    one["/x"].append([1, 1])
    one.commit()
    if with_rows:
        one["/y"].append(1)
    with icecore.open(repo_path).writer() as two:
        two["/x"].append([2, 2, 2])
    one.commit()
    one["/x"].append([3, 3])
    one.commit()
    assert icecore.open(repo_path)["/x"].read().tolist() == [1, 1, 2, 2, 2, 3, 3]


def test_two_writers_at_once_is_a_conflict(repo_path: str) -> None:
    repo = icecore.create(repo_path)
    with repo.writer() as w:
        w.array("/x", "i4", (0,))
    one, two = icecore.open(repo_path).writer(), icecore.open(repo_path).writer()
    one["/x"].append(1)
    two["/x"].append(2)
    one.commit()
    with pytest.raises(icecore.Error) as caught:
        two.commit()
    assert caught.value.kind == "conflict"
    assert icecore.open(repo_path)["/x"].read().tolist() == [1]


def test_a_hundred_thousand_appends_write_what_is_new(repo_path: str) -> None:
    appends, every, row = 100_000, 2_000, RNG.random(16).astype("f4").view("u4")
    stored = [0]
    with icecore.create(repo_path).writer(commit_every=every) as w:
        a = w.array("/x", "u4", (0, 16), codec="lz4")
        for i in range(appends):
            a.append(row * (2 * i + 1))
            if (i + 1) % every == 0:
                stored.append(sum(sizes(repo_path, "chunks").values()))
    manifests = sizes(repo_path, "manifests")
    new, commits = every * row.nbytes, appends // every
    # 16 commits are merged into chunks of the planned length, which stay: each row is written at most twice,
    # and once more those of the first commit. The halves differ (1.7 and 2.3 x the data): one merge is in
    # the first and two are in the second.
    assert all(written <= (2 * count + 1) * 1.03 * new for count, written in enumerate(stored))
    rounds = [stored[count + 16] - stored[count] for count in range(2, commits - 15)]
    assert max(rounds) <= 1.05 * min(rounds), "16 commits cost the same, however long the array is"
    assert max(rounds) <= 2.05 * 16 * new
    assert len(sizes(repo_path, "chunks")) <= 2 * commits
    assert len(manifests) <= commits + 1
    repo = icecore.open(repo_path)
    assert repo["/x"].shape == (appends, 16)
    expected = row * (2 * np.arange(appends, dtype="u4")[:, None] + 1)
    np.testing.assert_array_equal(repo["/x"].read(), expected)


@pytest.mark.parametrize("how", ["commit()", "commit_seconds"])
@pytest.mark.parametrize("chunks", [None, (1, 5000)])
def test_a_commit_for_each_step_writes_what_is_new(
    repo_path: str, how: str, chunks: tuple[int, int] | None
) -> None:
    """Also if `commit_every` was not given: the rows of a commit become chunks of their own.

    Short chunks are merged in tiers of 16, 128 and 1024 rows here, up to the planned length. Each tier writes
    a row once more: 100 rows cost twice their size (2.01 x measured), 200 less than three times (2.56 x).
    """
    marks, rows = [], RNG.integers(0, 1 << 32, (200, 5000), "u4")
    with icecore.create(repo_path).writer(commit_seconds=0 if how == "commit_seconds" else None) as w:
        a = w.array("/x", "u4", (0, 5000), chunks=chunks, codec="lz4")
        for i, row in enumerate(rows):
            a.append(row)
            if how == "commit()":
                w.commit()
            if i + 1 in (100, 200):
                marks.append(sum(sizes(repo_path, "chunks").values()))
    if chunks is None:
        assert marks[0] < 2.1 * rows[:100].nbytes
        assert marks[1] < 2.7 * rows.nbytes
    else:  # no chunk is shorter than planned
        assert marks[0] < 1.1 * rows[:100].nbytes
        assert marks[1] < 1.1 * rows.nbytes
    assert icecore.open(repo_path).verify(deep=True) == []
    np.testing.assert_array_equal(icecore.open(repo_path)["/x"].read(), rows)


def test_attributes_stay_when_rows_come(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as w:
        a = w.array("/x", "i4", (0,), attrs={"units": "m"})
        w.attrs("/x", {"units": "km"})
        a.append(np.arange(70_000))
    array = icecore.open(repo_path)["/x"]
    assert array.attrs == {"units": "km"}
    assert "codec" in array._node.ours


def test_chunks_suit_the_commits(repo_path: str) -> None:
    rows = RNG.integers(0, 1 << 32, (2000, 5000), "u4")

    def lengths(name: str, *steps: int, **layout: Any) -> list[int]:
        """Rows of each chunk (of each shard, if there are any), where so many came with each commit."""
        stored = []
        with icecore.open(repo_path).writer() as w:
            a, done = w.array(name, "u4", (0, 5000), attrs={"units": "m"}, codec="none", **layout), 0
            w.attrs(name, {"units": "m", "more": 1})
            for step in steps:
                a.append(rows[done : (done := done + step)])
                if done < sum(steps):
                    w.commit()
                    stored.append((done, sum(sizes(repo_path, "chunks").values())))
        found = icecore.open(repo_path)[name]
        assert found.attrs == {"units": "m", "more": 1}
        np.testing.assert_array_equal(found.read(), rows[:done])
        unit = found.shards or found.chunks
        if unit:
            return [unit[0]] * -(-done // unit[0])
        # The first two commits may write whole chunks; then each row is written at most twice here.
        for (old, before), (new, after) in pairwise(stored[1:]):
            again = 16 if old % 16 == 300 % 16 else 0
            assert after - before <= 1.01 * (new - old + again) * rows[0].nbytes
        runs = found._node.document["chunk_grid"]["configuration"]["chunk_shapes"][0]
        return lengths_of(runs).tolist()

    icecore.create(repo_path)
    (longest,) = lengths("/once", 1)
    assert longest * 20_000 > 8 << 20
    assert lengths("/small", 1, 1, 1, 1) == [1] * 4
    assert lengths("/tens", 10, 10, 10) == [10] * 3
    assert lengths("/odd", 10, 10, 10, 1) == [10, 10, 10, 1]
    bulk = lengths("/bulk", 1, 1, 1998)
    assert bulk[:2] == [1, 1]
    assert min(bulk[2:-1]) * 20_000 > 8 << 20, "many rows get chunks of the planned length"
    assert lengths("/later", 300, *[1] * 60) == [300, *[16] * 3, *[1] * 12], "16 short ones are merged"
    assert lengths("/given", 1, 1, 1, shards=(500, 5000)) == [500]
    assert icecore.open(repo_path).verify(deep=True, history=True) == []


def test_little_data_lies_in_small_chunks(repo_path: str) -> None:
    """Three rows were encoded as sixteen chunks of half a megabyte, and stored as such without a codec."""
    rows = RNG.integers(0, 1 << 32, (3000, 16), "u4")
    with icecore.create(repo_path).writer() as w:
        for name in ("/a", "/b"):
            w.array(name, "u4", (0, 16), codec="none").append(rows[:3])
        w["/b"].resize((0, 16))
        w["/b"].append(rows[:3])
    repo = icecore.open(repo_path)
    assert all(repo[name].nbytes_stored <= 150_000 for name in ("/a", "/b"))
    with repo.writer() as w:
        for name in ("/a", "/b"):
            w[name].append(rows[3:])
    repo = icecore.open(repo_path)
    for name in ("/a", "/b"):
        np.testing.assert_array_equal(repo[name].read(), rows)
    assert repo.verify(deep=True) == []


def test_rows_of_different_lengths_are_refused(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as w:
        a = w.array("/a", "f4", (0, 2))
        a.append([[1, 2]])
        with pytest.raises(icecore.Error, match="/a is float32 and can't hold a list") as found:
            a.append([[1, 2], [3]])
        assert found.value.kind == "dtype"
    np.testing.assert_array_equal(icecore.open(repo_path)["/a"].read(), [[1, 2]])


@settings(max_examples=20)
@given(st.data())
def test_any_mixture_where_shards_are_planned_again(data: st.DataObject) -> None:
    repo = icecore.create(f"memory://suiting{RNG.integers(1 << 60)}")
    expected = np.empty((0, 20_000), "i4")
    versions: list[tuple[str, np.ndarray]] = []
    w = repo.writer(memory=data.draw(st.sampled_from([1_000_000, 4_000_000, None])))
    a = w.array("/x", "i4", (0, 20_000))
    for _ in range(data.draw(st.integers(1, 8))):
        match data.draw(st.sampled_from(["rows", "rows", "commit", "region", "resize"])):
            case "rows":
                rows = RNG.integers(0, 1000, (data.draw(st.integers(0, 9)), 20_000), "i4")
                a.append(rows)
                expected = np.concatenate([expected, rows])
            case "region" if len(expected):
                at = data.draw(st.integers(0, len(expected) - 1))
                a[at] = at
                expected = expected.copy()
                expected[at] = at
            case "resize" if len(expected):
                a.resize((len(expected) - 1, 20_000))
                expected = expected[:-1]
            case "commit":
                versions.append((w.commit(), expected.copy()))
    versions.append((w.commit(), expected))
    for version, rows in versions:
        np.testing.assert_array_equal(icecore.open(f"{repo.url}@{version}")["/x"].read(), rows)


def test_references_of_earlier_rows_are_not_written_again(repo_path: str) -> None:
    """A commit writes the references of the last stretch of a long array only."""
    unit, rows = 4, 150_000
    with icecore.create(repo_path).writer() as w:
        a = w.array("/x", "u1", (0,), chunks=(unit,), shards=(unit,), codec="none")
        a.append(np.arange(rows * unit, dtype="u1"))
    before = sizes(repo_path, "manifests")
    writer = icecore.open(repo_path).writer()
    for step in range(1, 6):  # a chunk of zeros, the fill value, would need no reference
        writer["/x"].append([step])
        writer.commit()
    after = sizes(repo_path, "manifests")
    written = {name: size for name, size in after.items() if name not in before}
    assert len(before) >= 2
    assert len(written) == 5
    assert sum(written.values()) < 5 << 10, "of 900 kB"
    expected = np.append(np.arange(rows * unit, dtype="u1"), np.arange(1, 6, dtype="u1"))
    np.testing.assert_array_equal(icecore.open(repo_path)["/x"].read(), expected)


def test_memory_of_waiting_rows_is_bounded(repo_path: str) -> None:
    """Where the rows of a shard don't fit, fewer are gathered, and shards are patched."""
    data = RNG.random((50, 4000))
    with icecore.create(repo_path).writer(memory=200_000) as w:
        a = w.array("/x", "f8", (0, 4000), chunks=(40, 100), shards=(40, 1000), codec="zstd")
        for row in data:
            a.append(row)
            assert a._tail is None or a._tail._rows.nbytes <= 50_000
    np.testing.assert_array_equal(icecore.open(repo_path)["/x"].read(), data)


def test_text_and_times_are_appended_too(repo_path: str) -> None:
    days = np.datetime64("2020-01-01", "D") + np.arange(9)
    with icecore.create(repo_path).writer(commit_every=2) as w:
        names, times = w.array("/n", str, (0,)), w.array("/t", "M8[D]", (0,))
        for i, day in enumerate(days):
            names.append(f"step {i}")
            times.append(day)
    repo = icecore.open(repo_path)
    assert repo["/n"].read().tolist() == [f"step {i}" for i in range(9)]
    np.testing.assert_array_equal(repo["/t"].read(), days)


@pytest.mark.parametrize("goal", ["speed", "archive"])
def test_codecs_are_measured_on_the_first_data(repo_path: str, goal: str) -> None:
    """Also where it comes to a writer that did not make the array."""
    data = np.cumsum(RNG.integers(-3, 4, (64, 5000)), axis=1).astype("i4")
    with icecore.create(repo_path).writer() as w:
        w.array("/x", "i4", (0, 5000), chunks=(8, 5000), shards=(16, 5000), goal=goal)
    before = icecore.open(repo_path)["/x"]
    assert before.attrs == {}
    with icecore.open(repo_path).writer() as w:
        for row in data:
            w["/x"].append(row)
    array = icecore.open(repo_path)["/x"]
    np.testing.assert_array_equal(array.read(), data)
    kept = array._node.ours
    assert kept["codec"]["goal"] == goal
    assert "wish" not in kept
    assert array.codecs != before.codecs or goal == "speed"
    with icecore.open(repo_path).writer() as w:
        w["/x"].append(data[0])
    assert icecore.open(repo_path)["/x"].codecs == array.codecs, "chosen once"
    with icecore.open(repo_path).writer() as w, pytest.raises(icecore.Error, match="goal"):
        w.array("/y", goal="fast")
