"""Copies of repositories: clone, pull, repair."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import icecore
import numpy as np
import pytest

Run = Callable[..., tuple[int, str, str]]


def grown(place: Path, commits: int = 3) -> icecore.Repo:
    """A repository with a linked array, versions, tags and branches, one of them deleted."""
    repo = icecore.create(place)
    with repo.writer("base") as w:
        w.array("/g/a", "f8", (0, 100), chunks=(10, 100), codec="none")
        w.array("/g/text", str, (3,))[...] = ["a", "b", "c"]
        w.array("/h/b", "i4", (5,))[...] = 3
    source = place.with_name("source.npy")
    np.save(source, np.arange(3000.0).reshape(30, 100))
    icecore.link(source, repo, group="/linked")
    for step in range(commits):
        with repo.writer(f"step {step}") as w:
            w["/g/a"].append(np.full((10, 100), float(step)))
    repo.at("main").tag("v1")
    repo.at("main").tag("draft")
    repo.delete_tag("draft")
    repo.at("main").branch("dev")
    with icecore.open(f"{place}@dev").writer("on dev") as w:
        w["/h/b"][0] = 9
    return icecore.open(place)


def content(repo: icecore.Repo) -> dict[str, object]:
    """All that a version has."""
    arrays = {name: (array.attrs, array[...].tolist()) for name, array in repo.arrays.items()}
    return {**arrays, "groups": {name: group.attrs for name, group in repo.groups.items()}}


def assert_equal(copy: Path | str, original: Path | str) -> None:
    """Every name, every history and every version are equal."""
    a, b = icecore.open(original), icecore.open(copy)
    assert (a.branches, a.tags) == (b.branches, b.tags)
    for name in [*a.branches, *a.tags]:
        one, two = a.at(name), b.at(name)
        assert one.log() == two.log()
        for commit in one.log():
            assert content(a.at(commit.id)) == content(b.at(commit.id))
    assert not b.verify(history=True)


@pytest.fixture
def original(tmp_path: Path) -> Path:
    grown(tmp_path / "original.icecore")
    return tmp_path / "original.icecore"


def test_a_clone_is_equal_ref_by_ref(original: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.icecore"
    report = icecore.clone(original, copy)
    assert report.versions == 7
    assert report.links == 1
    assert_equal(copy, original)
    assert not icecore.open(copy)._native.unsealed()
    with pytest.raises(icecore.Error, match="deleted"):
        icecore.open(copy).tag("draft")
    with icecore.open(copy).writer("a copy is a repository") as w:
        w["/h/b"][1] = 4
    assert icecore.open(copy)["/h/b"][1] == 4
    assert icecore.open(original)["/h/b"][1] == 3


@pytest.mark.parametrize("through", ["memory://through-{}", "file://{}/through.icecore"])
def test_between_any_two_places(original: Path, tmp_path: Path, through: str) -> None:
    middle = through.format(tmp_path if "file" in through else random.random())
    assert icecore.clone(original, middle).versions == 7
    report = icecore.clone(middle, tmp_path / "back.icecore")
    assert report.versions == 7
    assert_equal(tmp_path / "back.icecore", original)


@pytest.mark.parametrize("ref", ["v1", "dev", "main"])
def test_one_version_with_its_history(original: Path, tmp_path: Path, ref: str) -> None:
    icecore.clone(f"{original}@{ref}", tmp_path / "one.icecore")
    one, all_of_it = icecore.open(tmp_path / "one.icecore"), icecore.open(f"{original}@{ref}")
    assert one.log() == all_of_it.log()
    assert content(one) == content(all_of_it)
    assert set(one.branches) | set(one.tags) == {"main", ref}
    assert not one.verify(history=True)


def test_a_shallow_clone_has_the_newest_versions(original: Path, tmp_path: Path) -> None:
    report = icecore.clone(original, tmp_path / "shallow.icecore", shallow=True)
    repo = icecore.open(tmp_path / "shallow.icecore")
    assert report.versions == 3
    assert [commit.message for commit in repo.log()] == ["step 2", "Repository initialized"]
    assert content(repo) == content(icecore.open(original))
    assert content(repo.at("dev")) == content(icecore.open(f"{original}@dev"))
    assert not repo.verify(history=True)
    with icecore.open(original).writer("new") as w:
        w["/h/b"][2] = 8
    icecore.pull(tmp_path / "shallow.icecore")
    assert icecore.open(tmp_path / "shallow.icecore")["/h/b"][2] == 8


def test_one_group(original: Path, tmp_path: Path) -> None:
    copy = tmp_path / "group.icecore"
    icecore.clone(original, copy, group="/g")
    repo, whole = icecore.open(copy), icecore.open(original)
    assert sorted(repo.arrays) == ["/g/a", "/g/text"]
    assert repo.log() == whole.log()
    for commit in whole.log():
        then = whole.at(commit.id)
        wanted = {name: array[...].tolist() for name, array in then.arrays.items() if name.startswith("/g/")}
        assert {name: array[...].tolist() for name, array in repo.at(commit.id).arrays.items()} == wanted
    assert not repo.verify(history=True)
    with whole.writer("more") as w:
        w["/g/a"].append(np.full((10, 100), 7.0))
        w["/h/b"][0] = 1
    report = icecore.pull(copy)
    assert report.versions == 1
    assert (icecore.open(copy)["/g/a"][-1] == 7).all()
    assert icecore.open(copy)["/g/a"].shape == (40, 100)
    assert not icecore.open(copy).verify(history=True)
    with pytest.raises(icecore.Error, match="no group /nothing"):
        icecore.clone(original, tmp_path / "none.icecore", group="/nothing")


def test_packed_links_need_no_source(original: Path, tmp_path: Path) -> None:
    copy = tmp_path / "packed.icecore"
    expected = icecore.open(original)["/linked/source"][...]
    report = icecore.clone(original, copy, pack_links=True)
    assert report.links == 1
    (tmp_path / "source.npy").unlink()
    repo = icecore.open(copy)
    assert not repo["/linked/source"].linked
    assert np.array_equal(repo["/linked/source"][...], expected)
    assert not repo.verify(deep=True, history=True)
    assert np.array_equal(repo.at("v1")["/linked/source"][...], expected)
    with icecore.open(original).writer("more") as w:
        w["/h/b"][0] = 1
    assert icecore.pull(copy).links == 0, "known links are not read again"
    assert np.array_equal(icecore.open(copy)["/linked/source"][...], expected)


def test_a_source_that_changed_is_not_packed(original: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "source.npy", np.arange(3001.0))
    with pytest.raises(icecore.Error) as caught:
        icecore.clone(original, tmp_path / "packed.icecore", pack_links=True)
    assert caught.value.kind == "source-changed"


def test_pull_brings_what_is_new_and_nothing_else(original: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.icecore"
    icecore.clone(original, copy)
    assert str(icecore.pull(copy)).startswith(f"{copy} is up to date")
    repo = icecore.open(original)
    with repo.writer("one more") as w:
        w["/g/a"].append(np.full((10, 100), 5.0))
    repo.at("main").tag("v2")
    repo.delete_branch("dev")
    report = icecore.pull(copy)
    assert (report.versions, report.chunks) == (1, 1)
    assert report.bytes < 20_000
    assert_equal(copy, original)
    assert icecore.open(copy).gc(timedelta(0)).objects >= 0
    assert_equal(copy, original)


def test_pull_after_gc_and_expired_versions(original: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.icecore"
    icecore.clone(original, copy)
    repo = icecore.open(original)
    repo.delete_branch("dev")
    repo.gc(timedelta(0))
    icecore.pull(copy)
    assert_equal(copy, original)


@pytest.mark.parametrize("what", ["commit", "tag", "branch"])
def test_a_copy_with_changes_of_its_own_is_refused(original: Path, tmp_path: Path, what: str) -> None:
    copy = tmp_path / "copy.icecore"
    icecore.clone(original, copy)
    repo = icecore.open(copy)
    if what == "commit":
        with repo.writer("own") as w:
            w["/h/b"][0] = 1
    else:
        getattr(repo, what)("own")
    with icecore.open(original).writer("theirs") as w:
        w["/h/b"][0] = 2
    with pytest.raises(icecore.Error, match="which the source doesn't have") as caught:
        icecore.pull(copy)
    assert caught.value.kind == "conflict"
    assert len(icecore.open(copy).log()) == len(repo.at("main").log())


def test_places_that_hold_something(original: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    for target in (original, tmp_path / "full"):
        with pytest.raises(icecore.Error) as caught:
            icecore.clone(original, target)
        assert caught.value.kind == "exists"
    assert sorted(os.listdir(tmp_path / "full")) == [".icecore.lock", "file"] or os.listdir(
        tmp_path / "full"
    ) == ["file"]
    with pytest.raises(icecore.Error, match="inside the repository"):
        icecore.clone(original, original / "chunks")
    with pytest.raises(icecore.Error) as caught:
        icecore.clone(tmp_path / "nothing", tmp_path / "copy")
    assert caught.value.kind == "not-found"
    assert not (tmp_path / "copy").exists()
    with pytest.raises(icecore.Error, match="--from SOURCE"):
        icecore.pull(original)


def test_a_copy_that_was_killed_is_no_repository_and_is_continued(tmp_path: Path) -> None:
    original, copy = tmp_path / "o.icecore", tmp_path / "c.icecore"
    with icecore.create(original).writer() as w:
        noise = np.random.default_rng(1).integers(0, 256, (60, 1 << 20), "u1")
        w.array("/noise", "u1", noise.shape, chunks=(1, 1 << 20), codec="none")[...] = noise
    code = "import icecore, sys; icecore.clone(sys.argv[1], sys.argv[2])"
    killed = 0
    for wait in (0.15, 0.25, 0.3, 0.35, 0.4, 0.5):
        process = subprocess.Popen([sys.executable, "-c", code, original, copy])
        time.sleep(wait)
        process.kill()
        process.wait()
        if (copy / "chunks").exists() and not (copy / "repo").exists():
            killed += 1
            with pytest.raises(icecore.Error, match="was interrupted"):
                icecore.open(copy)
    report = None if (copy / "repo").exists() else icecore.clone(original, copy)
    assert_equal(copy, original)
    if report is not None and killed:
        assert report.present + report.chunks == len(list((original / "chunks").iterdir()))
    assert not list(copy.glob(".icecore.lock.*"))


def test_another_source_does_not_continue_a_copy(original: Path, tmp_path: Path) -> None:
    copy = tmp_path / "c.icecore"
    icecore.clone(original, copy)
    (copy / "repo").unlink()
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "other.icecore"
    grown(other, 1)
    with pytest.raises(icecore.Error, match="unfinished copy of"):
        icecore.clone(other, copy)
    icecore.clone(original, copy)
    assert_equal(copy, original)


@pytest.mark.parametrize("folder", ["snapshots", "transactions", "manifests", "chunks"])
def test_damage_in_the_source_is_named_and_not_copied(original: Path, tmp_path: Path, folder: str) -> None:
    files = sorted(path for path in (original / folder).iterdir())
    hurt = files[len(files) // 2]
    hurt.write_bytes(hurt.read_bytes()[:-9])
    with pytest.raises(icecore.Error) as caught:
        icecore.clone(original, tmp_path / "copy")
    assert caught.value.kind == "corrupt"
    assert hurt.name in caught.value.message
    assert not (tmp_path / "copy" / "repo").exists()


def damages(repo: Path, chance: random.Random, folders: tuple[str, ...]) -> list[str]:
    """Damage one object of each folder in one of three ways; return their names."""
    names = []
    for folder in folders:
        files = sorted(
            path for path in (repo / folder).iterdir() if path.name != "repo" and path.stat().st_size
        )
        hurt = chance.choice(files)
        whole = hurt.read_bytes()
        how = chance.choice(["flip", "cut"] if folder == "seals" else ["flip", "cut", "gone"])
        at = chance.randrange(len(whole))
        left = {"flip": whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :], "cut": whole[:at]}
        if how == "gone":
            hurt.unlink()
        else:
            hurt.write_bytes(left[how])
        names.append(f"{folder}/{hurt.name}")
    return names


@pytest.mark.parametrize(
    "folders", [("snapshots", "transactions", "manifests", "chunks"), ("seals", "chunks")]
)
@pytest.mark.parametrize("seed", range(4))
def test_all_damage_is_mended_from_a_copy(tmp_path: Path, seed: int, folders: tuple[str, ...]) -> None:
    place, copy = tmp_path / "o.icecore", tmp_path / "c.icecore"
    repo = grown(place, 4)
    with repo.writer("compressed") as w:
        noise = np.random.default_rng(seed).normal(size=(40, 200))
        w.array("/z", "f8", noise.shape, chunks=(10, 200), shards=(20, 200), codec="zstd")[...] = noise
    icecore.clone(place, copy)
    hurt = damages(place, random.Random(seed), folders)
    report = icecore.repair(place, copy)
    undecided = set(report.undecided)
    assert undecided <= {name for name in hurt if name.startswith("chunks/")}, "only codecs without checksums"
    if undecided:
        assert not report.is_whole
        report = icecore.repair(place, copy, trust_copy=True)
    assert report.is_whole
    assert not report.lost
    assert_equal(place, copy)
    again = icecore.repair(place, copy)
    assert not again.mended
    assert again.is_whole


def test_a_damaged_copy_harms_nothing(original: Path, tmp_path: Path) -> None:
    copy = tmp_path / "c.icecore"
    icecore.clone(original, copy)
    before = {path: path.read_bytes() for path in original.rglob("*/*") if path.parent.name != "overwritten"}
    for folder in ("manifests", "transactions"):
        hurt = sorted((copy / folder).iterdir())[0]
        hurt.write_bytes(b"x")
    for hurt in sorted((copy / "chunks").iterdir()):
        hurt.write_bytes(hurt.read_bytes()[:10])
    report = icecore.repair(original, copy)
    assert report.is_whole
    assert not report.mended
    assert report.missing_in_copy == len(list((copy / "chunks").iterdir()))
    after = {path: path.read_bytes() for path in before}
    assert {path for path in before if before[path] != after[path] and path.name != "repo"} == set()


def test_what_both_have_lost_is_listed(original: Path, tmp_path: Path, run: Run) -> None:
    copy = tmp_path / "c.icecore"
    icecore.clone(original, copy)
    name = sorted((original / "chunks").iterdir())[0].name
    for place in (original, copy):
        (place / "chunks" / name).unlink()
    status, out, _ = run("repair", original, "--from", copy)
    assert status == 1
    assert f"lost chunks/{name}" in out


def test_commands(original: Path, tmp_path: Path, run: Run) -> None:
    copy = tmp_path / "copy.icecore"
    status, out, _ = run("clone", original, copy)
    assert status == 0
    assert "7 versions" in out
    status, out, _ = run("pull", copy)
    assert (status, "is up to date" in out) == (0, True)
    with icecore.open(original).writer("new") as w:
        w["/h/b"][2] = 8
    assert '"versions": 1' in run("pull", copy, "--json")[1]
    hurt = sorted((original / "manifests").iterdir())[0]
    hurt.write_bytes(b"")
    status, _, err = run("verify", original, "--history")
    assert status == 1
    assert f"icecore repair {original} --from COPY" in err
    status, out, _ = run("repair", original, "--from", copy)
    assert status == 0
    assert f"mended manifests/{hurt.name}" in out
    assert run("verify", original, "--history")[0] == 0
    status, out, _ = run("info", copy, "--file-system")
    assert status == 0
    assert "locks" in out
