"""Versions share what did not change, and say in boxes what did."""

from __future__ import annotations

import datetime
import json
import pickle
import subprocess
import sys
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from icecore.cli import table
from icecore.errors import Error
from icecore.repository.results import ArrayChange
from typer.testing import CliRunner

#: an age that every object has, whatever the clock of its store says
EVERYTHING = datetime.timedelta(minutes=-1)

RNG = np.random.default_rng(17)


def objects(repo: str) -> set[str]:
    """Names of the objects that hold chunks."""
    return {file.name for file in (Path(repo) / "chunks").glob("*")}


def grid(repo_path: str) -> np.ndarray:
    """/x: 60 x 40 float64 in chunks of 10 x 10, each of them stored outside of its reference."""
    data = RNG.random((60, 40))
    with icecore.create(repo_path).writer(message="first") as w:
        w.array("/x", "f8", data.shape, chunks=(10, 10), shards=(10, 10), codec="none")[...] = data
    return data


def test_a_changed_region_shares_all_other_chunks(repo_path: str) -> None:
    data = grid(repo_path)
    first = icecore.open(repo_path)
    before = sum(file.stat().st_size for file in Path(repo_path, "chunks").glob("*"))
    with first.writer(message="second") as w:
        w["/x"][15:25, 12:18] = -1
        w.commit()
        assert w.bytes_raw == 2 * 800
    second = icecore.open(repo_path)
    after = sum(file.stat().st_size for file in Path(repo_path, "chunks").glob("*"))
    assert after - before == 2 * (800 + 4), "two chunks are new, each with a checksum"
    changed = data.copy()
    changed[15:25, 12:18] = -1
    np.testing.assert_array_equal(second["/x"].read(), changed)
    np.testing.assert_array_equal(first["/x"].read(), data)
    # what is read of the chunks that both share is the same requests to the same object
    old, new = (version["/x"].plan((slice(30, 60),)) for version in (first, second))
    assert [o["name"] for o in old.objects] == [o["name"] for o in new.objects]
    assert (old.requests, old.bytes_fetched) == (new.requests, new.bytes_fetched)


@pytest.mark.parametrize("codec", ["none", "zstd", "auto"])
def test_the_same_values_written_again_are_shared(repo_path: str, codec: str) -> None:
    data = RNG.random((60, 40)).round(3)
    with icecore.create(repo_path).writer() as w:
        w.array("/x", "f8", data.shape, chunks=(10, 10), shards=(20, 20), codec=codec)[...] = data
    first, before = icecore.open(repo_path), objects(repo_path)
    with first.writer() as w:
        w["/x"][5:45, 3:] = data[5:45, 3:]
        w["/x"][...] = data
    assert icecore.open(repo_path).snapshot_id == first.snapshot_id, "nothing is new"
    assert objects(repo_path) == before
    changed = data.copy()
    changed[0, 0] = -1
    with first.writer() as w:
        w["/x"][...] = changed
    second = icecore.open(repo_path)
    assert second.diff(first.snapshot_id).chunks["/x"].chunks == 1
    np.testing.assert_array_equal(second["/x"].read(), changed)


def test_what_is_shared_is_what_was_written_last(repo_path: str) -> None:
    """Whatever came between: other values, other shapes, another array of that name."""
    rng = np.random.default_rng(5)
    choices = [rng.integers(0, 9, (40, 40)).astype("i4") for _ in range(2)]
    model = choices[0][:20, :20].copy()
    with icecore.create(repo_path).writer() as w:
        w.array("/x", "i4", model.shape, chunks=(5, 5), shards=(10, 10), codec="none")[...] = model
    writer = icecore.open(repo_path).writer()
    for step in range(300):
        what = rng.integers(0, 12)
        if what < 8:
            start = rng.integers(0, model.shape)
            stop = np.minimum(start + rng.integers(1, 25, 2), model.shape)
            box = tuple(slice(int(a), int(b)) for a, b in zip(start, stop, strict=True))
            model[box] = choices[what % 2][box]
            writer["/x"][box] = choices[what % 2][box]
        elif what == 8:
            shape = tuple(int(n) for n in rng.integers(5, 40, 2))
            writer["/x"].resize(shape)
            held, model = model, np.zeros(shape, "i4")
            both = tuple(slice(0, min(pair)) for pair in zip(shape, held.shape, strict=True))
            model[both] = held[both]
        elif what == 9:
            writer.commit()
        elif what == 10 and len(model) < 38:
            rows = choices[0][len(model) : len(model) + 2, : model.shape[1]]
            writer["/x"].append(rows)
            model = np.concatenate([model, rows])
        elif what == 11 and step % 3 == 0:
            writer.delete("/x")
            model = choices[0][: model.shape[0], : model.shape[1]].copy()
            chunk = int(rng.choice([5, 10]))
            array = writer.array("/x", "i4", model.shape, chunks=(chunk,) * 2, codec="none")
            array[...] = model
        if what in (8, 9):
            np.testing.assert_array_equal(writer._view()["/x"].read(), model, f"step {step}")
    writer.commit()
    np.testing.assert_array_equal(icecore.open(repo_path)["/x"].read(), model)


def test_many_versions_cost_a_read_nothing(repo_path: str) -> None:
    data = grid(repo_path)
    plain = icecore.open(repo_path)["/x"].plan(slice(0, 50))
    writer = icecore.open(repo_path).writer()
    for value in range(30):
        writer["/x"][59, 39] = data[59, 39] = value
        writer.commit()
    last = icecore.open(repo_path)
    plan = last["/x"].plan(slice(0, 50))
    assert (plan.requests, plan.bytes_fetched, plan.chunks) == (plain.requests, plain.bytes_fetched, 20)
    np.testing.assert_array_equal(last["/x"].read(), data)


def test_diff_in_boxes(repo_path: str) -> None:
    grid(repo_path)
    first = icecore.open(repo_path)
    with first.writer() as w:
        x = w["/x"]
        x[12:38, 0:20] = 5.0
        x[59, 39] = 7.0
        w.array("/new", "i4", (3,))[...] = 1
    with icecore.open(repo_path).writer() as w:
        w["/x"].resize((57, 40))
        w["/x"].append(RNG.random((6, 40)))
    second = icecore.open(repo_path)
    changes = second.diff(first.snapshot_id, values=True)
    assert changes.new_arrays == ["/new"]
    assert changes.updated_arrays == ["/x"]
    found = changes.chunks["/x"]
    assert found.boxes == [([10, 0], [40, 20]), ([50, 0], [63, 40])]
    assert found.elements == 30 * 20 + 13 * 40
    assert found.chunks == 3 * 2 + 2 * 4
    # 26 rows of 20 changed; the cut off rows and those behind the old end hold something else now
    assert found.differ == 26 * 20 + 6 * 40
    assert changes.chunks["/new"] == ArrayChange(1, 3, [([0], [3])], 3)
    assert second.diff(first.snapshot_id).chunks["/x"].differ is None
    back = first.diff(second.snapshot_id)
    assert back.deleted_arrays == ["/new"]


def test_values_are_compared_bit_for_bit(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as w:
        w.array("/f", "f4", (4,), codec="none")[...] = [1, np.nan, 0.0, 2]
        w.array("/s", str, (3,))[...] = ["a", "b", "c"]
    first = icecore.open(repo_path)
    with first.writer() as w:
        w["/f"][...] = [1, np.nan, -0.0, 3]
        w["/s"][...] = ["a", "bb", "c"]
    changes = icecore.open(repo_path).diff(first.snapshot_id, values=True).chunks
    assert (changes["/f"].differ, changes["/s"].differ) == (2, 1)


def test_diff_of_branches(repo_path: str) -> None:
    """No version is the other's ancestor: the trees are compared, with the same boxes."""
    grid(repo_path)
    repo = icecore.open(repo_path)
    repo.branch("side")
    with icecore.open(f"{repo_path}@side").writer() as w:
        w["/x"][0:10, 0:30] = 1.0
    with repo.writer() as w:
        w["/x"][50:60] = 2.0
    found = icecore.open(repo_path).diff("main", "side").chunks["/x"]
    assert found.boxes == [([0, 0], [10, 30]), ([50, 0], [60, 40])]


def test_diff_on_the_command_line(repo_path: str) -> None:
    grid(repo_path)
    icecore.open(repo_path).tag("old")
    with icecore.open(repo_path).writer() as w:
        w["/x"][0:10, 0:10] = 3.0
    done = CliRunner().invoke(table(), ["diff", repo_path, "old", "--values"])
    assert done.exit_code == 0, done.output
    assert "~ /x: 1 chunk written, 100 elements, 100 differ\n    [0:10, 0:10]" in done.output
    done = CliRunner().invoke(table(), ["diff", repo_path, "old", "--json"])
    assert json.loads(done.output)["chunks"]["/x"]["boxes"] == [[[0, 0], [10, 10]]]


def cycle(path: Path, values: np.ndarray) -> None:
    """One cycle of a model: the same coordinates each time."""
    with h5py.File(path, "w") as file:
        file["lat"] = np.linspace(50, 70, 40_000)
        file["x"] = np.arange(300.0)
        file["t2m"] = values


@pytest.mark.parametrize("options", [{}, {"goal": "archive"}, {"codec": "shuffle+zstd"}])
def test_replace_shares_what_is_the_same(tmp_path: Path, options: dict[str, str]) -> None:
    into = tmp_path / "r.icecore"
    values = RNG.normal(size=(4, 200, 300)).astype("f4")
    cycle(tmp_path / "00.h5", values)
    icecore.pack(tmp_path / "00.h5", into, "/run", **options)  # type: ignore[arg-type]
    first, before = icecore.open(into), objects(str(into))
    later = values.copy()
    later[2:] += 1
    cycle(tmp_path / "06.h5", later)
    report = icecore.pack(tmp_path / "06.h5", into, "/run", replace=True, **options)  # type: ignore[arg-type]
    second = icecore.open(into)
    assert list(second.diff(first.snapshot_id).chunks) == ["/run/t2m"]
    assert report.bytes_stored < 1.1 * second["/run/t2m"].nbytes_stored
    assert before <= objects(str(into))
    np.testing.assert_array_equal(second["/run/t2m"].read(), later)
    np.testing.assert_array_equal(first["/run/t2m"].read(), values)
    assert [row.why for row in report.rows if row.path == "/run/lat"] == ["1 chunk as before"]
    # nothing changed at all: no new version
    again = icecore.pack(tmp_path / "06.h5", into, "/run", replace=True, **options)  # type: ignore[arg-type]
    assert again.snapshot == second.snapshot_id


def test_replace_with_another_form(tmp_path: Path) -> None:
    into = tmp_path / "r.icecore"
    values = RNG.normal(size=(4, 20, 30)).astype("f4")
    cycle(tmp_path / "a.h5", values)
    icecore.pack(tmp_path / "a.h5", into, "/run")
    cycle(tmp_path / "a.h5", values[:3].astype("f8"))
    icecore.pack(tmp_path / "a.h5", into, "/run", replace=True, codec="none")
    array = icecore.open(into)["/run/t2m"]
    assert (array.dtype, array.shape) == (np.dtype("f8"), (3, 20, 30))
    np.testing.assert_array_equal(array.read(), values[:3].astype("f8"))


@pytest.mark.parametrize("named", ["tag", "snapshot", "part of an id", "day", "moment"])
def test_nothing_is_committed_by_the_name_of_a_version(tmp_path: Path, named: str) -> None:
    """Not even while the branch is still where the version is: the commit would not be found under that name,
    or be found under a time that it came after.
    """
    into, source = str(tmp_path / "r.icecore"), tmp_path / "x.npy"
    np.save(source, np.arange(3))
    with icecore.create(into).writer("first") as writer:
        writer.group("/g")
    repo = icecore.open(into)
    repo.tag("v1")
    ref = {
        "tag": "v1",
        "snapshot": repo.snapshot_id,
        "part of an id": repo.snapshot_id[:8],
        "day": "2999-01-01",
        "moment": "2999-01-01T00:00:00Z",
    }[named]
    old = icecore.open(f"{into}@{ref}")
    assert old.snapshot_id == repo.snapshot_id
    for work in (
        old.writer,
        repo.at(ref).writer,
        pickle.loads(pickle.dumps(old)).writer,
        lambda: icecore.pack(source, f"{into}@{ref}"),
        lambda: icecore.link(source, old),
    ):
        with pytest.raises(icecore.Error, match=f"{ref} is not a branch") as caught:
            work()
        assert caught.value.kind == "read-only"
        assert "branch='main'" in caught.value.hint
    assert icecore.open(into).snapshot_id == repo.snapshot_id
    with old.writer(branch="main") as writer:
        writer.group("/h")
    assert list(icecore.open(into)) == ["/g", "/h"]


def test_a_pickled_repository_keeps_its_branch(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as writer:
        writer.group("/g")
    icecore.open(repo_path).branch("side")
    side = pickle.loads(pickle.dumps(icecore.open(f"{repo_path}@side")))
    assert side.ref == "side"
    with side.writer() as writer:
        writer.group("/h")
    assert list(icecore.open(f"{repo_path}@side")) == ["/g", "/h"]
    assert list(icecore.open(repo_path)) == list(side) == ["/g"]


def test_diff_of_an_array_made_anew(repo_path: str) -> None:
    """A path that was deleted and made again between two commits: the chunks of both don't get mixed up."""
    first = np.arange(60.0)
    with icecore.create(repo_path).writer() as w:
        w.array("/x", "f8", (60,), chunks=(20,))[...] = first
    v1 = icecore.open(repo_path).snapshot_id
    with icecore.open(repo_path).writer() as w:
        w.delete("/x")
        w.array("/x", "f8", (90,), chunks=(9,), shards=(9,))[...] = np.concatenate(
            [first[:10], -first, np.zeros(20)]
        )
    repo = icecore.open(repo_path)
    found = repo.diff(v1, values=True)
    assert (found.updated_arrays, found.new_arrays, found.deleted_arrays) == (["/x"], [], [])
    # nothing but the first ten is as it was
    # the zeros at the end are no chunks
    assert found.chunks == {"/x": ArrayChange(8, 90, [([0], [90])], 80)}


def test_diff_of_branches_that_grew_and_shrank(repo_path: str) -> None:
    """Chunks have other numbers then, and are still the same."""
    grid(repo_path)
    repo = icecore.open(repo_path)
    repo.branch("wide")
    repo.branch("short")
    with icecore.open(f"{repo_path}@wide").writer() as w:
        w["/x"].resize((60, 65))
        w["/x"][20:30, 60:65] = 1.0
    with icecore.open(f"{repo_path}@short").writer() as w:
        w["/x"].resize((30, 40))
    with repo.writer() as w:
        w["/x"][0:10, 0:10] = 2.0
    repo = icecore.open(repo_path)
    assert repo.diff("main", "wide").chunks["/x"].boxes == [([0, 0], [10, 10]), ([20, 60], [30, 65])]
    assert repo.diff("main", "short").chunks["/x"].boxes == [([0, 0], [10, 10])]


def test_diff_of_a_table_with_summaries(repo_path: str, tmp_path: Path) -> None:
    """What icecore keeps beside a table is none of the user's arrays."""
    grid(repo_path)
    icecore.open(repo_path).tag("old")
    text = tmp_path / "t.csv"
    text.write_text("a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(9000)))
    icecore.pack(text, into=repo_path, group="/t")
    found = icecore.open(repo_path).diff("old", values=True)
    assert (found.new_groups, found.new_arrays) == (["/t"], ["/t/a", "/t/b"])
    assert {path: written.differ for path, written in found.chunks.items()} == {
        "/t/a": 9000,
        "/t/b": 9000,
    }


def test_a_tag_and_a_branch_have_different_names(repo_path: str) -> None:
    """REPO@NAME would be the branch, which moves: not what was tagged."""
    grid(repo_path)
    repo = icecore.open(repo_path)
    repo.tag("v1")
    repo.branch("side")
    for work in (lambda: repo.branch("v1"), lambda: repo.tag("side"), lambda: repo.tag("main")):
        with pytest.raises(icecore.Error, match="would be ambiguous") as caught:
            work()
        assert caught.value.kind == "exists"


def test_an_id_is_no_name_for_another_version(repo_path: str) -> None:
    """REPO@ID would be another version's values, also where an array was pickled: it is opened by its id."""
    grid(repo_path)
    first = icecore.open(repo_path)
    with first.writer() as w:
        w.group("/later")
    for work in (first.tag, first.branch):
        for name in (first.snapshot_id, first.snapshot_id.lower()):
            with pytest.raises(icecore.Error, match="would be ambiguous") as caught:
                work(name, "main")
            assert caught.value.kind == "exists"


def test_single_texts_of_other_lengths_differ(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as w:
        w.array("/label", "U8", ())[...] = "spin-up"
    first = icecore.open(repo_path)
    with first.writer() as w:
        w["/label"][...] = "run"
    found = icecore.open(repo_path).diff(first.snapshot_id, values=True)
    assert found.chunks["/label"].differ == 1


def test_what_one_commit_cut_off_and_another_brought_back_is_told(repo_path: str) -> None:
    grid(repo_path)
    first = icecore.open(repo_path)
    for shape in ((60, 20), (60, 40)):
        with icecore.open(repo_path).writer() as w:
            w["/x"].resize(shape)
    found = icecore.open(repo_path).diff(first.snapshot_id, values=True)
    assert found.chunks["/x"] == ArrayChange(12, 1200, [([0, 20], [60, 40])], 1200)
    assert found.updated_arrays == []


def test_groups_that_were_made_again_are_not_new(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as w:
        w.array("/g/x", "i4", (3,))[...] = 1
    first = icecore.open(repo_path)
    with first.writer() as w:
        w.delete("/g")
    with icecore.open(repo_path).writer() as w:
        w.group("/g", {"again": True})
    found = icecore.open(repo_path).diff(first.snapshot_id)
    assert (found.new_groups, found.deleted_groups) == ([], [])
    assert (found.updated_groups, found.deleted_arrays) == (["/g"], ["/g/x"])


def test_the_times_that_log_prints_name_their_commits(repo_path: str) -> None:
    repo = icecore.create(repo_path)
    with repo.writer("one") as writer:
        writer.array("/x", "i4", (3,))[...] = 1
    newest = icecore.open(repo_path).log()[0]
    second = f"{newest.time:%Y-%m-%dT%H:%M:%SZ}"
    bare = second[:-1]
    for name in (second, bare, bare.replace("T", " ") + "Z", bare + "+00:00", bare[:-3] + "Z"):
        assert icecore.open(f"{repo_path}@{name}").snapshot_id == newest.id, name
    exact = f"{bare}.{newest.time.microsecond:06}Z"
    assert icecore.open(f"{repo_path}@{exact}").snapshot_id == newest.id


def test_what_a_collection_took_from_a_writer_is_not_committed(repo_path: str) -> None:
    repo = icecore.create(repo_path)
    data = np.random.default_rng(1).normal(size=(100, 1000))
    with repo.writer("before") as writer:
        writer.array("/before", "f8", (1000,))[...] = data[0]
    tip = icecore.open(repo_path).snapshot_id
    late = icecore.open(repo_path).writer("late")
    array = late.array("/x", "f8", data.shape, chunks=(10, 1000), shards=(20, 1000), codec="none")
    array[...] = data
    late._native.flush()
    assert icecore.open(repo_path).gc(older_than=EVERYTHING).chunks > 0
    for _ in range(2):
        with pytest.raises(icecore.Error, match="have been deleted") as caught:
            late.commit()
        assert caught.value.kind == "conflict"
    late.abort()
    assert icecore.open(repo_path).snapshot_id == tip
    assert icecore.open(repo_path).verify(deep=True) == []
    early = icecore.open(repo_path).writer("early")
    array = early.array("/x", "f8", data.shape, chunks=(10, 1000), shards=(20, 1000), codec="none")
    array[...] = data
    early._native.flush()
    icecore.open(repo_path).gc()
    early.commit()
    np.testing.assert_array_equal(icecore.open(repo_path)["/x"][...], data)


def test_a_full_disk_does_not_keep_gc_from_making_room(repo_path: str) -> None:
    """The root object can't be written anew, but chunks that nobody needs can go."""
    repo = icecore.create(repo_path)
    repo.branch("side")
    with repo.writer(branch="side") as w:
        w.array("/kept", "f8", (1000,), codec="none")[...] = RNG.random(1000)
    icecore.open(repo_path).delete_branch("side")
    lost = icecore.open(repo_path).writer()
    lost.array("/x", "f8", (1000,), codec="none", chunks=(1000,))[...] = RNG.random(1000)
    lost._native.flush()
    lost.abort()
    chunks = Path(repo_path) / "chunks"
    assert len(list(chunks.iterdir())) == 2
    # no file may be longer than nothing: what a full disk says of every write
    code = "import datetime, icecore, resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    code += f"icecore.open({repo_path!r}).gc(datetime.timedelta(minutes=-1))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "File too large" in done.stderr
    assert len(list(chunks.iterdir())) == 1
    assert icecore.open(repo_path).verify(deep=True, history=True) == []
    assert icecore.open(repo_path).gc(older_than=EVERYTHING).chunks == 1
    assert not list(chunks.iterdir())


def test_versions_that_are_no_text(repo_path: str) -> None:
    grid(repo_path)
    repo = icecore.open(repo_path)
    noon = datetime.datetime(2031, 5, 1, 12)
    for call, hint in (
        (lambda: repo.at(noon), "2031-05-01T12:00:00"),  # type: ignore[arg-type]
        (lambda: repo.diff(repo.log()[0]), repo.snapshot_id),  # type: ignore[arg-type]
        (lambda: repo.tag("v1", 1), "main"),  # type: ignore[arg-type]
        (lambda: repo.branch(b"x"), "main"),  # type: ignore[arg-type]
    ):
        with pytest.raises(Error, match="must be a string") as caught:
            call()
        assert caught.value.kind == "invalid"
        assert hint in (caught.value.hint or "")
    assert repo.at(noon.isoformat()).snapshot_id == repo.snapshot_id


def test_a_changed_shape_is_reported(repo_path: str) -> None:
    grid(repo_path)
    first = icecore.open(repo_path)
    with first.writer() as w:
        w["/x"].resize((30, 40))
    found = icecore.open(repo_path).diff(first.snapshot_id)
    assert found.shapes == {"/x": ((60, 40), (30, 40))}
    assert found
    done = CliRunner().invoke(table(), ["diff", repo_path, first.snapshot_id])
    assert "~ /x: shape (60, 40) → (30, 40)" in done.output
    assert not icecore.open(repo_path).diff("main")


def test_nodes_that_icechunk_moved_are_new_and_deleted(tmp_path: Path) -> None:
    icechunk, zarr = pytest.importorskip("icechunk"), pytest.importorskip("zarr")
    repo = icechunk.Repository.create(icechunk.local_filesystem_storage(str(tmp_path / "r")), spec_version=2)
    session = repo.writable_session("main")
    zarr.group(session.store).create_array("old/a", shape=(4,), chunks=(2,), dtype="i4")[...] = 1
    one = session.commit("one")
    session = repo.rearrange_session("main")
    session.move("/old", "/new")
    two = session.commit("moved")
    ours = icecore.open(tmp_path / "r")
    for before, after, new, old in ((one, two, "/new", "/old"), (two, one, "/old", "/new")):
        found = ours.diff(before, after)
        assert (found.new_groups, found.new_arrays) == ([new], [f"{new}/a"])
        assert (found.deleted_groups, found.deleted_arrays) == ([old], [f"{old}/a"])


def test_gc_says_what_it_spares(repo_path: str) -> None:
    grid(repo_path)
    repo = icecore.open(repo_path)
    noon = datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC)
    report = repo.gc(noon, dry_run=True)
    assert report.spared_after == noon
    assert "objects younger than 2026-05-01T12:00:00Z are spared" in str(report)
    assert json.loads(json.dumps(report.to_dict()))["spared_after"] == "2026-05-01T12:00:00+00:00"
    for wrong in (noon.replace(tzinfo=None), 12):
        with pytest.raises(Error, match="a timedelta or a datetime with a time zone") as caught:
            repo.gc(wrong)  # type: ignore[arg-type]
        assert caught.value.kind == "invalid"


def test_info_says_who_can_read_an_array(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as w:
        for name, codec in (("plain", "zstd"), ("ours", "planes")):
            w.array(f"/{name}", "f4", (8,), codec=codec)[...] = RNG.random(8)
    said = [
        json.loads(CliRunner().invoke(table(), ["info", repo_path, path, "--json"]).output)["readable_by"]
        for path in ("/plain", "/ours")
    ]
    assert said[0] == "any Zarr v3 reader"
    assert "installed icecore (icecore.byteplanes)" in said[1]


@pytest.fixture
def four(tmp_path: Path) -> tuple[str, list[str]]:
    """A repository with four commits of /x, and their ids, oldest first."""
    path = str(tmp_path / "four.icecore")
    icecore.create(path)
    ids = []
    for number in range(4):
        with icecore.open(path).writer(message=f"commit {number}") as w:
            (w.array("/x", "i4", (3,)) if number == 0 else w["/x"])[...] = number
        ids.append(icecore.open(path).snapshot_id)
    icecore.open(path).tag("v3", ids[2])
    icecore.open(path).branch("run", ids[1])
    return path, ids


REVISIONS = [
    ("main~0", 3),
    ("main~1", 2),
    ("main~", 2),
    ("main^", 2),
    ("main~3", 0),
    ("main^^~1", 0),
    ("v3~2", 0),
    ("run~1", 0),
    ("@{2999-11-01}", 3),
    ("@{2999-11-01}~1", 2),
    ("run@{2999-11-01T10:00:00+02:00}", 1),
    ("2999-11-01~2", 1),
]


@pytest.mark.parametrize(("revision", "number"), REVISIONS)
def test_revisions_as_in_git(four: tuple[str, list[str]], revision: str, number: int) -> None:
    path, ids = four
    repo = icecore.open(path)
    assert repo.at(revision).snapshot_id == ids[number]
    assert repo.at(revision)["/x"][...].tolist() == [number] * 3
    address = f"{path}{revision}" if revision.startswith("@") else f"{path}@{revision}"
    assert icecore.open(address).snapshot_id == ids[number]
    assert icecore.open(f"{path}@{revision}").snapshot_id == ids[number]
    assert sorted(repo.diff(revision, "main").chunks) == ([] if number == 3 else ["/x"])
    assert sorted(repo.diff("main", revision).chunks) == ([] if number == 3 else ["/x"])
    repo.tag("made", revision)
    repo.branch("started", revision)
    assert (repo.tags["made"], repo.branches["started"]) == (ids[number], ids[number])
    with pytest.raises(Error, match="not a branch"):
        icecore.open(address).writer().__enter__()


@pytest.mark.parametrize("words", [["diff", "{r}", "main~1", "main"], ["diff", "{r}@main~1", "main~3"]])
def test_revisions_on_the_command_line(four: tuple[str, list[str]], words: list[str]) -> None:
    done = CliRunner().invoke(table(), [word.format(r=four[0]) for word in words])
    assert done.exit_code == 0
    assert "~ /x: 1 chunk written" in done.stdout


def test_revisions_of_every_reading_command(four: tuple[str, list[str]]) -> None:
    path, ids = four

    def out(*words: str) -> str:
        done = CliRunner().invoke(table(), list(words))
        assert done.exit_code == 0, done.output
        return done.stdout

    assert out("read", f"{path}@main~3", "/x") == out("read", f"{path}@{ids[0]}", "/x")
    assert out("read", f"{path}@main~3", "/x") != out("read", path, "/x")
    assert out("log", f"{path}@main~1", "-n", "1").startswith(ids[2])
    assert out("log", f"{path}@{{2999-11-01}}~2", "-n", "1").startswith(ids[1])
    assert "x  int32  (3,)" in out("ls", f"{path}@main^")
    assert out("tag", f"{path}@main~2", "early").startswith(ids[1])


@pytest.mark.parametrize(
    "revision", ["main~9", "nosuch~1", "@{yesterday}", "@{1999-01-01}", "main~99999999999999999999"]
)
def test_unknown_revisions_are_not_found(four: tuple[str, list[str]], revision: str) -> None:
    with pytest.raises(Error) as caught:
        icecore.open(four[0]).at(revision)
    assert (caught.value.kind, bool(caught.value.hint)) == ("not-found", True)


@pytest.mark.parametrize("name", ["a~1", "a^", "a~"])
def test_names_that_are_revisions_are_refused(four: tuple[str, list[str]], name: str) -> None:
    for make in (icecore.open(four[0]).tag, icecore.open(four[0]).branch):
        with pytest.raises(Error, match="not a valid name"):
            make(name)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.icecore@{2026-11-01}", ("a.icecore", "@{2026-11-01}")),
        ("a.icecore@@{2026-11-01}", ("a.icecore", "@{2026-11-01}")),
        ("a.icecore@run@{2026-11-01}~1", ("a.icecore", "run@{2026-11-01}~1")),
        ("a.icecore@main~1", ("a.icecore", "main~1")),
        ("s3://bucket/a@{2026-11-01T10:00:00Z}", ("s3://bucket/a", "@{2026-11-01T10:00:00Z}")),
        ("s3://bucket/a@v1^", ("s3://bucket/a", "v1^")),
        ("@{2026-11-01}", ("@{2026-11-01}", None)),
        ("a{1}", ("a{1}", None)),
    ],
)
def test_addresses_with_revisions(text: str, parts: tuple[str, str | None]) -> None:
    from icecore.repository.address import split_ref

    assert split_ref(text) == parts
