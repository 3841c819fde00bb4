"""``icecore plot``: lines and maps as PNG."""

from __future__ import annotations

import struct
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore import cli
from icecore.export.picture import _axis, _kept, _least, _measured, _most, _read, draw, physical
from icecore.repository.missing_values import missing
from icecore.repository.selection import kept_axes, per_axis

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def plain_style():
    """matplotlib's own style: gwpy, which other tests import, changes it for the whole process."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> icecore.Repo:
    path = tmp_path_factory.mktemp("plot") / "p.icecore"
    packed = {"scale_factor": 0.5, "add_offset": 10.0, "_FillValue": -9, "units": "K"}
    with icecore.create(path).writer() as w:
        w.array("/map", "i2", (3, 40, 50), ("t", "y", "x"), attrs=packed)[...] = (
            np.arange(6000).reshape(3, 40, 50) % 90 - 9
        )
        w.array("/x", "f8", (50,), ("x",), attrs={"units": "km"})[...] = np.linspace(0, 5, 50)
        w.array("/long", "f4", (100_003,), ("n",))[...] = np.sin(np.arange(100_003) / 1e4)
        w.array("/text", str, (3,))
        w.array("/records", np.dtype([("a", "f4")]), (3,))
    return icecore.open(path)


def png_size(path: Path) -> tuple[int, int]:
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


def test_map_and_line(repo: icecore.Repo, tmp_path: Path) -> None:
    facts = draw(repo["/map"], (0,), str(tmp_path / "map.png"))
    assert (facts["kind"], facts["elements"]) == ("map", 2000)
    assert png_size(tmp_path / "map.png") == (1080, 600)
    assert draw(repo["/map"], (0, 3), str(tmp_path / "line.png"))["kind"] == "line"
    assert draw(repo["/long"], (...,), str(tmp_path / "long.png"))["kind"] == "line"
    assert draw(repo["/map"], (0, slice(None), [5, 1, 3]), str(tmp_path / "list.png"))["kind"] == "map"


def test_values_are_physical(repo: icecore.Repo) -> None:
    raw = repo["/map"][0]
    values = physical(repo["/map"], raw)
    np.testing.assert_array_equal(np.isnan(values), raw == -9)
    np.testing.assert_array_equal(values[raw != -9], raw[raw != -9] * 0.5 + 10)


@pytest.mark.parametrize(
    ("dtype", "unsigned", "expected"),
    [
        ("i1", "true", [127, 253, np.nan]),
        ("u1", "false", [127, -3, np.nan]),
        ("i1", "false", [127, -3, np.nan]),
    ],
)
def test_unsigned_numbers(tmp_path: Path, dtype: str, unsigned: str, expected: list[float]) -> None:
    """As netCDF-3 and GOES have them: bytes that stand for others than their type says."""
    raw = np.array([127, -3, -1], "i1").view(dtype)
    with icecore.create(tmp_path / "u.icecore").writer() as w:
        attrs = {"_Unsigned": unsigned, "_FillValue": raw[2], "scale_factor": 0.5}
        w.array("/a", dtype, (3,), attrs=attrs)[...] = raw
    array = icecore.open(tmp_path / "u.icecore")["/a"]
    np.testing.assert_array_equal(physical(array, array[...]), np.array(expected) / 2)


def test_coordinates_lie_in_groups_above(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "c.icecore").writer() as w:
        w.array("/x", "f8", (3,), ("x",), attrs={"units": "km"})[...] = [5, 6, 7]
        w.array("/b/x", "f8", (2,), ("x",))[...] = [1, 2]
        for path in ("/a/deep/v", "/b/v"):
            w.array(path, "f4", (3,), ("x",))[...] = [1, 2, 3]
    repo = icecore.open(tmp_path / "c.icecore")
    scale = _axis(repo["/a/deep/v"], 0, (slice(1, None),), 2)
    assert (scale.values.tolist(), scale.label) == ([6, 7], "x [km]")
    assert _axis(repo["/b/v"], 0, (...,), 3).values.tolist() == [0, 1, 2]  # another x
    assert _axis(repo["/x"], 0, (...,), 3).values.tolist() == [0, 1, 2]


def test_envelopes_keep_the_extremes() -> None:
    rows = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]])
    np.testing.assert_array_equal(_least(rows), [1, np.nan])
    np.testing.assert_array_equal(_most(rows), [3, np.nan])


def test_long_lines_that_vary_little_are_seen(tmp_path: Path) -> None:
    from matplotlib.image import imread

    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/steps", "f4", (100_000,), ("n",))[...] = np.repeat([1, 5, 3], [30_000, 40_000, 30_000])
    draw(icecore.open(tmp_path / "r")["/steps"], (...,), str(tmp_path / "steps.png"))
    red, _, blue = imread(tmp_path / "steps.png")[..., :3].transpose(2, 0, 1)
    assert ((red < 0.5) & (blue > 0.5)).any(axis=0).sum() > 850  # columns of pixels, of 1080


@pytest.mark.parametrize("step", [2, 10_000])
def test_numbers_with_none_beside_them_are_seen(tmp_path: Path, step: int) -> None:
    """Where a sensor reports now and then, in a line of every number and in one of extremes."""
    from matplotlib.image import imread

    values = np.full(10 * step, np.nan, "f4")
    values[::step] = np.arange(10)
    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/rare", "f4", values.shape, ("n",))[...] = values
    draw(icecore.open(tmp_path / "r")["/rare"], (...,), str(tmp_path / "rare.png"))
    red, _, blue = imread(tmp_path / "rare.png")[..., :3].transpose(2, 0, 1)
    marks = np.flatnonzero(((red < 0.5) & (blue > 0.5)).any(axis=0))
    assert 1 + np.count_nonzero(np.diff(marks) > 1) == 10


def test_what_nobody_wrote_is_missing(tmp_path: Path) -> None:
    """netCDF's own fill value, without an attribute that says so."""
    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/x", "f4", (3,))[...] = [1, 9.969209968386869e36, 3]
        w.array("/y", "f4", (3,), attrs={"_FillValue": -1.0})[...] = [1, 9.969209968386869e36, -1]
    repo = icecore.open(tmp_path / "r")
    np.testing.assert_array_equal(physical(repo["/x"], repo["/x"][...]), [1, np.nan, 3])
    np.testing.assert_array_equal(np.isnan(physical(repo["/y"], repo["/y"][...])), [False, False, True])


@pytest.mark.filterwarnings("error")
def test_infinities_of_half_precision_are_not_missing(tmp_path: Path) -> None:
    """NetCDF's default fill value is out of the range of float16."""
    with icecore.create(tmp_path / "h.icecore").writer() as w:
        w.array("/x", "f2", (3,))[...] = [1, np.inf, 3]
    x = icecore.open(tmp_path / "h.icecore")["/x"]
    assert not missing(x, x[...]).any()


def test_what_cannot_be_drawn(repo: icecore.Repo, tmp_path: Path) -> None:
    for path, sel, name, kind in [
        ("/map", (...,), "a.png", "selection"),
        ("/map", (0, 0, 0), "a.png", "selection"),
        ("/map", (0,), "a.svg", "unsupported"),
        ("/text", (...,), "a.png", "dtype"),
    ]:
        with pytest.raises(icecore.Error) as caught:
            draw(repo[path], sel, str(tmp_path / name))
        assert caught.value.kind == kind
    with pytest.raises(icecore.Error, match=r"/map: 0 elements of shape \(0, .* can't be drawn"):
        draw(repo["/map"], (slice(0),), str(tmp_path / "a.png"))
    with pytest.raises(icecore.Error, match="/records holds records"):
        draw(repo["/records"], (...,), str(tmp_path / "a.png"))
    assert list(tmp_path.iterdir()) == []


BIG = 1.79e308
CASES = {
    "huge": (np.array([-BIG, BIG, 0.0]), {}, "unsupported"),
    "huge_map": (np.full((4, 5), np.finfo("f8").max), {}, "unsupported"),
    "scaled_beyond": (np.arange(10.0), {"scale_factor": 1e308}, "unsupported"),
    "wrong_scale": (np.arange(10.0), {"scale_factor": "two"}, "invalid"),
    "two_offsets": (np.arange(10.0), {"add_offset": [1, 2]}, "invalid"),
    "one_scale": (np.arange(10.0), {"scale_factor": [2.0]}, ""),
    "no_formula": (np.arange(10.0), {"long_name": "$\\foo$ \x07 a_b^", "units": "m" * 3000}, ""),
    "nan": (np.full(9001, np.nan), {}, ""),
    "nan_map": (np.full((4, 5), np.nan), {}, ""),
    "inf": (np.array([[1, np.inf], [-np.inf, 2.0]]), {}, ""),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_odd_numbers_and_attributes(tmp_path: Path, name: str) -> None:
    values, attrs, kind = CASES[name]
    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/x", "f8", values.shape, attrs=attrs)[...] = values
    array, picture = icecore.open(tmp_path / "r")["/x"], tmp_path / "x.png"
    if kind:
        with pytest.raises(icecore.Error) as caught:
            draw(array, (...,), str(picture))
        assert caught.value.kind == kind
    else:
        draw(array, (...,), str(picture))
        assert png_size(picture) == (1080, 600)


def test_huge_coordinates_and_several_missing_values(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/x", "f8", (4,), ("x",))[...] = np.linspace(-1, 1, 4) * BIG
        w.array("/y", "i4", (4,), ("x",), attrs={"missing_value": [1, 2]})[...] = np.arange(4)
    repo = icecore.open(tmp_path / "r")
    draw(repo["/y"], (...,), str(tmp_path / "y.png"))
    np.testing.assert_array_equal(physical(repo["/y"], repo["/y"][...]), [0, np.nan, np.nan, 3])


DAYS = np.arange(400.0)
FIRST = np.datetime64("2001-01-01T06:00", "ns")
HOURS = FIRST + (DAYS * 24).astype("m8[h]")
TIMES = {
    "units": (DAYS + 0.25, {"units": "days since 2001-01-01"}, True),
    "seconds": (DAYS * 86400, {"units": "seconds since 2001-01-01T06:00:00Z", "calendar": "standard"}, True),
    "scaled": (DAYS * 2, {"units": "hours since 2001-01-01 06:00", "scale_factor": 12.0}, True),
    "datetime64": (HOURS, {}, True),
    "other calendar": (DAYS, {"units": "days since 2001-01-01", "calendar": "noleap"}, False),
    "no date": (DAYS, {"units": "days since launch"}, False),
    "before": (DAYS, {"units": "days since 1582-10-01"}, False),
    "far": (DAYS * 10_000, {"units": "days since 2001-01-01"}, False),
    "short": (FIRST + DAYS.astype("m8[ns]"), {}, False),
    "durations": (HOURS - FIRST, {}, False),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", TIMES)
def test_times_are_dates(tmp_path: Path, name: str) -> None:
    """Along an axis and as values, where matplotlib has such dates."""
    times, attrs, is_date = TIMES[name]
    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/g/v", "f4", (400,), ("t",))[...] = np.arange(400)
        w.array("/g/t", times.dtype, (400,), ("t",), attrs=attrs)[...] = times
        w.array("/g/of", times.dtype, (400,), ("t",), attrs=attrs)[...] = times
    repo = icecore.open(tmp_path / "r")
    along, drawn = _axis(repo["/g/v"], 0, (...,), 400), _measured(repo["/g/of"], repo["/g/of"][...])
    assert (along.is_date, drawn.is_date) == (is_date, is_date)
    assert (along.label, drawn.label) == ("t", "of") if is_date else along.label.startswith("t [")
    if is_date:
        np.testing.assert_allclose(along.values, HOURS.astype("i8") / 86_400e9, atol=1e-9)
    elif "units" in attrs:
        np.testing.assert_array_equal(along.values, times)
    else:
        np.testing.assert_array_equal(np.diff(along.values), np.diff(times).astype("i8"))
    for path in ("/g/v", "/g/of"):
        draw(repo[path], (...,), str(tmp_path / "x.png"))
        assert png_size(tmp_path / "x.png") == (1080, 600)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "times", [np.array(["NaT", "NaT"], "M8[s]"), np.array(["20000", "NaT", "1999"], "M8[Y]"), HOURS[:1]]
)
def test_few_and_far_times(tmp_path: Path, times: np.ndarray) -> None:
    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/t", times.dtype, (2, len(times)))[...] = [times, times]
    draw(icecore.open(tmp_path / "r")["/t"], (...,), str(tmp_path / "x.png"))
    assert png_size(tmp_path / "x.png") == (1080, 600)


@pytest.mark.parametrize(
    "sel", [(0,), (0, ..., [1, 2]), (0, [1, 2]), ([1, 2], 0), (..., [1], 0), (slice(1), 3, [2, 2])]
)
def test_axes_of_the_result(sel: tuple[object, ...]) -> None:
    lengths = {0: 3, 1: 4, 2: 5}
    result = np.zeros((3, 4, 5))[sel]
    axes = kept_axes(sel, 3, result.ndim)
    for axis, n in zip(axes, result.shape, strict=True):
        item = per_axis(sel, 3)[axis]
        assert n == len(np.arange(lengths[axis])[item])


def test_command(repo: icecore.Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["plot", repo.url, "/map", "t=-1", "-o", str(tmp_path / "m.png")]) == 0
    assert "map of /map" in capsys.readouterr().out
    assert png_size(tmp_path / "m.png") == (1080, 600)


def test_a_selection_without_a_picture_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/cube", "f4", (4, 5, 6))[...] = 1
    array = icecore.open(tmp_path / "r")["/cube"]
    monkeypatch.setattr(type(array), "read", None)
    with pytest.raises(icecore.Error, match=r"3 axes of lengths \(4, 5, 6\)") as caught:
        draw(array, (...,), str(tmp_path / "p.png"))
    assert caught.value.kind == "selection"


@pytest.mark.parametrize("dtype", ["f4", "i2", "M8[s]", "m8[ms]"])
@pytest.mark.parametrize("index", [slice(None), slice(100_002, None, -3), slice(5, 90_000, 2)])
def test_a_long_line_has_the_extremes_of_each_pixel(tmp_path: Path, dtype: str, index: slice) -> None:
    rng = np.random.default_rng(2)
    values = rng.integers(-3000, 3000, 100_003).astype(dtype)
    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/n", dtype, values.shape, chunks=(7000,))[...] = values
    array = icecore.open(tmp_path / "r")["/n"]
    kept = _kept(array, (index,))
    [(_, count, step)] = kept.axes
    assert kept.size == count == len(values[index])
    found = _read(array, kept).values.reshape(-1, 2)
    plain = values[index].astype("i8").astype("f8")
    rows = np.concatenate([plain, np.full(-len(plain) % step, np.nan)]).reshape(-1, step)
    low, high = np.nanmin(rows, 1), np.nanmax(rows, 1)
    start, scale = found[0, 0], (found[:, 1] - found[:, 0]).max() / (high - low).max()
    np.testing.assert_allclose(found, (np.stack([low, high], 1) - low[0]) * scale + start)


def test_a_large_map_is_read_with_strides(tmp_path: Path) -> None:
    values = np.add.outer(np.arange(3000.0), np.arange(2500.0)).astype("f4")
    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/m", "f4", values.shape)[...] = values
    array = icecore.open(tmp_path / "r")["/m"]
    np.testing.assert_array_equal(_read(array, _kept(array, (...,))).values, values[::3, ::3])
    assert draw(array, (...,), str(tmp_path / "p.png"))["elements"] == values.size
