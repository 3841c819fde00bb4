"""Repositories of every version of the stored format stay readable, verifiable and writable."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.tables.text.restore import restore
from write_golden import NAMED, chains, digest

HERE = Path(__file__).resolve().parent
FORMATS = sorted((path for path in HERE.glob("[0-9]*") if path.is_dir()), key=lambda path: int(path.name))


@pytest.fixture(params=FORMATS, ids=lambda path: f"format {path.name}")
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A copy whose linked files are where the copy is, and its facts."""
    place = tmp_path / "golden"
    shutil.copytree(request.param, place)
    facts = json.loads((place / "values.json").read_text("utf-8"))
    icecore.relink(facts["files"], place / "files", place / "golden.icecore")
    return place, facts


def check(repo: icecore.Repo, facts: dict[str, Any]) -> None:
    """Every value is as it was, and nothing is damaged."""
    assert set(facts["arrays"]) <= set(repo.arrays)
    for path, expected in facts["arrays"].items():
        assert digest(np.asarray(repo[path][...])) == expected, path
    rows = repo.table("/table").reduce("count, mean:value, min:id, max:id", where="value >= 4")
    assert [dict(row) for row in rows] == facts["table"]
    assert repo.verify(deep=True, history=True) == []


def test_the_current_format_has_a_golden_repository() -> None:
    document = (HERE.parents[1] / "docs" / "format.md").read_text("utf-8")
    current = re.search(r"^Format version: \*\*(\d+)\*\*", document, re.MULTILINE)
    assert current is not None
    assert [path.name for path in FORMATS] == [str(n + 1) for n in range(int(current[1]))]


def test_values(golden: tuple[Path, dict[str, Any]]) -> None:
    place, facts = golden
    repo = icecore.open(place / "golden.icecore")
    check(repo, facts)
    assert len(facts["arrays"]) > 40
    assert set(repo.at("first").arrays) == set(facts["arrays"])


def test_the_text_table_is_restored(golden: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    place, _ = golden
    restore(icecore.open(place / "golden.icecore"), "/table", tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_bytes() == (place / "files" / "table.csv").read_bytes()


def test_appending_to_a_copy(golden: tuple[Path, dict[str, Any]]) -> None:
    place, facts = golden
    before = icecore.open(place / "golden.icecore")
    grown = before["/grown"].shape[0]
    with before.writer(message="append") as writer:
        writer["/grown"].append(np.full((5, 4), 9.0))
        writer.array("/later", "f4", (3,))[...] = [1, 2, 3]
    after = icecore.open(place / "golden.icecore")
    assert after["/grown"].shape == (grown + 5, 4)
    np.testing.assert_array_equal(after["/grown"][grown:], 9.0)
    np.testing.assert_array_equal(after["/grown"][:grown], before["/grown"][...])
    assert after["/later"][...].tolist() == [1, 2, 3]
    check(after, {**facts, "arrays": {k: v for k, v in facts["arrays"].items() if k != "/grown"}})
    check(before, facts)


def test_every_codec_is_stored() -> None:
    document = (HERE.parents[1] / "docs" / "format.md").read_text("utf-8")
    rows = [line.split("|") for line in document.splitlines() if re.match(r"\| `[a-z0-9_.-]+`", line)]
    table = [row for row in rows if len(row) > 3 and "→" in row[2]]
    names = {name for row in table for name in re.findall(r"`([a-z0-9_.]+)`", row[1])}
    ours = {name for name in names if name.startswith("icecore.")}
    assert len(ours) > 10, "the table of codecs is gone from docs/format.md"
    repo = icecore.open(FORMATS[-1] / "golden.icecore")
    stored = set(re.findall(r'"name":\s*"([a-z0-9_.]+)"', " ".join(n.zarr_json for n in repo._visible())))
    # Text parts depend on a measurement of large columns.
    assert ours - stored <= {"icecore.text_part"}, ours - stored
    assert {*NAMED, *chains()} == {
        path.rsplit("/", 1)[1] for path in repo.arrays if path.startswith("/codecs/")
    }
