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


COMMAS = {
    "semicolons": b"t;v\n00:00:01,25;5\n00:00:02,5;6\n",
    "semicolons, no header": b"00:00:01,25;5\n00:00:02,5;6\n",
    "tabs": b"t\tv\n00:00:01,25\t5,5\n00:00:02,5\t6,0\n",
    "quoted among commas": b't,v\n"00:00:01,25",5\n"00:00:02,5",6\n',
    "one column": b"t\r\n00:00:01,25\r\n00:00:02,5",
    "some with points": b"t;v\n00:00:01.25;5\n00:00:02,5;6\n00:00:03,75;7\n",
}
CALENDARS = {
    "blanks": b"t;v\n2020-01-02 00:00:01,250;5\n2020-01-02 00:00:02,500;6\n",
    "no header": b"2020-01-02 00:00:01,250;5\n2020-01-02 00:00:02,500;6\n",
    "UTC": b"t;v\n2020-01-02T00:00:01,25Z;5\n2020-01-02T00:00:02,5Z;6\n",
    "an offset": b"t|v\n2020-01-02 02:00:01,25+02:00|5\n2020-01-02 02:00:02,5+02:00|6\n",
    "points in dates": b"t;v\n02.01.2020 00:00:01,25;0,5\n02.01.2020 00:00:02,5;1,5\n",
    "one column": b"t\n2020-01-02 00:00:01,25\n2020-01-02 00:00:02,5\n",
    "numbers with points": b"t;v\n2020-01-02 00:00:01,250;5.5\n2020-01-02 00:00:02,500;6.5\n",
}


@pytest.mark.parametrize("case", COMMAS)
def test_times_of_day_with_decimal_commas(tmp_path: Path, case: str) -> None:
    (tmp_path / "a.csv").write_bytes(COMMAS[case])
    repo, _, again = round_trip(tmp_path / "a.csv", tmp_path)
    times = next(iter(repo.table("/t").to_numpy().values()))
    assert times.dtype == "m8[ms]"
    assert (times.astype(int)[:2].tolist(), again) == ([1250, 2500], COMMAS[case])


@pytest.mark.parametrize("case", CALENDARS)
def test_dates_and_times_with_decimal_commas(tmp_path: Path, case: str) -> None:
    (tmp_path / "a.csv").write_bytes(CALENDARS[case])
    repo, report, again = round_trip(tmp_path / "a.csv", tmp_path)
    times = next(iter(repo.table("/t").to_numpy().values()))
    wanted = np.array(["2020-01-02T00:00:01.250", "2020-01-02T00:00:02.500"], "M8[ms]")
    np.testing.assert_array_equal(times, wanted)
    assert (times.dtype, again) == (wanted.dtype, CALENDARS[case])
    assert not [note for note in report.notes if "is text" in note.message]


def test_times_and_values_between_commas_stay_apart(tmp_path: Path) -> None:
    """A comma is the mark of a fraction only where something else is between cells."""
    (tmp_path / "a.csv").write_bytes(b"2020-01-01 12:00:00,5\n2020-01-01 12:00:01,6\n")
    repo, _, _ = round_trip(tmp_path / "a.csv", tmp_path)
    first, second = repo.table("/t").to_numpy().values()
    assert (first.dtype, second.tolist()) == ("M8[s]", [5, 6])
