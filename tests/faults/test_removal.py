"""A repository that was made for a verb which then failed: it goes, unless others put something into it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import icecore
import pytest
from icecore import errors
from icecore.ingest.write.destination import Target, writing

COMMIT = """
import sys, icecore
repo = icecore.open(sys.argv[1])
repo.branch("side")
with icecore.open(sys.argv[1] + "@side").writer() as writer:
    writer.array("/theirs", "i4", (3,))[...] = [1, 2, 3]
"""


def failing(place: Path, meanwhile: Callable[[Path], object]) -> None:
    def work() -> None:
        with writing(Target(place, message="made")):
            meanwhile(place)
            raise errors.make("corrupt", "the source is bad", "")

    with pytest.raises(errors.Error, match="the source is bad"):
        work()


def test_nothing_is_left(tmp_path: Path) -> None:
    failing(tmp_path / "r.icecore", lambda place: icecore.open(place))
    assert list(tmp_path.iterdir()) == []


def test_what_another_process_committed_to_another_branch_stays(tmp_path: Path) -> None:
    place = tmp_path / "r.icecore"
    failing(place, lambda at: subprocess.run([sys.executable, "-c", COMMIT, str(at)], check=True))
    assert icecore.open(f"{place}@side")["/theirs"][...].tolist() == [1, 2, 3]


def test_a_tag_is_reason_enough_to_stay(tmp_path: Path) -> None:
    place = tmp_path / "r.icecore"
    failing(place, lambda at: icecore.open(at).tag("v1", "main"))
    assert icecore.open(place).tags


def test_a_writer_that_comes_too_late_is_told(tmp_path: Path) -> None:
    """And the folder is not made again by what it writes."""
    place = tmp_path / "r.icecore"
    late = []

    def prepare(at: Path) -> None:
        late.append(icecore.open(at).writer())
        late[0].__enter__()
        late[0].array("/late", "f8", (100_000,), codec="none")[...] = range(100_000)

    failing(place, prepare)
    with pytest.raises(errors.Error, match="was removed") as raised:
        late[0].__exit__(None, None, None)
    assert raised.value.kind == "not-found"
    assert raised.value.hint
    assert list(tmp_path.iterdir()) == []
