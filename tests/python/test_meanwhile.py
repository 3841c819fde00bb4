"""Others commit while something is planned, or since a repository was opened: nothing of theirs is lost."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from icecore.ingest.plan import link_plan, pack_plan

VERBS = [icecore.pack, icecore.link]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Four rows each, one after the other."""
    paths = [tmp_path / f"{i}.h5" for i in range(4)]
    for i, path in enumerate(paths):
        with h5py.File(path, "w") as file:
            for name, data in (("time", np.arange(4 * i, 4 * i + 4)), ("t", np.full(4, i))):
                file.create_dataset(name, data=data, chunks=(2,), maxshape=(None,))
            file["time"].make_scale("time")
            file["t"].dims[0].attach_scale(file["time"])
    return paths


def rows(repo_path: str) -> list[int]:
    repo = icecore.open(repo_path)
    times = repo["/run/time"].read()
    np.testing.assert_array_equal(repo["/run/t"].read(), times // 4)
    return [int(time) for time in times]


@pytest.mark.parametrize("verb", VERBS)
def test_appending_to_a_repository_opened_before(
    repo_path: str, files: list[Path], verb: Callable[..., Any]
) -> None:
    verb(files[0], repo_path, "/run", "time")
    opened = icecore.open(repo_path)
    for path in files[1:]:
        verb(path, opened, "/run", "time", append=True)
    assert rows(repo_path) == list(range(16))
    assert opened["/run/time"].shape == (4,), "a version stays what it is"


def test_replacing_in_a_repository_opened_before(repo_path: str, files: list[Path]) -> None:
    opened = icecore.create(repo_path)
    icecore.pack(files[0], opened, "/run")
    with pytest.raises(icecore.Error, match="/run/t exists in the repository") as caught:
        icecore.pack(files[1], opened, "/run")
    assert caught.value.kind == "exists"
    icecore.pack(files[1], opened, "/run", replace=True)
    assert rows(repo_path) == [4, 5, 6, 7]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("first", [True, False])
def test_somebody_is_quicker(
    repo_path: str,
    files: list[Path],
    verb: Callable[..., Any],
    first: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between the plan and the commit, on a repository that is there and on one that is yet to be made."""
    if not first:
        verb(files[0], repo_path, "/run", "time")
    plan = pack_plan.assemble

    def slow(*given: Any, **options: Any) -> Any:
        planned = plan(*given, **options)
        monkeypatch.undo()
        verb(files[2], repo_path, "/run", "time", append=not first)
        return planned

    for module in (pack_plan, link_plan):
        monkeypatch.setattr(module, "assemble", slow)
    with pytest.raises(icecore.Error) as caught:
        verb(files[1], repo_path, "/run", "time", append=not first)
    assert caught.value.kind == "conflict"
    assert rows(repo_path) == ([] if first else [0, 1, 2, 3]) + [8, 9, 10, 11]


def test_two_make_a_repository_for_different_groups(
    repo_path: str, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = pack_plan.assemble

    def slow(*given: Any, **options: Any) -> Any:
        monkeypatch.undo()
        icecore.pack(files[2], repo_path, "/other")
        return plan(*given, **options)

    monkeypatch.setattr(pack_plan, "assemble", slow)
    icecore.pack(files[1], repo_path, "/run")
    assert rows(repo_path) == [4, 5, 6, 7]
    assert icecore.open(repo_path)["/other/t"].shape == (4,)


def test_a_repository_that_someone_is_making(repo_path: str, files: list[Path]) -> None:
    """Who makes it holds its lock; the root object and the seals come last."""
    icecore.create(repo_path)
    made = Path(repo_path)
    last = {made / name: made.with_name(f"{name}.hidden") for name in ("repo", "seals")}
    for place, hidden in last.items():
        place.rename(hidden)
    lock = (made / ".icecore.lock").open("r+")
    fcntl.flock(lock, fcntl.LOCK_EX)

    def complete() -> None:
        for place, hidden in last.items():
            hidden.rename(place)
        lock.close()

    timer = threading.Timer(0.2, complete)
    timer.start()
    icecore.pack(files[1], repo_path, "/run")
    timer.join()
    assert rows(repo_path) == [4, 5, 6, 7]
    (made / "repo").unlink()
    with pytest.raises(icecore.Error) as caught:
        icecore.pack(files[1], repo_path, "/run")
    assert caught.value.kind == "format"
