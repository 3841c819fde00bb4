"""Times of which few have a fraction of a second, or one of more digits than the others."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from tables_kit import round_trip


@pytest.mark.parametrize("at", [3, 29_000], ids=["in what is sampled", "behind it"])
@pytest.mark.parametrize("fraction", ["000", "5", "123456"])
def test_fractions_that_few_times_have(tmp_path: Path, at: int, fraction: str) -> None:
    """Their cells had no value, and the column no ticks for them."""
    rows = [f"{i},2020-01-01T{i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}" for i in range(30_000)]
    rows[at] += f".{fraction}"
    text = "\n".join(["n,t", *rows, ""]).encode()
    (tmp_path / "a.csv").write_bytes(text)
    repo, report, again = round_trip(tmp_path / "a.csv", tmp_path)
    assert again == text
    assert not report.notes
    times = np.array([row.partition(",")[2] for row in rows], "M8[us]")
    np.testing.assert_array_equal(repo["/t/t"][...], times)
    assert repo["/t"]._node.ours["table"]["sources"][0]["cells"] == 1  # the others are printed


def test_finer_fractions_in_a_row_that_is_appended(tmp_path: Path) -> None:
    rows = [f"2020-01-01T00:00:{i % 60:02}.5Z" for i in range(3000)]
    last = ["2020-01-02T00:00:00.1234567Z", "2020-01-02T00:00:01Z"]
    for name, some in (("a", rows), ("b", [*rows, *last])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["t", *some, ""]))
    for name in "ab":
        icecore.pack(
            tmp_path / f"{name}.csv",
            into=tmp_path / "r",
            group="/t",
            concat="rows",
            append=name == "b",
        )
    times = np.array([row.removesuffix("Z") for row in [*rows, *rows, *last]], "M8[ns]")
    np.testing.assert_array_equal(icecore.open(tmp_path / "r")["/t/t"][...], times)
