"""Rows by the file that they came from."""

from __future__ import annotations

import json
from pathlib import Path

import icecore
import numpy as np
import pytest
import tables_kit as kit
from icecore import cli
from icecore.errors import Error
from icecore.tables.summaries import write

pytest.importorskip("pyarrow")
COUNTS = {"a1.csv": 9000, "a2.csv": 5000, "b1.csv": 7000}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    for i, (name, count) in enumerate(COUNTS.items()):
        _, values = kit.rows(count, seed=i)
        lines = [b"%d,%.3f\n" % pair for pair in zip(values["COUNT"], values["VALUE"], strict=True)]
        (folder / name).write_bytes(b"count,value\n" + b"".join(lines))
    files = [folder / name for name in COUNTS]
    icecore.pack(files, into=folder / "r.icecore", group="/t", concat="rows")
    return folder / "r.icecore"


def test_rows_of_files(path: Path) -> None:
    table = icecore.open(path).table("/t")
    assert write.state(table["value"]) == "fresh"
    every = table.to_numpy()
    for source, start, stop in [
        ("a1.csv", 0, 9000),
        ("a2.csv", 9000, 14_000),
        ("b*", 14_000, 21_000),
        ("a?.csv", 0, 14_000),
        ("*", 0, 21_000),
    ]:
        found = table.to_numpy(source=source)
        np.testing.assert_array_equal(found["value"], every["value"][start:stop])
        hits = every["count"][start:stop] > 9000
        found = table.to_numpy(["value"], "count > 9000", source=source)
        np.testing.assert_array_equal(found["value"], every["value"][start:stop][hits])
        assert table.scan(source=source, limit=10).read_all().num_rows == 10
        # Whole zones come from summaries, the zones that two files share from their rows.
        for prune in (True, False):
            row = table.reduce("count, sum:count, mean:value", source=source, prune=prune)[0]
            assert (row["count"], row["sum:count"]) == (stop - start, every["count"][start:stop].sum())
            assert row["mean:value"] == pytest.approx(every["value"][start:stop].mean(), rel=1e-12)
    ends = np.r_[0:9000, 14_000:21_000]
    np.testing.assert_array_equal(table.to_numpy(source="?1.csv")["value"], every["value"][ends])


def test_zones_between_files_are_not_taken_as_whole(path: Path) -> None:
    table = icecore.open(path).table("/t")
    scan = table._scan(["value"], source="a2.csv", unsure_only=True)
    assert scan.whole() == []  # 9,000 to 14,000: the zone from 12,288 on has rows of the next file
    assert scan.count() == 5000
    scan = table._scan(["value"], source="b1.csv", unsure_only=True)
    assert scan.whole() == [(16_384, 21_000)]
    assert scan.count() == 16_384 - 14_000


def test_what_came_from_no_file(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = icecore.open(path).table("/t")
    with pytest.raises(Error, match=r"a1\.csv, a2\.csv, b1\.csv") as caught:
        table.scan(source="c1.csv")
    assert caught.value.kind == "not-found"
    with icecore.create(tmp_path / "x.icecore").writer() as w:
        w.array("/t/a", "f8", (5,))[...] = 1
    with pytest.raises(Error) as caught:
        icecore.open(tmp_path / "x.icecore").table("/t").scan(source="*")
    assert caught.value.kind == "invalid"
    assert cli.run(["query", str(path), "/t", "--source", "a2*", "--reduce", "count", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"count": 5000}]
    assert cli.run(["query", str(path), "/t", "--source", "zz", "--columns", "value"]) == 2
    assert "a1.csv" in capsys.readouterr().err
