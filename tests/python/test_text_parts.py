"""Text columns that contain another column's text: stored once, read each by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.repository.stored_bytes import stored_bytes
from icecore.tables.text import column_codecs
from icecore.tables.text.restore import restore

RNG = np.random.default_rng(5)
ROWS = 2000


def index() -> dict[str, list[str]]:
    """Columns of an index of files: a path around the name of a file, the name, something else."""
    numbers = RNG.integers(10**9, 2 * 10**9, ROWS)
    names = [f"N{number}_{number % 7}.IMG" for number in numbers]
    folders = [f"data/{number % 40:04}" for number in numbers]
    return {
        "path": [f"{folder}/{name}.xml" for folder, name in zip(folders, names, strict=True)],
        "name": names,
        "other": [f"x{number * 7919 % 10**9}" for number in numbers],
    }


def pack(folder: Path, data: dict[str, list[str]], **options: Any) -> icecore.Repo:
    rows = zip(*data.values(), strict=True)
    text = "\n".join(",".join(row) for row in rows)
    (folder / "i.csv").write_text(",".join(data) + f"\n{text}\n")
    icecore.pack(folder / "i.csv", into=folder / "r", group="/t", **options)
    return icecore.open(folder / "r")


def codec(repo: icecore.Repo, name: str) -> str:
    return str(repo[f"/t/{name}"].codecs[0]["name"])


def test_a_path_around_a_name_costs_almost_nothing(tmp_path: Path) -> None:
    data = index()
    repo = pack(tmp_path, data)
    assert codec(repo, "path") == "icecore.text_part"
    for name, values in data.items():
        assert repo[f"/t/{name}"][:].tolist() == [value.encode() for value in values]
        assert repo[f"/t/{name}"][1500] == values[1500].encode()
    path, name = repo["/t/path"], repo["/t/name"]
    together = stored_bytes([path, name])
    assert together == path.nbytes_stored
    folders = [value.split("/")[1] for value in data["path"]]
    alone = pack_one(tmp_path, folders)
    assert together - name.nbytes_stored < 1.2 * alone + 200
    assert not repo.verify(deep=True)
    restore(repo, "/t", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "i.csv").read_bytes()


def pack_one(folder: Path, values: list[str]) -> int:
    """Bytes of a column alone."""
    (folder / "one").mkdir()
    return pack(folder / "one", {"folder": values, "n": ["1"] * len(values)})["/t/folder"].nbytes_stored


def test_one_row_that_differs_keeps_both_columns(tmp_path: Path) -> None:
    data = index()
    data["path"][1234] = "elsewhere"
    repo = pack(tmp_path, data)
    assert codec(repo, "path") != "icecore.text_part"
    assert repo["/t/path"][1234] == b"elsewhere"


def test_portable_tables_do_without(tmp_path: Path) -> None:
    repo = pack(tmp_path, index(), portable=True)
    assert "icecore" not in str([array.codecs for array in repo.arrays.values()])


def test_rows_that_are_appended_may_break_the_rule(tmp_path: Path) -> None:
    data = index()
    pack(tmp_path, data)
    more = {name: [f"{name}{i}" for i in range(30)] for name in data}
    rows = "\n".join(",".join(row) for row in zip(*more.values(), strict=True))
    (tmp_path / "more.csv").write_text(",".join(data) + f"\n{rows}\n")
    icecore.pack(tmp_path / "more.csv", into=tmp_path / "r", group="/t", append=True, concat="row")
    repo = icecore.open(tmp_path / "r")
    for name, values in data.items():
        assert repo[f"/t/{name}"][:].tolist() == [value.encode() for value in [*values, *more[name]]]


def test_zarr_python_reads_both(tmp_path: Path) -> None:
    """With icecore installed, plain zarr-python finds ``icecore.text_part`` by its entry point."""
    icechunk = pytest.importorskip("icechunk", minversion="2")
    zarr = pytest.importorskip("zarr")
    data = index()
    repo = pack(tmp_path, data)
    assert codec(repo, "path") == "icecore.text_part"
    theirs = icechunk.Repository.open(icechunk.local_filesystem_storage(str(tmp_path / "r")))
    group = zarr.open_group(theirs.readonly_session("main").store, mode="r", path="t")
    for name, values in data.items():
        assert group[name][:].tolist() == [value.encode() for value in values]


@pytest.mark.parametrize(
    ("long", "short", "rule"),
    [
        ("a/b/n{}.xml", "n{}", (b"/", 0, b".")),
        ("N{}_1.IMG", "{}", (b"", 1, b"_")),
        ("{}.tar.gz", "{}", (b"", 0, b".")),
    ],
)
def test_rules(long: str, short: str, rule: tuple[bytes, int, bytes]) -> None:
    numbers = RNG.integers(10**6, 10**7, 500)
    columns = {
        "long": np.array([long.format(n).encode() for n in numbers]),
        "short": np.array([short.format(n).encode() for n in numbers]),
    }
    (name, found) = column_codecs.find(columns)["long"]
    assert name == "short"
    assert [found.part(value) for value in columns["long"].tolist()] == columns["short"].tolist()
    assert column_codecs.Rule(*rule).part(columns["long"][0]) == columns["short"][0]
    assert "short" not in column_codecs.find(columns)


def test_no_columns() -> None:
    assert column_codecs.find({}) == {}
