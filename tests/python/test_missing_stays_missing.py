"""A missing value stays missing in joins, appends, exports and tables, whatever marks it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import cli

xr = pytest.importorskip("xarray")
pd = pytest.importorskip("pandas")
pytest.importorskip("netCDF4")
import icecore.integrations.xarray  # noqa: E402  (registers the accessor)

TIMES = ["2000-03-01T06:00", "NaT", "2000-01-02"]
#: encodings of times: dtype, units and marker of the first and of the second part
ENCODINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "int64": ({}, {}),
    "int64 of other units": ({"units": "hours since 1900-01-01"}, {"units": "seconds since 2000-01-01"}),
    "int64 with a marker": ({"_FillValue": -1}, {"_FillValue": -1, "units": "hours since 1950-01-01"}),
    "float64": ({"dtype": "f8"}, {"dtype": "f8", "units": "days since 1950-01-01"}),
    "float64 and int64": ({"dtype": "f8"}, {"units": "hours since 1950-01-01"}),
    "int32 with a marker": (
        {"dtype": "i4", "_FillValue": -9, "units": "hours since 2000-01-01"},
        {"dtype": "i4", "_FillValue": -9, "units": "minutes since 2000-01-01"},
    ),
}


def part(which: int, encoding: dict[str, Any]) -> Any:
    values = pd.DatetimeIndex(TIMES) + pd.Timedelta(days=31 * which)
    dataset = xr.Dataset({"observed": ("obs", values), "v": ("obs", np.arange(3.0))})
    dataset.observed.encoding = dict(encoding)
    return dataset


def joined(verb: Any, **options: Any) -> Callable[[Path, list[Any]], Path]:
    def join(folder: Path, parts: list[Any]) -> Path:
        files = []
        for i, each in enumerate(parts):
            each.to_netcdf(folder / f"{i}.nc")
            files.append(folder / f"{i}.nc")
        if options:
            for i, file in enumerate(files):
                verb(file, folder / "r", "/g", "obs", append=i > 0)
        else:
            verb(files, folder / "r", "/g", "obs")
        return folder / "r"

    return join


def through_xarray(folder: Path, parts: list[Any]) -> Path:
    for each in parts:
        each.icecore.to(folder / "r", group="/g", append_dim="obs")
    return folder / "r"


WAYS = {
    "link": joined(icecore.link),
    "pack": joined(icecore.pack),
    "pack --append": joined(icecore.pack, append=True),
    "append_dim": through_xarray,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_times(tmp_path: Path, encoding: str, way: str) -> None:
    parts = [part(i, each) for i, each in enumerate(ENCODINGS[encoding])]
    expected = np.concatenate([each.observed.values for each in parts])
    repo = WAYS[way](tmp_path, parts)
    found = icecore.open(repo).to_xarray("/g").observed.values
    np.testing.assert_array_equal(found.astype("M8[s]"), expected.astype("M8[s]"))


def test_durations() -> None:
    repo = icecore.create("memory://")
    for i, values in enumerate((["1D", "NaT"], ["1h", "NaT"], ["1s", "NaT"])):
        spans = pd.to_timedelta(values).to_numpy()
        xr.Dataset({"d": ("t", spans)}, {"t": [2 * i, 2 * i + 1]}).icecore.to(repo, append_dim="t")
    found = xr.open_dataset(repo.at("main"), engine="icecore", decode_timedelta=True).d.values
    expected = pd.to_timedelta(["1D", "NaT", "1h", "NaT", "1s", "NaT"]).to_numpy()
    np.testing.assert_array_equal(found.astype("m8[s]"), expected.astype("m8[s]"))


def test_strings() -> None:
    repo = icecore.create("memory://")
    values = [["a", "b"], ["c", None], [None, None], ["d", ""]]
    for i, texts in enumerate(values):
        part = xr.Dataset({"s": ("t", np.array(texts, object))}, {"t": [2 * i, 2 * i + 1]})
        part.icecore.to(repo, append_dim="t")
    found = repo.at("main").to_xarray().s.values.tolist()
    assert [None if text is None or text != text else text for text in found] == [
        text for pair in values for text in pair
    ]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_floats_of_a_data_frame_hold_nan(dtype: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"f": np.array([0.5, np.nan, 1.5], dtype), "n": pd.array([2**60 + 1, None, 3], "Int64")}
    )
    icecore.pack(frame, tmp_path / "r", "/t")
    table = icecore.open(tmp_path / "r").table("/t")
    np.testing.assert_array_equal(table["f"][...], frame.f.to_numpy())
    found = table.to_pandas()
    assert found.n.dtype == "Int64"
    assert found.n.isna().tolist() == found.f.isna().tolist() == [False, True, False]
    assert found.n[0] == 2**60 + 1
    assert table.reduce("count:f, mean:f")[0] == {"count:f": 2, "mean:f": 1.0}
    assert cli.run(["query", str(tmp_path / "r"), "/t", "-o", str(tmp_path / "o.npy")]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy")["f"], frame.f.to_numpy())


def test_null_and_nan_stay_apart_where_both_are(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    given = pa.table({"f": pa.array([1.0, None, float("nan")])})
    icecore.pack(given, tmp_path / "r", "/t")
    found = icecore.open(tmp_path / "r").table("/t").scan().read_all()["f"]
    assert found.is_null().to_pylist() == [False, True, False]
    assert cli.run(["query", str(tmp_path / "r"), "/t", "-o", str(tmp_path / "o.npy")]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy")["f"], [1, np.nan, np.nan])


def test_nan_that_is_appended_to_missing_numbers_is_missing(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    icecore.pack(pa.table({"f": pa.array([1.0, None])}), tmp_path / "r", "/t")
    report = icecore.pack(
        pa.table({"f": pa.array([2.0, float("nan")])}), tmp_path / "r", "/t", "row", append=True
    )
    assert any("NaN is missing" in note.message for note in report.notes)
    found = icecore.open(tmp_path / "r").table("/t").scan().read_all()["f"].to_pylist()
    assert found == [1.0, None, 2.0, None]


def test_infinities_in_json_are_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    icecore.pack({"g": np.array([1, np.inf, -np.inf])}, tmp_path / "r", "/t")
    assert cli.run(["query", str(tmp_path / "r"), "/t", "--json"]) == 0
    printed = capfd.readouterr()
    assert json.loads(printed.out) == [{"g": 1.0}, {"g": None}, {"g": None}]
    assert "2 infinite numbers written as null" in printed.err


def test_numbers_without_a_marker_are_refused() -> None:
    repo = icecore.create("memory://")
    xr.Dataset({"n": ("t", np.array([1, 2], "i2"))}).icecore.to(repo)
    for values, message in (
        ([3.0, np.nan], "1 missing"),
        ([3.5, 1.0], "don't fit"),
        ([3, 70_000], "don't fit"),
    ):
        with pytest.raises(icecore.Error, match=message) as caught:
            xr.Dataset({"n": ("t", np.array(values))}).icecore.to(repo, append_dim="t")
        assert caught.value.kind == "mismatch"
    assert repo.at("main")["/n"][...].tolist() == [1, 2]
