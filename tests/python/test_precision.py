"""Part of the precision for part of the bytes: within the bound, and cheaper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import cli

RNG = np.random.default_rng(23)
SHAPE = (4, 300, 200)
SMOOTH = np.cumsum(RNG.normal(0, 1e-3, SHAPE).astype("f4"), axis=2) + 280
MIXED = (RNG.normal(0, 1, SHAPE) * 10.0 ** RNG.integers(-30, 30, SHAPE)).astype("f4")
MIXED.reshape(-1)[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42, -1e-45, np.float32(1.0)]
MIXED.view("u4").reshape(-1)[8] = 0x7F800001  # a NaN that only its last bit tells from infinity


def planes(*widths: int) -> list[dict[str, Any]]:
    """Byte planes of these widths, each shuffled and compressed."""
    codecs = [
        [
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "numcodecs.shuffle", "configuration": {"elementsize": width}},
            {"name": "zstd", "configuration": {"level": 1, "checksum": False}},
        ]
        for width in widths
    ]
    split = [{"bytes": width, "codecs": inner} for width, inner in zip(widths, codecs, strict=True)]
    return [{"name": "icecore.byteplanes", "configuration": {"planes": split}}]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("precision") / "r.icecore"
    dims = ("time", "lat", "lon")
    with icecore.create(place).writer() as w:
        for name, data in {"smooth": SMOOTH, "mixed": MIXED}.items():
            kind = {"chunks": (1, 150, 200), "shards": (2, 300, 200), "codec": planes(2, 1, 1)}
            w.array(f"/g/{name}", "f4", SHAPE, dims, **kind)[...] = data
        w.array("/g/plain", "f4", SHAPE, dims)[...] = SMOOTH
        with np.errstate(invalid="ignore"):  # the signalling NaN becomes a quiet one
            double = MIXED.reshape(-1)[:1000].astype("f8")
        w.array("/g/double", "f8", (1000,), codec=planes(2, 1, 1, 4))[...] = double
        w.array("/g/complex", "c8", (500,), codec=planes(2, 1, 1))[...] = MIXED.reshape(-1)[:1000].view("c8")
        pairs = (
            SMOOTH[0, :280].reshape(200, 140, 2)[..., 0] - 1j * SMOOTH[1, :280].reshape(200, 140, 2)[..., 1]
        )
        w.array("/g/pairs", "c8", (200, 140), chunks=(70, 60), codec=planes(2, 1, 1))[...] = pairs
        w.array("/g/whole", "i4", (1000,), codec=planes(2, 1, 1))[...] = np.arange(1000)
    return str(place)


def check(got: np.ndarray, want: np.ndarray, bound: float) -> None:
    """Normal numbers within the bound, all others bit for bit."""
    if got.dtype.kind == "c":
        got, want = (np.ascontiguousarray(x).view(f"f{x.dtype.itemsize // 2}") for x in (got, want))
    bits = f"u{want.dtype.itemsize}"
    normal = np.isfinite(want) & (np.abs(want) >= np.finfo(want.dtype).tiny)
    exact = want[normal].astype("f8")
    assert np.all(np.abs(got[normal].astype("f8") - exact) <= bound * np.abs(exact))
    assert np.array_equal(got[~normal].view(bits), want[~normal].view(bits))


@pytest.mark.parametrize("rtol", [0.5, 2**-8, 1e-3, 1.6e-5, 1e-5, 1e-7, 0.0])
@pytest.mark.parametrize("name", ["smooth", "mixed", "plain"])
def test_within_the_bound(path: str, name: str, rtol: float) -> None:
    array = icecore.open(path)[f"/g/{name}"]
    want = MIXED if name == "mixed" else SMOOTH
    bound = array.bound(rtol=rtol)
    assert bound <= rtol
    sel = (slice(1, 4), slice(10, 290, 3), slice(None, None, -1))
    assert array.plan(sel, rtol=rtol).rtol_bound == bound
    check(array.read(rtol=rtol), want, bound)
    check(array.read(sel, rtol=rtol), want[sel], bound)
    out = np.empty(SHAPE, "f4")
    check(array.read(out=out, rtol=rtol), want, bound)
    assert np.array_equal(array.read().view("u4"), want.view("u4"))


@pytest.mark.parametrize("bytes_", [2, 3, 4])
@pytest.mark.parametrize("name", ["smooth", "mixed", "pairs"])
def test_boxes_are_parts_of_the_whole(path: str, name: str, bytes_: int) -> None:
    """Any part of the chunks, decoded for this read alone."""
    array = icecore.open(path)[f"/g/{name}"]
    whole = array.read(leading_bytes=bytes_)
    rng = np.random.default_rng(bytes_)
    for _ in range(25):
        starts = [int(rng.integers(0, n)) for n in array.shape]
        stops = [int(rng.integers(a + 1, n + 1)) for a, n in zip(starts, array.shape, strict=True)]
        box = tuple(slice(a, b, int(rng.integers(1, 3))) for a, b in zip(starts, stops, strict=True))
        box = (*box[:-1], slice(starts[-1], stops[-1])) if rng.random() < 0.7 else box
        # What is kept for the next read goes another way.
        found = array._native.read(box, None, False, {"bytes": bytes_, "cache": False})
        assert found.tobytes() == np.ascontiguousarray(whole[box]).tobytes(), box


def test_bounds(path: str) -> None:
    group = icecore.open(path)["/g"]
    assert [group["smooth"].bound(leading_bytes=n) for n in (1, 2, 3, 4)] == [2**-8, 2**-8, 2**-16, 0.0]
    assert [group["double"].bound(leading_bytes=n) for n in (2, 3, 4, 5, 8)] == [
        2**-5,
        2**-13,
        2**-21,
        0.0,
        0.0,
    ]
    assert group["complex"].bound(rtol=0.01) == 2**-8
    assert group["plain"].bound(rtol=0.01) == group["smooth"].bound() == 0.0
    for name, count in {"double": (2, 3, 4), "complex": (2, 3)}.items():
        for n in count:
            array = group[name]
            check(array.read(leading_bytes=n), array.read(), array.bound(leading_bytes=n))


def test_fewer_bytes_are_fetched(path: str) -> None:
    array = icecore.open(path)["/g/smooth"]
    top, third, whole = (array.plan(leading_bytes=n).bytes_fetched for n in (2, 3, 4))
    assert top < third < whole
    assert top < 0.35 * whole


@pytest.mark.parametrize(
    ("name", "asked", "kind"),
    [
        ("whole", {"rtol": 0.1}, "unsupported"),
        ("whole", {"leading_bytes": 2}, "unsupported"),
        ("smooth", {"rtol": -1.0}, "invalid"),
        ("smooth", {"rtol": float("nan")}, "invalid"),
        ("smooth", {"leading_bytes": 0}, "invalid"),
        ("smooth", {"rtol": 0.1, "leading_bytes": 2}, "invalid"),
    ],
)
def test_refused(path: str, name: str, asked: dict[str, Any], kind: str) -> None:
    array = icecore.open(path)[f"/g/{name}"]
    for ask in (array.read, array.plan, array.bound):
        with pytest.raises(icecore.Error) as caught:
            ask(**asked)
        assert caught.value.kind == kind


def test_command_line(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> tuple[str, str]:
        assert cli.run(list(arguments)) == 0
        return capsys.readouterr()

    out, err = run("read", path, "/g/smooth", "0, :2, :3", "--rtol", "0.01", "--json")
    facts = json.loads(out)
    assert facts["rtol_bound"] == 2**-8
    assert "0.0039" in err
    check(np.array(facts["data"], "f4"), SMOOTH[0, :2, :3], 2**-8)
    file = tmp_path / "part.npy"
    run("read", path, "/g/mixed", "--bytes", "3", "-o", str(file))
    check(np.load(file), MIXED, 2**-16)
    out, err = run("read", path, "/g/plain", "0, :2, :3", "--rtol", "0.01", "--json")
    assert json.loads(out)["rtol_bound"] == 0
    assert err == ""
    part, whole = (
        json.loads(run("explain", path, "/g/smooth", "--json", *more)[0]) for more in (["--rtol", "0.01"], [])
    )
    assert part["bytes_fetched"] < 0.35 * whole["bytes_fetched"]
    assert "at most 0.0039" in run("explain", path, "/g/smooth", "--bytes", "2")[0]


def test_xarray(path: str) -> None:
    xr = pytest.importorskip("xarray")
    with xr.open_dataset(path, engine="icecore", group="/g", rtol=0.01) as ds:
        assert ds.smooth.attrs["rtol_bound"] == 2**-8
        assert ds.plain.attrs["rtol_bound"] == 0
        assert "rtol_bound" not in ds.whole.attrs
        check(ds.smooth.values, SMOOTH, 2**-8)
        assert not np.array_equal(ds.smooth.values, SMOOTH)
        assert np.array_equal(ds.whole.values, np.arange(1000))
        check(ds.mixed[1:3, ::7].values, MIXED[1:3, ::7], 2**-8)


def test_xarray_where_data_are_is_exact() -> None:
    xr = pytest.importorskip("xarray")
    repo = icecore.create("memory://exact-axes")
    lat, times = np.linspace(-87.8638, 87.8638, 64), 40000 + np.arange(5) / 3
    since = {"units": "days since 1890-01-01", "bounds": "time_bnds"}
    with repo.writer() as w:
        w.array("/lat", "f8", (64,), ("lat",), codec="planes")[...] = lat
        w.array("/when", "f8", (5,), ("t",), codec="planes", attrs=since)[...] = times
        w.array("/time_bnds", "f8", (5, 2), ("t", "two"), codec="planes")[...] = times[:, None] + [0, 1]
        w.array("/v", "f8", (5, 64), ("t", "lat"), codec="planes")[...] = lat / 3
    with xr.open_dataset(repo.url, engine="icecore", rtol=0.05, decode_times=False) as ds:
        assert np.array_equal(ds.lat.values, lat)
        assert np.array_equal(ds.when.values, times)
        assert np.array_equal(ds.time_bnds.values, times[:, None] + [0, 1])
        assert ds.v.attrs["rtol_bound"] == 2**-5
        assert not np.array_equal(ds.v.values, np.broadcast_to(lat / 3, (5, 64)))


def test_xarray_coordinates_that_variables_name_are_exact() -> None:
    """As of a swath, whose places are arrays of two axes."""
    xr = pytest.importorskip("xarray")
    repo = icecore.create("memory://exact-swath")
    places = np.linspace(-179.8, 179.9, 24).reshape(4, 6)
    of = {"coordinates": "lat lon", "grid_mapping": "crs"}
    with repo.writer() as w:
        w.group("/", {"coordinates": "height"})
        for name, attrs in (("lat", {"bounds": "corners"}), ("lon", {}), ("v", of), ("w", {})):
            w.array(f"/{name}", "f8", (4, 6), ("y", "x"), codec="planes", attrs=attrs)[...] = places
        w.array("/corners", "f8", (4, 6, 4), ("y", "x", "c"), codec="planes")[...] = places[..., None]
        w.array("/height", "f8", (), codec="planes")[...] = 1.1
        w.array("/crs", "f8", (), codec="planes")[...] = 1.1
    with xr.open_dataset(repo.url, engine="icecore", rtol=0.05) as ds:
        exact = {name for name, found in ds.variables.items() if "rtol_bound" not in found.attrs}
        assert exact == {"lat", "lon", "corners", "height", "crs"}
        assert np.array_equal(ds.lon.values, places)


def test_xarray_places_are_exact_by_what_they_are_or_who_names_them() -> None:
    """By their units or standard name, or from a group below that has none of that name itself."""
    xr = pytest.importorskip("xarray")
    repo = icecore.create("memory://exact-places")
    places = np.linspace(-89.8, 89.9, 24)
    known = {
        "north": {"units": "degrees_north"},
        "east": {"units": "degreeE"},
        "place": {"standard_name": "latitude"},
        "named": {},
        "hidden": {},
        "angle": {"units": "degrees"},
    }
    with repo.writer() as w:
        for name, attrs in known.items():
            w.array(f"/g/{name}", "f8", (24,), ("x",), codec="planes", attrs=attrs)[...] = places
        of = {"coordinates": "named hidden"}
        w.array("/g/below/v", "f8", (24,), ("x",), codec="planes", attrs=of)[...] = places
        w.array("/g/below/hidden", "f8", (24,), ("x",), codec="planes")[...] = places
        w.array("/gg/v", "f8", (24,), ("x",), attrs={"coordinates": "angle"})[...] = places
    for group in ("/g", "g/"):
        with xr.open_dataset(repo.url, engine="icecore", group=group, rtol=0.05) as ds:
            exact = {name for name, found in ds.variables.items() if "rtol_bound" not in found.attrs}
            assert exact == {"north", "east", "place", "named"}
            assert np.array_equal(ds.north.values, places)
    with repo.writer() as w:
        w.array("/top", "f8", (24,), ("x",), codec="planes")[...] = places
        w.array("/g/w", "f8", (24,), ("x",), codec="planes", attrs={"coordinates": "top"})[...] = places
    with xr.open_dataset(repo.url, engine="icecore", rtol=0.05) as ds:
        assert "rtol_bound" not in ds.top.attrs


def test_xarray_keeps_the_bound_behind_an_offset() -> None:
    """-10.01 + 10 would be off by more than its own size."""
    xr = pytest.importorskip("xarray")
    repo = icecore.create("memory://offset")
    stored = np.linspace(-10.01, -9.99, 50)
    with repo.writer() as w:
        for name, attrs in (("v", {"scale_factor": 2.0, "add_offset": 20.0}), ("w", {"scale_factor": 2.0})):
            w.array(f"/{name}", "f8", (50,), ("x",), codec="planes", attrs=attrs)[...] = stored
    with xr.open_dataset(repo.url, engine="icecore", rtol=0.01) as ds:
        assert np.array_equal(ds.v.values, stored * 2 + 20)
        assert ds.w.attrs["rtol_bound"] == 2**-13
        assert not np.array_equal(ds.w.values, stored * 2)


@pytest.mark.parametrize(
    ("dtype", "bounds"),
    [
        ("f2", [2**-3, 0]),
        ("f4", [2**-8, 2**-8, 2**-16, 0]),
        ("f8", [2**-5, 2**-5, 2**-13, 2**-21, 2**-29, 2**-37, 0, 0]),
        ("c8", [2**-8, 2**-8, 2**-16, 0]),
        ("c16", [2**-5, 2**-5, 2**-13, 2**-21, 2**-29, 2**-37, 0, 0]),
    ],
)
def test_the_short_name(dtype: str, bounds: list[float]) -> None:
    parts = SMOOTH[0].astype("f8") + (1j * SMOOTH[1].astype("f8") if dtype[0] == "c" else 0)
    data = parts.astype(dtype)
    repo = icecore.create(f"memory://planes-{dtype}")
    with repo.writer() as w:
        w.array("/x", dtype, data.shape, chunks=(100, 200), shards=(300, 200), codec="planes")[...] = data
    array = icecore.open(repo.url)["/x"]
    assert [array.bound(leading_bytes=n) for n in range(1, len(bounds) + 1)] == bounds
    for n, bound in enumerate(bounds, 1):
        check(array.read(leading_bytes=n), data, bound)


def test_packed_with_planes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, repo = tmp_path / "x.npy", str(tmp_path / "r.icecore")
    np.save(source, SMOOTH)
    assert cli.run(["pack", str(source), "--into", repo, "--codec", "planes:5"]) == 0
    array = icecore.open(repo)["/x/x"]
    check(array.read(rtol=0.01), SMOOTH, array.bound(rtol=0.01))
    assert array.bound(rtol=0.01) == 2**-8
    assert array.chunks == SHAPE  # 960 kB in one: of smaller chunks a store far away would give all planes
    np.save(source, np.arange(1000))
    assert cli.run(["pack", str(source), "--into", repo, "--replace", "--codec", "planes"]) == 0
    assert [codec["name"] for codec in icecore.open(repo)["/x/x"].codecs][:2] == ["bytes", "blosc"]
    capsys.readouterr()
    assert cli.run(["pack", str(source), "--into", repo, "--replace", "--codec", "planes", "--portable"]) != 0
    assert "is not portable" in capsys.readouterr().err


def test_many_arrays_in_one_plan(path: str) -> None:
    repo = icecore.open(path)
    items = {"/g/smooth": np.s_[1:3, ::5], "g/mixed": None, "/g/plain": np.s_[0]}
    for asked, bound in (({"rtol": 0.01}, 2**-8), ({"leading_bytes": 3}, 2**-16), ({}, 0.0)):
        found = repo.read(items, **asked)
        assert list(found) == list(items)
        check(found["/g/smooth"], SMOOTH[1:3, ::5], bound)
        check(found["g/mixed"], MIXED, bound)
        assert np.array_equal(found["/g/plain"], SMOOTH[0])
        assert repo.plan(items, **asked).rtol_bound == bound
    out = {"g/mixed": np.empty(SHAPE, "f4")}
    assert repo.read(items, out, rtol=0.01)["g/mixed"] is out["g/mixed"]
    assert repo.plan(items, leading_bytes=2).bytes_fetched < repo.plan(items).bytes_fetched
    with pytest.raises(icecore.Error) as caught:
        repo.read({"/g/smooth": None, "/g/whole": None}, rtol=0.1)
    assert caught.value.kind == "unsupported"


@pytest.mark.parametrize("writer", ["icecore", "zarr"])
@pytest.mark.parametrize("fill", [1e20, -9999.0, 280.0, 9.96921e36])
def test_fill_values_are_exact(fill: float, writer: str, tmp_path: Path) -> None:
    data = SMOOTH[0].copy()  # about 280: one of the fill values has many neighbours
    data[::3, ::2] = fill
    data[100:150] = fill
    options = {"codec": planes(2, 1, 1), "chunks": (50, 200), "fill_value": fill}
    with icecore.create(tmp_path / "r").writer() as w:
        array = w.array("/t", "f4", data.shape, ("y", "x"), **options)
        if writer == "icecore":
            array[...] = data
    if writer == "zarr":
        zarr, icechunk = pytest.importorskip("zarr"), pytest.importorskip("icechunk")
        store = icechunk.local_filesystem_storage(str(tmp_path / "r"))
        session = icechunk.Repository.open(store).writable_session("main")
        zarr.open_array(session.store, path="t", mode="r+")[...] = data
        session.commit("by zarr-python")
    array = icecore.open(tmp_path / "r")["/t"]
    assert np.array_equal(array[...], data)
    missing = data == np.float32(fill)
    for count in (1, 2, 3):
        found = array.read(leading_bytes=count)
        check(found, data, array.bound(leading_bytes=count))
        assert np.all(found[missing] == array.fill_value)
        part = array.read(np.s_[10:120:7, 5:90], leading_bytes=count)
        assert np.all(part[missing[10:120:7, 5:90]] == array.fill_value)


@pytest.mark.parametrize("via", ["icecore", "icechunk"])
def test_zarr_python_reads_planes(path: str, via: str) -> None:
    zarr = pytest.importorskip("zarr")
    pytest.importorskip(via)
    group = zarr.open_group(icecore.open(path).store(via), mode="r")["g"]
    assert np.array_equal(group["mixed"][...].view("u4"), MIXED.view("u4"))
    assert np.array_equal(group["smooth"][1:3, ::7], SMOOTH[1:3, ::7])
    assert np.array_equal(group["complex"][...].view("u4"), MIXED.reshape(-1)[:1000].view("u4"))


@pytest.mark.parametrize("fill", ["midpoint", "zero"])
@pytest.mark.parametrize("missing", [-1e34, -9999.0, 1e20, float("nan"), 0.0])
def test_xarray_masks_what_is_missing(fill: str, missing: float) -> None:
    xr = pytest.importorskip("xarray")
    data = SMOOTH[0].copy()
    data[::3, ::2] = missing
    codec = planes(2, 1, 1)
    codec[0]["configuration"]["fill"] = fill
    repo = icecore.create(f"memory://missing-{fill}-{missing}")
    attrs = {"_FillValue": missing, "missing_value": missing}
    with repo.writer() as w:
        w.array("/t", "f4", data.shape, ("y", "x"), codec=codec, attrs=attrs)[...] = data
        own = w.array("/own", "f4", data.shape, ("y", "x"), codec=codec, attrs=attrs, fill_value=missing)
        own[...] = data
    for rtol in (0.01, 1e-4):
        with xr.open_dataset(repo.url, engine="icecore", rtol=rtol) as ds:
            for variable in (ds.t, ds.own):
                assert 0 < variable.attrs["rtol_bound"] <= rtol
                assert np.array_equal(
                    np.isnan(variable.values), (data == np.float32(missing)) | np.isnan(data)
                )


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("how", ["missing_value", "fill", "both"])
@pytest.mark.parametrize("mark", [999.0, 1.5, 1.00390625, -9999.0, 1.001953125])
def test_xarray_masks_nothing_else(dtype: str, how: str, mark: float) -> None:
    """Neighbours of the value that stands for none come out as the same where bits are left out."""
    xr = pytest.importorskip("xarray")
    data = (mark * (1 + np.arange(-500, 500) * 1e-5)).astype(dtype)
    data[7] = mark
    repo = icecore.create(f"memory://neighbours-{dtype}-{how}-{mark}")
    with repo.writer() as w:
        for fill in ("midpoint", "zero"):
            codec = planes(2, 1, 1) if dtype == "f4" else planes(2, 1, 1, 2, 2)
            codec[0]["configuration"]["fill"] = fill
            attrs = {} if how == "fill" else {"missing_value": mark}
            own = None if how == "missing_value" else mark
            x = w.array(f"/{fill}", dtype, data.shape, ("x",), codec=codec, attrs=attrs, fill_value=own)
            x[...] = data
    for rtol in (0.01, 1e-4, 1e-7):
        with (
            xr.open_dataset(repo.url, engine="icecore") as exact,
            xr.open_dataset(repo.url, engine="icecore", rtol=rtol) as ds,
        ):
            for name, variable in ds.items():
                np.testing.assert_array_equal(np.isnan(variable), np.isnan(exact[name]))
                np.testing.assert_array_equal(variable.values == mark, exact[name].values == mark)
                np.testing.assert_allclose(variable, exact[name], rtol=variable.attrs["rtol_bound"])


@pytest.mark.parametrize(
    "asked",
    [
        {"leading_bytes": "2"},
        {"leading_bytes": 2.0},
        {"leading_bytes": True},
        {"leading_bytes": 10**30},
        {"rtol": "0.1"},
        {"rtol": [1]},
    ],
)
def test_what_is_no_precision(path: str, asked: dict[str, Any]) -> None:
    array = icecore.open(path)["/g/smooth"]
    for read in (
        array.read,
        array.plan,
        array.bound,
        lambda **asked: array.repo.read({"/g/smooth": ...}, **asked),
    ):
        with pytest.raises(icecore.Error) as caught:
            read(**asked)
        assert caught.value.kind == "invalid"


def test_more_bytes_than_a_number_has(path: str) -> None:
    """Of a complex number each part is one."""
    group = icecore.open(path)["/g"]
    with pytest.raises(icecore.Error, match='whose type "complex64" has 4 in each of its two parts'):
        group["complex"].read(leading_bytes=8)
    with pytest.raises(icecore.Error, match=r'whose type "float32" has 4\n'):
        group["smooth"].read(leading_bytes=5)
