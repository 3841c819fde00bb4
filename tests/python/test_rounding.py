"""``round(…)``: each stored value is within the bound, and what marks missing elements is exact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.cli import table
from icecore.codecs.rounding import Rounding, split
from typer.testing import CliRunner

RNG = np.random.default_rng(40)
FILL = -9999.0
RULES = [
    Rounding("rel", 1e-3),
    Rounding("rel", 0.7),
    Rounding("abs", 0.01),
    Rounding("abs", 1e6),
    Rounding("bits", 7),
    Rounding("bits", 0),
    Rounding("bits", 52),
]


def numbers(dtype: str, count: int = 20_000) -> np.ndarray:
    """Bit patterns of all kinds, ordinary numbers, and those at the ends of the range."""
    size = np.dtype(dtype).itemsize
    patterns = RNG.integers(0, 256, count * size, "u1").view(dtype)
    info = np.finfo(dtype)
    special = [0, -0.0, np.inf, -np.inf, np.nan, info.max, info.min, info.tiny, info.tiny / 2, FILL, FILL + 1]
    usual = RNG.normal(FILL, 10, count)
    return np.concatenate([patterns, usual, RNG.normal(0, 1, count), special]).astype(dtype)


def allowed(rule: Rounding, exact: np.ndarray) -> Any:
    if rule.kind == "abs":
        return np.longdouble(rule.value)
    relative = rule.value if rule.kind == "rel" else 2.0 ** -(rule.value + 1)
    return np.abs(exact.astype(np.longdouble)) * np.longdouble(relative)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_all_values_are_within_the_bound(dtype: str, rule: Rounding) -> None:
    values = numbers(dtype)
    found = rule.apply(values, [np.dtype(dtype).type(FILL)])
    word = f"u{values.dtype.itemsize}"
    is_special = ~np.isfinite(values) | (values == values.dtype.type(FILL))
    np.testing.assert_array_equal(found[is_special].view(word), values[is_special].view(word))
    assert np.isfinite(found[~is_special]).all()
    assert (found[~is_special] != values.dtype.type(FILL)).all(), "no value becomes a missing one"
    rest = values[~is_special]
    error = np.abs(found[~is_special].astype(np.longdouble) - rest.astype(np.longdouble))
    assert (error <= allowed(rule, rest)).all()
    again = rule.apply(found, [np.dtype(dtype).type(FILL)])
    np.testing.assert_array_equal(again.view(word), found.view(word))


def test_most_bits_are_zero() -> None:
    values = RNG.normal(280, 5, 10_000).astype("f4")
    for rule, zeros in ((Rounding("rel", 1e-3), 14), (Rounding("bits", 10), 13), (Rounding("abs", 0.01), 9)):
        assert not (rule.apply(values).view("u4") & ((1 << zeros) - 1)).any(), str(rule)


@pytest.mark.parametrize(
    "spec",
    [
        "round",
        "round()",
        "round(rel=0)",
        "round(rel=1)",
        "round(rel=x)",
        "round(bits=1.5)",
        "round(bits=99)",
        "round(abs=inf)",
        "round(abs=-1)",
        "round(rel=1e-3",
        "round(exact)",
        "round(rel=1e-3, abs=1)",
        "round(rel=1e-3)+nothing",
    ],
)
def test_nonsense_is_refused(spec: str, tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.zeros((3, 4)))
    with pytest.raises(icecore.Error) as caught:
        icecore.pack(tmp_path / "t.npy", into=tmp_path / "r", codec=spec)
    assert caught.value.kind == "codec"
    assert not (tmp_path / "r").exists()


def test_rules() -> None:
    assert split("zstd:3") == (None, "zstd:3")
    rules, rest = split(" round( t2m: abs=0.1, /a/psl:exact, bits=8 ) + shuffle+zstd:9")
    assert rules is not None
    assert (rules.named("/x/t2m"), rules.named("/a/psl"), rules.rest) == (
        Rounding("abs", 0.1),
        None,
        Rounding("bits", 8),
    )
    assert (rules.names, rest) == ({"t2m", "/a/psl"}, "shuffle+zstd:9")


def test_a_writer_rounds_what_it_writes_and_later_appends(tmp_path: Path) -> None:
    rows = RNG.normal(280, 5, (30, 20, 30))
    rows[3, 4] = FILL
    repo = icecore.create(tmp_path / "r")
    with repo.writer() as w:
        x = w.array(
            "/x", "f8", (0, 20, 30), codec="round(abs=0.01)", attrs={"_FillValue": FILL, "units": "K"}
        )
        for row in rows[:10]:
            x.append(row)
        with pytest.raises(icecore.Error) as caught:
            w.array("/i", "i4", (3,), codec="round(abs=0.01)")
        assert caught.value.kind == "dtype"
    for row in rows[10:]:
        with icecore.open(tmp_path / "r").writer() as w:
            w["/x"].append(row)
    with icecore.open(tmp_path / "r").writer() as w:
        w["/x"][5, 3:9] = rows[5, 3:9] = RNG.normal(size=(6, 30))
        w["/x"][::7, 2] = rows[::7, 2] = 1 / 3
    found = icecore.open(tmp_path / "r")["/x"].read()
    assert (found[3, 4] == FILL).all()
    assert 0.003 < np.abs(found - rows).max() <= 0.01
    assert not (found.view("u8") & 0xFFFF_FFFF).any()
    assert icecore.open(tmp_path / "r")["/x"].attrs["units"] == "K"


def test_pack_rounds_data_and_shows_the_bound(tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray")
    t2m, psl = RNG.normal(280, 5, (8, 40, 50)).astype("f4"), RNG.normal(1e5, 900, (8, 40, 50))
    t2m[2, 3] = np.nan
    time, lat = np.arange(8) / 3, np.linspace(-1, 1, 40) / 3
    dims = ("time", "lat", "lon")
    data = {
        "t2m": (dims, t2m),
        "psl": (dims, psl),
        "area": (("lat", "lon"), psl[0]),
        "n": (("lon",), np.arange(50)),
    }
    coords = {"time": ("time", time, {"units": "days since 2001-01-01"}), "lat": ("lat", lat)}
    ds = xr.Dataset(data, coords)
    ds["t2m"].attrs["cell_measures"] = "area: area"
    ds.to_netcdf(tmp_path / "a.nc", engine="h5netcdf", encoding={"t2m": {"_FillValue": np.float32(FILL)}})
    exact, lossy = tmp_path / "exact", tmp_path / "lossy"
    icecore.pack(tmp_path / "a.nc", into=exact)
    icecore.pack(tmp_path / "a.nc", into=lossy, codec="round(psl:abs=5, area:exact, rel=1e-3)")
    one, two = icecore.open(exact), icecore.open(lossy)
    for path in one.arrays:
        if path.rpartition("/")[2] not in ("t2m", "psl"):
            np.testing.assert_array_equal(two[path].read(), one[path].read())
    group = next(path for path in one.arrays if path.endswith("/t2m")).rpartition("/")[0]
    a, b = one[f"{group}/t2m"].read(), two[f"{group}/t2m"].read()
    np.testing.assert_array_equal(a == np.float32(FILL), b == np.float32(FILL))
    assert 1e-4 < np.abs(b / a - 1).max() <= 1e-3
    assert 1 < np.abs(one[f"{group}/psl"].read() - two[f"{group}/psl"].read()).max() <= 5
    assert two[f"{group}/t2m"].nbytes_stored < one[f"{group}/t2m"].nbytes_stored / 2
    runner = CliRunner()
    info = json.loads(runner.invoke(table(), ["info", str(lossy), f"{group}/t2m", "--json"]).output)
    assert info["rounded"] == "relative error at most 0.001"
    listed = json.loads(runner.invoke(table(), ["ls", str(lossy), "--json"]).output)
    assert {row["path"]: row["rounded"] for row in listed if "rounded" in row} == {
        f"{group}/psl": "absolute error at most 5",
        f"{group}/t2m": "relative error at most 0.001",
    }
    for bad, kind in (("round(tas:abs=1)", "not-found"), ("round(n:abs=1)", "dtype")):
        with pytest.raises(icecore.Error) as caught:
            icecore.pack(tmp_path / "a.nc", into=tmp_path / "bad", codec=bad)
        assert caught.value.kind == kind
    assert not (tmp_path / "bad").exists()
