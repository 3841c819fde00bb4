"""Files whose numbers are packed with unlike scales, as reanalyses are: joined as what they stand for."""

import icecore
import numpy as np
import pytest

h5netcdf = pytest.importorskip("h5netcdf")
xr = pytest.importorskip("xarray")


def written(path, first, encoding, **attrs):
    """Ten hours of a field, packed as ``encoding`` says, some of it missing."""
    random = np.random.default_rng(first)
    values = 280 + first + random.standard_normal((10, 4, 6)).round(2)
    values[random.random(values.shape) < 0.1] = np.nan
    time = ("time", first + np.arange(10.0), {"units": "hours since 2000-01-01"})
    data = xr.Dataset({"t": (("time", "y", "x"), values, {"units": "K", **attrs}), "time": time})
    data.to_netcdf(path, engine="h5netcdf", encoding={"t": encoding, "time": {"_FillValue": None}})
    return path


def packed(scale=0.002, offset=283.0, dtype="i2", fill=-32767, kind=float):
    return {"dtype": dtype, "scale_factor": kind(scale), "add_offset": kind(offset), "_FillValue": fill}


def unpacked(report):
    return [note for note in report.notes if note.kind == "unpacked"]


def opened(repo):
    return xr.open_dataset(repo, engine="icecore", group="/t", decode_times=False)


ENCODINGS = {
    "doubles": [packed(), packed(0.003, 290.0), packed(0.003, 291.0)],
    "floats": [packed(kind=np.float32), packed(0.003, 290.0, kind=np.float32)],
    "wide": [packed(1e-5, dtype="i4", kind=np.float32), packed(2e-5, dtype="i4", kind=np.float32)],
    "bytes": [packed(0.1, dtype="i1", fill=-128), packed(0.2, 290.0, dtype="i1", fill=-127)],
    "unsigned": [packed(0.1, 275.0, "u1", 255), packed(0.2, 270.0, "u1", 255)],
    "plain_beside": [packed(), {"dtype": "f4", "_FillValue": -1.0}],
    "types": [packed(), packed(1e-5, dtype="i4")],
}


@pytest.mark.parametrize("encodings", ENCODINGS.values(), ids=ENCODINGS)
def test_they_are_what_xarray_joins(tmp_path, encodings):
    files = [written(tmp_path / f"{i}.nc", 10 * i, each) for i, each in enumerate(encodings)]
    report = icecore.pack(files, tmp_path / "r", group="/t", concat="time")
    ours = opened(tmp_path / "r")
    parts = [xr.open_dataset(file, engine="h5netcdf", decode_times=False) for file in files]
    theirs = xr.concat([part.t for part in parts], "time")
    assert ours.t.dtype == theirs.dtype
    assert np.array_equal(ours.t, theirs, equal_nan=True)
    assert np.isnan(ours.t).any()
    assert ours.t.attrs == theirs.attrs == {"units": "K"}
    [note] = unpacked(report)
    assert note.name == "/t/t"
    assert f"unpacked to {theirs.dtype}" in note.message


def test_one_scale_stays_packed(tmp_path):
    files = [written(tmp_path / f"{i}.nc", 10 * i, packed()) for i in range(2)]
    report = icecore.pack(files, tmp_path / "r", group="/t", concat="time")
    assert icecore.open(tmp_path / "r")["/t/t"].dtype == "i2"
    assert not unpacked(report)


def test_limits_of_packed_numbers_are_left_out_by_name(tmp_path):
    limits = {"valid_range": np.array([-100, 100], "i2")}
    files = [written(tmp_path / f"{i}.nc", 10 * i, packed(0.002 + i), **limits) for i in range(2)]
    report = icecore.pack(files, tmp_path / "r", group="/t", concat="time")
    assert "valid_range left out" in unpacked(report)[0].message
    assert icecore.open(tmp_path / "r")["/t/t"].attrs == {"units": "K"}


def test_more_is_appended_to_floats_but_not_to_integers(tmp_path):
    files = [written(tmp_path / f"{i}.nc", 10 * i, packed(0.002 + i / 1000)) for i in range(4)]
    icecore.pack(files[:2], tmp_path / "r", group="/t", concat="time")
    icecore.pack(files[2:], tmp_path / "r", group="/t", concat="time", append=True)
    theirs = xr.concat([xr.open_dataset(f, engine="h5netcdf", decode_times=False).t for f in files], "time")
    assert np.array_equal(opened(tmp_path / "r").t, theirs, equal_nan=True)
    icecore.pack(files[:1], tmp_path / "one", group="/t", concat="time")
    with pytest.raises(icecore.Error, match="int16 in the repository, float64 in") as caught:
        icecore.pack(files[1:], tmp_path / "one", group="/t", concat="time", append=True)
    assert caught.value.kind == "mismatch"
    assert "all of its files in one go" in caught.value.hint


def test_other_differences_and_links_are_refused(tmp_path):
    scaled = [written(tmp_path / f"{i}.nc", 10 * i, packed(0.002 + i)) for i in range(2)]
    with pytest.raises(icecore.Error, match=r"scale_factor is 1\.002") as caught:
        icecore.link(scaled, tmp_path / "r", group="/t", concat="time")
    assert "`icecore pack` joins such files as floats" in caught.value.hint
    other = written(tmp_path / "c.nc", 20, packed(3.0), units="degC")
    with pytest.raises(icecore.Error, match="units is 'degC'") as caught:
        icecore.pack([scaled[0], other], tmp_path / "r", group="/t", concat="time")
    assert "give them one units first" in caught.value.hint
    codes = written(tmp_path / "d.nc", 30, packed(3.0), flag_values=np.array([1, 2], "i2"))
    with pytest.raises(icecore.Error, match="scale_factor") as caught:
        icecore.pack([scaled[0], codes], tmp_path / "r", group="/t", concat="time")
    assert "`icecore pack`" not in caught.value.hint
