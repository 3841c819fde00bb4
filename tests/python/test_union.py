"""Unions of tables by column name."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def repo(tmp_path: Path) -> icecore.Repo:
    texts = {
        "a": "id,x\n1,1.5\n2,2.25\n",
        "b": "x,id,y\n3.5,3,c\n4.5,4,d\n",
        "c": "z\n7\n8\n9\n",
        "d": "id\nfive\nsix\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(text)
        icecore.pack(tmp_path / f"{name}.csv", tmp_path / "r", group=f"/{name}")
    return icecore.open(tmp_path / "r")


def tables(repo: icecore.Repo, names: str) -> list[icecore.Table]:
    return [repo.table(f"/{name}") for name in names]


def test_columns_are_matched_by_name(repo: icecore.Repo) -> None:
    found = icecore.union(tables(repo, "abc"), name="table").read_all()
    assert found.column_names == ["table", "id", "x", "y", "z"]
    assert found.to_pydict() == {
        "table": ["/a", "/a", "/b", "/b", "/c", "/c", "/c"],
        "id": [1, 2, 3, 4, None, None, None],
        "x": [1.5, 2.25, 3.5, 4.5, None, None, None],
        "y": [None, None, "c", "d", None, None, None],
        "z": [None] * 4 + [7, 8, 9],
    }


def test_some_columns_and_rows(repo: icecore.Repo) -> None:
    found = icecore.union(tables(repo, "ab"), ["y", "id"], where="id >= 2").read_all()
    assert found.to_pydict() == {"y": [None, "c", "d"], "id": [2, 3, 4]}
    assert icecore.union(tables(repo, "ac"), ["z"]).read_all()["z"].to_pylist() == [None, None, 7, 8, 9]


@pytest.mark.parametrize("seed", range(8))
def test_random_tables(tmp_path: Path, seed: int) -> None:
    """The union has the rows of each table, whatever columns it has and in which order."""
    random = np.random.default_rng(seed)
    repo = icecore.create(tmp_path / "r")
    expected: list[dict[str, float | None]] = []
    kinds = {"p": ["i2", "i4", "u1"], "q": ["f4", "f8", "i2"], "r": ["f8"], "s": ["u4", "i8"]}
    with repo.writer() as w:
        for number in range(3):
            rows = int(random.integers(1, 20))
            names = random.permutation(list(kinds))[: random.integers(1, 5)].tolist()
            data = {n: random.integers(0, 99, rows).astype(random.choice(kinds[n])) for n in names}
            for name, values in data.items():
                w.array(f"/t{number}/{name}", values.dtype, values.shape)[...] = values
            expected += [
                {n: data[n][row].item() if n in data else None for n in kinds} for row in range(rows)
            ]
    repo = repo.at("main")
    found = icecore.union([repo.table(f"/t{number}") for number in range(3)]).read_all()
    assert [{n: row.get(n) for n in kinds} for row in found.to_pylist()] == expected


def test_what_does_not_fit(repo: icecore.Repo) -> None:
    with pytest.raises(icecore.Error, match=r"column id is int64 in /a and .*string in /d") as error:
        icecore.union(tables(repo, "ad"))
    assert error.value.kind == "mismatch"
    with pytest.raises(icecore.Error, match="none of the tables has a column w"):
        icecore.union(tables(repo, "ab"), ["w"])
    with pytest.raises(icecore.Error, match="have a column id"):
        icecore.union(tables(repo, "ab"), name="id")
    with pytest.raises(icecore.Error, match="no tables"):
        icecore.union([])
    with pytest.raises(icecore.Error) as error:
        icecore.union(tables(repo, "ab"), where="y == 'c'")
    assert error.value.kind == "not-found", "table a has no y"


@pytest.mark.parametrize("key", ["units", "scale_factor"])
def test_numbers_of_other_meaning_are_not_mixed(tmp_path: Path, key: str) -> None:
    repo = icecore.create(tmp_path / "r")
    values = {"units": ["K", "degC", None], "scale_factor": [0.1, 0.01, None]}[key]
    with repo.writer() as w:
        for number, value in enumerate(values):
            attrs = {} if value is None else {key: value}
            w.array(f"/t{number}/x", "i4", (2,), attrs=attrs)[...] = [1, 2]
    found = [repo.at("main").table(f"/t{number}") for number in range(3)]
    with pytest.raises(icecore.Error, match=rf"column x has {values[0]} {key} in /t0") as error:
        icecore.union(found[:2])
    assert error.value.kind == "mismatch"
    if key == "units":
        assert icecore.union([found[2], found[0]]).schema.field("x").metadata[b"units"].strip(b'"') == b"K"
    else:
        with pytest.raises(icecore.Error, match="no scale_factor in /t2"):
            icecore.union([found[0], found[2]])


def test_integers_that_a_float_does_not_hold(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "r")
    with repo.writer() as w:
        w.array("/a/n", "i8", (1,))[...] = [2**53 + 1]
        w.array("/b/n", "f8", (1,))[...] = [0.5]
    repo = repo.at("main")
    with pytest.raises(icecore.Error, match="/a: column n does not fit double") as error:
        icecore.union([repo.table("/a"), repo.table("/b")]).read_all()
    assert error.value.kind == "mismatch"
