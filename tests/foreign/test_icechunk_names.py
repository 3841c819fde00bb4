"""Whatever Icechunk's own package does to branches, tags and histories, we open and find nothing wrong."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import icecore
import pytest
import zarr
from peer import icechunk


class Life:
    """A repository of Icechunk's, and things that may happen to it."""

    def __init__(self, path: str, **options: Any) -> None:
        self.path = path
        self.repo = icechunk.Repository.create(icechunk.local_filesystem_storage(path), **options)
        self.count = 0

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def session(self, branch: str) -> Any:
        session = self.repo.writable_session(branch)
        root = zarr.open_group(session.store, mode="a")
        array = root.create_array(self.name("a"), shape=(4,), dtype="i4")
        array[...] = self.count
        return session

    def some(self, rng: random.Random) -> str:
        return rng.choice(sorted(self.repo.list_branches()))

    def version(self, rng: random.Random) -> str:
        return rng.choice([entry.id for entry in self.repo.ancestry(branch=self.some(rng))])

    def commit(self, rng: random.Random) -> None:
        self.session(self.some(rng)).commit(self.name("commit "))

    def amend(self, rng: random.Random) -> None:
        branch = self.some(rng)
        if len(list(self.repo.ancestry(branch=branch))) > 1:
            self.session(branch).amend(self.name("amended "))

    def flush(self, rng: random.Random) -> None:
        at = self.session(self.some(rng)).flush(self.name("detached "))
        self.repo.create_branch(self.name("detached"), at)

    def rewrite(self, rng: random.Random) -> None:
        self.repo.rewrite_manifests(self.name("rewritten "), branch=self.some(rng))

    def branch(self, rng: random.Random) -> None:
        self.repo.create_branch(self.name("branch"), self.version(rng))

    def reset(self, rng: random.Random) -> None:
        self.repo.reset_branch(self.some(rng), self.version(rng))

    def delete_branch(self, rng: random.Random) -> None:
        if (branch := self.some(rng)) != "main":
            self.repo.delete_branch(branch)

    def tag(self, rng: random.Random) -> None:
        self.repo.create_tag(self.name("tag"), self.version(rng))

    def delete_tag(self, rng: random.Random) -> None:
        for tag in sorted(self.repo.list_tags())[:1]:
            self.repo.delete_tag(tag)

    def metadata(self, rng: random.Random) -> None:
        self.repo.set_metadata({self.name("key"): rng.random()})

    def expire(self, rng: random.Random) -> None:
        kept = {"delete_expired_branches": rng.random() < 0.5, "delete_expired_tags": rng.random() < 0.5}
        self.repo.expire_snapshots(datetime.now(UTC), **kept)

    def collect(self, rng: random.Random) -> None:
        self.repo.garbage_collect(datetime.now(UTC))

    def check(self) -> None:
        """Names and histories are theirs, at each of them the values are right, and nothing is damaged."""
        ours = icecore.open(self.path)
        assert ours.branches == {name: self.repo.lookup_branch(name) for name in self.repo.list_branches()}
        assert ours.tags == {name: self.repo.lookup_tag(name) for name in self.repo.list_tags()}
        for branch in ours.branches:
            theirs = [(entry.id, entry.message) for entry in self.repo.ancestry(branch=branch)]
            assert [(entry.id, entry.message) for entry in ours.at(branch).log()] == theirs
        for ref in [*ours.branches, *ours.tags]:
            for name, array in ours.at(ref).arrays.items():
                assert set(array.read().tolist()) == {int(name.removeprefix("/a"))}
        assert ours.verify(history=True) == []


COMMON = ("commit", "commit", "commit", "amend", "branch", "reset", "tag")
RARE = ("flush", "rewrite", "delete_branch", "delete_tag", "metadata", "expire", "collect")


@pytest.mark.parametrize("seed", range(3))
def test_any_life(repo_path: str, seed: int) -> None:
    rng, life = random.Random(seed), Life(repo_path)
    for _ in range(24):
        getattr(life, rng.choice(COMMON + RARE if rng.random() < 0.6 else COMMON))(rng)
        life.check()
    # and ours after theirs: what we commit we seal
    with icecore.open(repo_path).writer(message="ours") as writer:
        writer.array("/ours", dtype="i4", shape=(4,))[...] = 7
    icecore.open(repo_path).tag("ours")
    assert icecore.open(repo_path).verify(history=True) == []
    life.repo.create_tag("theirs", life.repo.lookup_branch("main"))
    assert icecore.open(f"{repo_path}@theirs")["/ours"].read().tolist() == [7] * 4


@pytest.mark.parametrize("updates", [1, 2, 5])
def test_a_short_list_of_updates(repo_path: str, updates: int) -> None:
    """Where the list overflows, older updates lie in other files."""
    config = icechunk.RepositoryConfig.default()
    config.num_updates_per_repo_info_file = updates
    rng, life = random.Random(updates), Life(repo_path, config=config)
    life.repo.save_config()
    for _ in range(12):
        getattr(life, rng.choice(COMMON))(rng)
        life.check()


def test_from_the_first_format_on(repo_path: str) -> None:
    rng, life = random.Random(9), Life(repo_path, spec_version=1)
    before = ["commit", "commit", "branch", "commit", "tag", "commit", "delete_tag", "commit", "reset", "tag"]
    for what in before:
        getattr(life, what)(rng)
        life.check()
    life.repo = icechunk.upgrade_icechunk_repository(life.repo, dry_run=False) or icechunk.Repository.open(
        icechunk.local_filesystem_storage(repo_path)
    )
    life.check()
    for what in ("commit", "branch", "commit", "amend", "reset", "delete_branch", "tag", "expire", "collect"):
        getattr(life, what)(rng)
        life.check()


def test_a_flipped_bit_moves_no_branch_of_theirs(tmp_path: Path) -> None:
    """The root object carries no checksum: main is where its commits say, or there is an error."""
    life, rng = Life(str(tmp_path / "at")), random.Random(1)
    for _ in range(3):
        life.commit(rng)
    path, refused = tmp_path / "at", 0
    content = (path / "repo").read_bytes()
    tip, arrays = (opened := icecore.open(path)).snapshot_id, list(opened.arrays)
    for at in range(0, len(content) * 8, 5):
        path = path.rename(tmp_path / f"at{at}")  # nothing remembers it there
        flipped = bytes([content[at // 8] ^ 1 << at % 8])
        (path / "repo").write_bytes(content[: at // 8] + flipped + content[at // 8 + 1 :])
        try:
            opened = icecore.open(path)
            assert (opened.snapshot_id, list(opened.arrays)) == (tip, arrays), f"bit {at}"
        except icecore.Error:
            refused += 1
    assert refused > 400


def test_names_like_times_are_refused_and_those_there_are_are_read(tmp_path: Path) -> None:
    """REPO@DAY is the newest commit until then, unless a name of the other package's hides it."""
    path, day = str(tmp_path / "r"), "2999-01-01"
    life = Life(path)
    life.session("main").commit("one")
    first = icecore.open(path)
    assert icecore.open(f"{path}@{day}").snapshot_id == first.snapshot_id
    for work in (first.tag, first.branch):
        with pytest.raises(icecore.Error, match=f"{day} is a time: REPO@{day} means") as caught:
            work(day)
        assert caught.value.kind == "invalid"
    life.repo.create_branch(day, first.snapshot_id)
    life.session("main").commit("two")
    main = icecore.open(path)
    assert icecore.open(f"{path}@{day}").snapshot_id == first.snapshot_id != main.snapshot_id
    assert icecore.open(f"{path}@{day}T00:00").snapshot_id == main.snapshot_id
    main.delete_branch(day)
    assert icecore.open(f"{path}@{day}").snapshot_id == main.snapshot_id
