"""One group costs what it holds: nodes handed over by the engine, with few and with many groups beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import icecore
import pytest
from icecore.cli import run
from icecore.repository.repo import Repo

#: arrays in each group
INSIDE = 6


class CountingNative:
    """The engine's repository; counts the nodes that it hands over."""

    def __init__(self, native: Any) -> None:
        self._native, self.visited = native, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)

    def nodes(self) -> Any:
        """All nodes."""
        found = self._native.nodes()
        self.visited += len(found)
        return found

    def members(self, path: str) -> Any:
        """The members of a group."""
        found = self._native.members(path)
        # Those of the root are its groups: of a repository with more groups there are more.
        self.visited += len(found) if path != "/" else 1
        return found

    def node(self, path: str) -> Any:
        """One node."""
        self.visited += 1
        return self._native.node(path)


@pytest.fixture(scope="module")
def repos(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Repositories of 10 and of 200 equal groups."""
    folder, made = tmp_path_factory.mktemp("width"), []
    for groups in (10, 200):
        repo = icecore.create(folder / f"{groups}.icecore")
        with repo.writer() as writer:
            for i in range(groups):
                writer.group(f"/g{i:03}", {"number": i})
                for j in range(INSIDE):
                    array = writer.array(f"/g{i:03}/v{j}", "f4", (2,), ("x",) if j else (None,))
                    array[...] = [i, j]
        made.append(repo.url)
    return made


def dataset(repo: Repo, **options: Any) -> Any:
    xarray = pytest.importorskip("xarray")
    return xarray.open_dataset(repo, engine="icecore", group="/g003", **options)


def tree(repo: Repo) -> Any:
    xarray = pytest.importorskip("xarray")
    return xarray.open_datatree(repo, engine="icecore", group="/g003")


CALLS: dict[str, Callable[[Repo], Any]] = {
    "group": lambda repo: repo["/g003"],
    "array": lambda repo: repo["/g003/v1"][:],
    "contains": lambda repo: "/g003/v1" in repo,
    "get of a missing one": lambda repo: repo.get("/g003"),
    "arrays": lambda repo: [repo["/g003"].arrays for _ in range(5)],
    "groups": lambda repo: repo["/g003"].groups,
    "names": lambda repo: (list(repo["/g003"]), len(repo["/g003"]), repo["/g003"].items()),
    "repr": lambda repo: (repr(repo["/g003"]), repo["/g003"]._repr_html_()),
    "attributes": lambda repo: (repo["/g003"].attrs, repo["/g003/v1"].attrs, repo.attrs),
    "read": lambda repo: repo.read({"/g003/v1": None, "/g003/v2": slice(1)}),
    "plan": lambda repo: repo.plan({"/g003/v1": None}),
    "storage": lambda repo: repo["/g003/v1"].storage,
    "table": lambda repo: repo.table("/g003").to_numpy(where="v1 > 0"),
    "dask": lambda repo: pytest.importorskip("dask.array") and repo["/g003/v1"].to_dask(),
    "dataset": dataset,
    "dataset with rtol": lambda repo: dataset(repo, rtol=0.1),
    "dataset, loaded": lambda repo: dataset(repo).load(),
    "data array": lambda repo: repo["/g003/v1"].to_xarray(),
    "tree": tree,
}


@pytest.mark.parametrize("call", CALLS)
def test_nodes_visited(repos: list[str], call: str) -> None:
    visited = []
    for url in repos:
        repo = icecore.open(url)
        counting = repo._native = CountingNative(repo._native)  # type: ignore[assignment]
        CALLS[call](repo)
        visited.append(counting.visited)
    assert visited[0] == visited[1], f"{call}: nodes visited with 10 groups and with 200"
    assert visited[0] < 20 * (INSIDE + 1)


@pytest.mark.parametrize("command", [["ls"], ["info"], ["read"], ["explain"]], ids=lambda c: c[0])
def test_nodes_visited_by_commands(
    repos: list[str], command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    visited = []
    known, before = [], Repo.__init__

    def counted(self: Repo, native: Any, *rest: Any) -> None:
        known.append(CountingNative(native))
        before(self, known[-1], *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Repo, "__init__", counted)
    for url in repos:
        known.clear()
        path = "/g003" if command[0] in ("ls", "info") else "/g003/v1"
        assert run([*command, url, path]) == 0
        visited.append(sum(native.visited for native in known))
    assert capsys.readouterr().out
    assert visited[0] == visited[1]


def test_tree_of_everything_grows_with_what_it_holds(repos: list[str]) -> None:
    """Twenty times the groups: about twenty times the nodes, not four hundred times."""
    xarray = pytest.importorskip("xarray")
    visited = []
    for url in repos:
        repo = icecore.open(url)
        counting = repo._native = CountingNative(repo._native)  # type: ignore[assignment]
        xarray.open_datatree(repo, engine="icecore")
        visited.append(counting.visited)
    assert visited[1] <= 25 * visited[0]
    assert Path(repos[1]).exists()
