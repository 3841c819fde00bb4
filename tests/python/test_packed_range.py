"""Numbers that packed integers can't hold are refused, wherever an xarray object is written."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest

xr = pytest.importorskip("xarray")
pytest.importorskip("zarr")
import icecore.integrations.xarray_accessor  # noqa: E402  (registers the accessor)

PACKING = {"dtype": "i2", "scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -32768}


def grid(values: np.ndarray, encoding: dict[str, object] = PACKING) -> xr.Dataset:
    dataset = xr.Dataset({"t2m": (("x",), values)})
    dataset["t2m"].encoding = dict(encoding)
    return dataset


def refused(call) -> str:
    with pytest.raises(icecore.Error) as error:
        call()
    assert error.value.kind == "mismatch"
    return str(error.value)


@pytest.mark.parametrize("chunks", [None, 3], ids=["memory", "dask"])
def test_pack_refuses_what_would_wrap(tmp_path: Path, chunks: int | None) -> None:
    if chunks:
        pytest.importorskip("dask")
    values = np.array([280.0, np.nan, 300.0, 310.0, 1000.0, 290.0])
    into = tmp_path / "grid.icecore"
    given = grid(values) if chunks is None else grid(values).chunk(x=chunks)
    given["t2m"].encoding = dict(PACKING)
    message = refused(lambda: icecore.pack(given, into=into))
    assert "/t2m" in message
    assert "1000" in message
    assert "int16" in message
    good = grid(np.where(values == 1000, 600.0, values))
    icecore.pack(good, into=into, replace=into.exists())
    read = icecore.open(into).to_xarray()["t2m"].values
    np.testing.assert_allclose(read, good["t2m"].values, atol=0.006)


def test_a_region_refuses_what_would_wrap(tmp_path: Path) -> None:
    into = tmp_path / "grid.icecore"
    icecore.pack(grid(np.full(6, 280.0)), into=into)
    before = icecore.open(into)["/t2m"][:]
    message = refused(lambda: grid(np.array([290.0, 700.0]), {}).icecore.to(into, region={"x": slice(2, 4)}))
    assert "1 of 2 numbers" in message
    assert "700" in message
    assert np.array_equal(icecore.open(into)["/t2m"][:], before)
    grid(np.array([290.0, 600.0]), {}).icecore.to(into, region={"x": slice(2, 4)})
    assert icecore.open(into).to_xarray()["t2m"].values[3] == pytest.approx(600.0, abs=0.006)


@pytest.mark.parametrize(
    ("dtype", "flag", "fits", "too_large"),
    [
        ("i1", "true", 255.0, 256.0),
        ("i1", None, 127.0, 128.0),
        ("u1", None, 255.0, 256.0),
        ("i8", None, 2.0**62, 2.0**63),
    ],
)
def test_the_borders_of_integers(
    tmp_path: Path, dtype: str, flag: str | None, fits: float, too_large: float
) -> None:
    encoding = {"dtype": dtype, **({"_Unsigned": flag} if flag else {})}
    icecore.pack(grid(np.array([fits]), encoding), into=tmp_path / "fits.icecore")
    refused(lambda: icecore.pack(grid(np.array([too_large]), encoding), into=tmp_path / "not.icecore"))
    refused(lambda: icecore.pack(grid(np.array([np.inf]), encoding), into=tmp_path / "not.icecore"))
