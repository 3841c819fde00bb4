"""``icecore bench root`` runs on little data, with the readers that are installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from icecore.cli.bench import study

pytest.importorskip("uproot")
pytest.importorskip("matplotlib")

from icecore_bench.root import codecs, entries, objects, opening, sequential, squashfs


def test_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table has rows and every figure is drawn; small objects lose with RAC what pages keep."""
    monkeypatch.setattr(codecs, "_ROWS", (5000, 5000))
    monkeypatch.setattr(codecs, "_QUICK", ("none", "zlib-1"))
    monkeypatch.setattr(entries, "_SIZES", ((40_000, 2), (40_000, 2)))
    monkeypatch.setattr(sequential, "_ROWS", (20_000, 20_000))
    monkeypatch.setattr(sequential, "_CODECS", ("lz4-1", "zlib-1"))
    monkeypatch.setattr(opening, "_BRANCHES", (30, 30))
    small = {"Tlarge": (4_000_000, 4), "Tsmall": (4_000, 400), "Tint": (39, 200_000)}
    monkeypatch.setattr(objects, "_OBJECTS", small)
    outcome = study("root")(tmp_path, None, lambda _: None, True)
    assert [table.title[:7] for table in outcome.tables] == [
        f"Table {n}" for n in range(1, 8 + (not squashfs.absent()))
    ]
    assert all(table.rows for table in outcome.tables)
    assert len(outcome.figures) == 2
    assert all(Path(figure).stat().st_size > 1000 for figure in outcome.figures)
    loss = {str(row[0]): row[3] for row in outcome.tables[1].rows}
    assert loss["Tint, RAC, zlib by Python"] > 50
    assert all(value <= 5 for name, value in loss.items() if "icecore" in name)
    assert ("SquashFS" in outcome.notes[-1]) == bool(squashfs.absent())
