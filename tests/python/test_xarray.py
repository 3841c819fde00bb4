"""``engine="icecore"``: the same datasets as from the sources, lazily."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import h5py
import icecore
import numpy as np
import pytest
from icecore.sources.mapping import stitched_array

xr = pytest.importorskip("xarray")
netCDF4 = pytest.importorskip("netCDF4")
RNG = np.random.default_rng(13)
VERBS = [icecore.link, icecore.pack]
ROOT = Path(__file__).resolve().parents[2]


def write(path: Path, start: int = 0) -> None:
    """A netCDF-4 file with what CF knows: packed integers, missing values, times, text, groups."""
    with netCDF4.Dataset(path, "w") as nc:
        nc.title, nc.version, nc.weights = "test", np.int16(3), np.array([0.5, 0.25], "f4")
        nc.createDimension("time", None)
        for name, n in {"y": 12, "x": 15, "letters": 6}.items():
            nc.createDimension(name, n)
        time = nc.createVariable("time", "f8", ("time",))
        time.units, time.calendar = "hours since 2001-01-01", "standard"
        time[:] = start + np.arange(20.0)
        lat = nc.createVariable("lat", "f4", ("y", "x"))
        lat[:] = RNG.random((12, 15))
        t = nc.createVariable(
            "t", "i2", ("time", "y", "x"), zlib=True, chunksizes=(5, 6, 15), fill_value=-999
        )
        t.scale_factor, t.add_offset, t.coordinates = np.float32(0.01), np.float32(273.15), "lat"
        t.set_auto_maskandscale(False)
        t[:] = RNG.integers(-500, 500, (20, 12, 15)).astype("i2")
        t[0, 0, :3] = -999
        wind = nc.createVariable(
            "wind", "f4", ("time", "y", "x"), fill_value=np.float32(1e20), fletcher32=True
        )
        wind[:] = RNG.random((20, 12, 15))
        wind[3, 2, 1] = 1e20
        nan = nc.createVariable("nan", "f8", ("x",), fill_value=np.nan)
        nan[:] = np.where(np.arange(15) % 3 == 0, np.nan, 1.0)
        byte = nc.createVariable("byte", "i1", ("x",))
        byte._Unsigned, byte[:] = "true", np.arange(-7, 8)
        age = nc.createVariable("age", "f8", ("time",))
        age.units, age[:] = "days", np.arange(20)
        text = nc.createVariable("text", str, ("x",))
        text[:] = np.array([f"word {i}" for i in range(15)], "O")
        char = nc.createVariable("char", "S1", ("x", "letters"))
        char[:] = netCDF4.stringtochar(np.array([f"w{i:05}" for i in range(15)], "S6"))
        scalar = nc.createVariable("scalar", "i4", ())
        scalar[...], scalar.note = 7, ""
        flag = nc.createVariable("flag", "u1", ("y",))
        flag.flag_values = np.array([0, 1, 2], "u1")
        flag[:] = np.arange(12) % 3
        inner = nc.createGroup("inner")
        inner.depth = 3.5
        inner.createVariable("z", "f4", ("y",))[:] = np.arange(12)


@pytest.fixture(params=VERBS, ids=["linked", "packed"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """(source, repository)"""
    write(tmp_path / "s.nc")
    request.param(tmp_path / "s.nc", tmp_path / "r.icecore", "/")
    return tmp_path / "s.nc", tmp_path / "r.icecore"


def kinds(dataset: object) -> dict[str, str]:
    """The kinds of the dtypes. Text stays lazy with us ("O"), netCDF's backends read it at once ("U")."""
    return {name: variable.dtype.kind.replace("U", "O") for name, variable in dataset.variables.items()}


def identical(ours: object, theirs: object) -> None:
    """The same datasets, and the same dtypes of the variables."""
    xr.testing.assert_identical(ours, theirs)
    assert kinds(ours) == kinds(theirs)


def test_identical(made: tuple[Path, Path]) -> None:
    source, repo = made
    with xr.open_dataset(source) as theirs, xr.open_dataset(repo, engine="icecore") as ours:
        identical(ours, theirs)
        assert ours.t.dtype == theirs.t.dtype == np.dtype("f4")
        assert ours.encoding["unlimited_dims"] == {"time"}
        assert ours.wind.encoding["_FillValue"] == theirs.wind.encoding["_FillValue"]


def test_undecoded(made: tuple[Path, Path]) -> None:
    source, repo = made
    kwargs = {"decode_cf": False}
    with (
        xr.open_dataset(source, **kwargs) as theirs,
        xr.open_dataset(repo, engine="icecore", **kwargs) as ours,
    ):
        identical(ours, theirs)
        assert ours.t.attrs["scale_factor"].dtype == np.dtype("f4")


@pytest.mark.parametrize("option", ["mask_and_scale", "decode_times", "decode_coords", "concat_characters"])
def test_each_decoding_can_be_left_out(made: tuple[Path, Path], option: str) -> None:
    source, repo = made
    with (
        xr.open_dataset(source, **{option: False}) as theirs,
        xr.open_dataset(repo, engine="icecore", **{option: False}) as ours,
    ):
        identical(ours, theirs)


def test_groups_and_trees(made: tuple[Path, Path]) -> None:
    source, repo = made
    with (
        xr.open_dataset(source, group="inner") as theirs,
        xr.open_dataset(repo, engine="icecore", group="inner") as ours,
    ):
        identical(ours, theirs)
    with xr.open_datatree(source) as theirs, xr.open_datatree(repo, engine="icecore") as ours:
        xr.testing.assert_identical(ours, theirs)
    with xr.open_datatree(repo, engine="icecore", group="/inner") as part:
        assert list(part.dataset.variables) == ["z"]


@pytest.mark.parametrize("form", ["NETCDF4", "NETCDF3_CLASSIC"])
@pytest.mark.parametrize("verb", VERBS)
def test_text_has_fill_values_too(tmp_path: Path, verb: Callable[..., object], form: str) -> None:
    source, repo = tmp_path / "s.nc", tmp_path / "r.icecore"
    with netCDF4.Dataset(source, "w", format=form) as nc:
        nc.createDimension("x", 4)
        if form == "NETCDF4":
            words = nc.createVariable("words", str, ("x",), fill_value="NA")
            words[0], words[2] = "a", "NA"
        nc.createVariable("letters", "S1", ("x",), fill_value=b"-")[0] = b"q"
    report = verb(source, repo, "/")
    assert not [note for note in report.notes if note.kind == "attribute"]
    verb(repo if verb is icecore.pack else source, tmp_path / "again.icecore", "/")  # it travels on
    for place in (repo, tmp_path / "again.icecore"):
        for options in ({}, {"mask_and_scale": False}, {"decode_cf": False}):
            with (
                xr.open_dataset(source, **options) as theirs,
                xr.open_dataset(place, engine="icecore", **options) as ours,
            ):
                identical(ours, theirs)
                assert ours.letters.encoding.get("_FillValue") == theirs.letters.encoding.get("_FillValue")
    # xarray's Zarr backend has no form for it: at least it opens.
    assert xr.open_zarr(icecore.open(repo).store(), consolidated=False).letters.values.tobytes()


def test_attributes_in_python_are_those_of_xarray(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "s.nc", "w") as nc:
        nc.createDimension("x", 2)
        nc.nothing, nc.word = np.nan, "NaN"
        nc.createVariable("v", "f4", ("x",)).setncatts({"limits": [-np.inf, np.nan], "word": "NaN"})
    icecore.link(tmp_path / "s.nc", tmp_path / "r.icecore", "/")
    repo = icecore.open(tmp_path / "r.icecore")
    with xr.open_dataset(tmp_path / "r.icecore", engine="icecore") as ds:
        assert str(repo.attrs) == str({"nothing": float(ds.attrs["nothing"]), "word": "NaN"})
        assert str(repo["/v"].attrs) == str({"limits": ds.v.attrs["limits"].tolist(), "word": "NaN"})


INDEXERS: list[Callable[[object], object]] = [
    lambda ds: ds.isel(time=3),
    lambda ds: ds.isel(time=slice(2, 15, 3), x=slice(None, None, -2)),
    lambda ds: ds.isel(time=[5, 1, 1], x=[0, 14]),
    lambda ds: ds.isel(time=xr.DataArray([1, 2, 3], dims="p"), y=xr.DataArray([4, 5, 6], dims="p")),
    lambda ds: ds.sel(time="2001-01-01T05"),
    lambda ds: ds.isel(time=-1, y=slice(3, 3)),
    lambda ds: ds.isel(time=slice(4, 12)).isel(time=[0, 2]).isel(x=3),
    lambda ds: ds.mean("time"),
]


@pytest.mark.parametrize("index", INDEXERS, ids=[str(i) for i in range(len(INDEXERS))])
def test_lazy_indexing(made: tuple[Path, Path], index: Callable[[object], object]) -> None:
    source, repo = made
    names = ["t", "wind", "lat", "scalar"]
    with xr.open_dataset(source) as theirs, xr.open_dataset(repo, engine="icecore") as ours:
        xr.testing.assert_allclose(index(ours[names]), index(theirs[names]), rtol=1e-6)


def test_nothing_is_read_before_it_is_used(tmp_path: Path) -> None:
    write(tmp_path / "s.nc")
    icecore.link(tmp_path / "s.nc", tmp_path / "r.icecore", "/")
    ds = xr.open_dataset(tmp_path / "r.icecore", engine="icecore", decode_times=False)
    (tmp_path / "s.nc").unlink()
    assert ds.t.shape == (20, 12, 15)
    with pytest.raises(FileNotFoundError):
        ds.t.load()


def test_dask(made: tuple[Path, Path]) -> None:
    dask = pytest.importorskip("dask")
    source, repo = made
    with xr.open_dataset(source) as theirs, xr.open_dataset(repo, engine="icecore", chunks={}) as ours:
        unit = icecore.open(repo)["/t"].shards or icecore.open(repo)["/t"].chunks
        assert ours.t.encoding["preferred_chunks"] == dict(zip(("time", "y", "x"), unit, strict=True))
        assert ours.t.data.chunksize == tuple(min(u, n) for u, n in zip(unit, ours.t.shape, strict=True))
        identical(ours.compute(), theirs)
        with dask.config.set(scheduler="processes", num_workers=2):
            np.testing.assert_allclose(ours.t.mean().values, theirs.t.mean().values, rtol=1e-6)
        again = pickle.loads(pickle.dumps(ours))
        identical(again.compute(), theirs)


def test_versions(tmp_path: Path) -> None:
    path = tmp_path / "v.icecore"
    with icecore.create(path).writer() as w:
        w.array("/x", "i4", (4,), ("a",))[...] = 1
    icecore.open(path).tag("v1")
    before = xr.open_dataset(path, engine="icecore")
    chunked = xr.open_dataset(path, engine="icecore", chunks={})
    with icecore.open(path).writer() as w:
        w["/x"][...] = 2
    assert xr.open_dataset(path, engine="icecore").x.values.tolist() == [2] * 4
    assert xr.open_dataset(path, engine="icecore", ref="v1").x.values.tolist() == [1] * 4
    assert xr.open_dataset(f"{path}@v1").x.values.tolist() == [1] * 4
    assert before.x.values.tolist() == [1] * 4
    later = xr.open_dataset(path, engine="icecore", chunks={})
    assert (later.x - chunked.x).values.tolist() == [1] * 4
    repo = icecore.open(path)
    assert xr.open_dataset(repo).x.values.tolist() == [2] * 4
    assert xr.open_dataset(repo, engine="icecore", ref="v1").x.values.tolist() == [1] * 4
    assert xr.open_dataset(repo["/"], engine="icecore").x.values.tolist() == [2] * 4


def test_the_engine_is_found_by_name(tmp_path: Path) -> None:
    from icecore.integrations.xarray import IcecoreBackend

    backend = IcecoreBackend()
    for name in (
        "moon.icecore",
        "moon.icecore/",
        "moon.icecore@v1",
        "s3://bucket/moon.icecore@v1",
        Path("x.icecore"),
    ):
        assert backend.guess_can_open(name)
    for name in ("moon.nc", "moon.zarr", 3, b"x"):
        assert not backend.guess_can_open(name)
    assert "icecore" in xr.backends.list_engines()


def test_errors(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "e.icecore").writer() as w:
        w.array("/x", "i4", (4,))
    with pytest.raises(KeyError):
        xr.open_dataset(tmp_path / "e.icecore", engine="icecore", group="/nope")
    with pytest.raises(ValueError, match="is an array"):
        xr.open_dataset(tmp_path / "e.icecore", engine="icecore", group="/x")
    with pytest.raises(FileNotFoundError):
        xr.open_dataset(tmp_path / "nothing.icecore", engine="icecore")


def test_unnamed_dimensions(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "u.icecore").writer() as w:
        w.array("/a", "i4", (4, 4, 5))
        w.array("/b", "i4", (5, 4))
    ds = xr.open_dataset(tmp_path / "u.icecore", engine="icecore")
    assert len(set(ds.a.dims)) == 3
    assert set(ds.b.dims) <= set(ds.a.dims)


def test_a_round_trip_through_xarray(made: tuple[Path, Path], tmp_path: Path) -> None:
    """What we give to xarray, xarray can write (but for unsigned bytes, which it loses from any source)."""
    source, repo = made
    ours = xr.open_dataset(repo, engine="icecore").drop_vars(["char", "byte"])
    ours.to_netcdf(tmp_path / "again.nc")
    with xr.open_dataset(source) as theirs, xr.open_dataset(tmp_path / "again.nc") as again:
        xr.testing.assert_equal(again, theirs.drop_vars(["char", "byte"]))


def sources() -> Iterator[Any]:
    """Real files: folder and name. Each is a test, so that each has the whole time that a test may take."""
    for folder in ("climate", "hdf5"):
        found = sorted((ROOT.parent / "shared" / "data" / folder).glob("*"))
        # Aliases (hard links) are left out and named; the atlas begins in a year 0 that xarray refuses.
        kept = [path for path in found if not path.name.startswith(("MLS-", "ocean_atlas"))]
        yield from (pytest.param(folder, path.name, id=path.name[:40]) for path in kept)


@pytest.fixture
def _sizes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """h5netcdf looks through the variables of an unlimited dimension each time its length is asked for."""
    dimensions = pytest.importorskip("h5netcdf.dimensions")
    size, known = dimensions.Dimension.size.fget, WeakKeyDictionary()

    def once(dimension: Any) -> int:
        if dimension not in known:
            known[dimension] = size(dimension)
        return known[dimension]

    monkeypatch.setattr(dimensions.Dimension, "size", property(once))


@pytest.mark.usefixtures("_sizes_once")
@pytest.mark.parametrize(("folder", "name"), sources())
def test_real_files(real_data: Path, tmp_path: Path, folder: str, name: str) -> None:
    source = real_data / folder / name
    # h5netcdf counts the unnamed dimensions of plain HDF5.
    options = {"engine": "netcdf4"} if folder == "climate" else {"engine": "h5netcdf", "phony_dims": "sort"}
    try:
        theirs = xr.open_datatree(source, **options)
    except (OSError, KeyError, ValueError) as error:
        pytest.skip(f"xarray opens no such file: {error}")
    with warnings.catch_warnings(), theirs:
        warnings.simplefilter("ignore")
        theirs.load()
        for verb in VERBS:
            repo = tmp_path / f"{verb.__name__}.icecore"
            verb(source, repo, "/")
            xr.testing.assert_identical(xr.open_datatree(repo, engine="icecore"), theirs)


def test_groups_of_a_tree_have_dimensions_of_their_own(tmp_path):
    """Axes without a name, and those of elements that are arrays, of other lengths below than above."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for path, n in (("x", 3), ("g/x", 5), ("g/h/x", 3)):
            file.create_dataset(path, (4,), dtype=np.dtype((np.float32, (n,))))
    repo = icecore.create(tmp_path / "r.icecore")
    icecore.link(tmp_path / "x.h5", into=repo, group="/linked")
    with repo.writer() as writer:
        for path, shape in (("packed/x", (3, 4)), ("packed/g/x", (5,)), ("packed/g/h/x", (4, 7))):
            writer.array(f"/{path}", dtype="f4", shape=shape)
    tree = xr.open_datatree(icecore.open(tmp_path / "r.icecore"), engine="icecore")
    assert tree["linked/g/x"].shape == (4, 5)
    assert tree["linked/g/h/x"].shape == (4, 3)
    assert tree["packed/x"].dims == ("phony_dim_0", "phony_dim_1")
    assert tree["packed/g/x"].dims == ("phony_dim_2",)
    assert tree["packed/g/h/x"].dims == ("phony_dim_3", "phony_dim_4")


def test_chunks_of_unlike_lengths_are_dask_chunks(tmp_path, monkeypatch):
    """The last one may stick out of the array."""
    monkeypatch.setattr(stitched_array, "SMALL", -1)
    parts = [np.arange(10.0), np.arange(5.0)]
    for n, part in enumerate(parts):
        with netCDF4.Dataset(tmp_path / f"{n}.nc", "w") as nc:
            nc.createDimension("time", None)
            nc.createVariable("v", "f8", ("time",), zlib=True, chunksizes=(4,))[:] = part
    icecore.link(tmp_path / "*.nc", into=tmp_path / "r.icecore", group="/", concat="time")
    data = xr.open_dataset(tmp_path / "r.icecore", engine="icecore", chunks={})
    assert data.v.chunks == ((4, 4, 2, 4, 1),)
    assert np.array_equal(data.v, np.concatenate(parts))


@pytest.mark.parametrize("key", [slice(5, 5, -1), slice(2, 9, -1), slice(9, 2, -3), [3, 1, 1, -1]])
def test_slices_backwards_and_empty_ones(tmp_path: Path, key: object) -> None:
    data = RNG.random((11, 4))
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/a", "f8", data.shape, ("t", "x"), chunks=(4, 3))[...] = data
    a = xr.open_dataset(tmp_path / "r.icecore", engine="icecore", cache=False)["a"]
    np.testing.assert_array_equal(a[key].values, data[key])
    np.testing.assert_array_equal(a.isel(t=key, x=[2, 0])[..., ::-1].values, data[key][:, [0, 2]])


def test_the_fill_value_that_a_writer_was_given_is_a_number_to_all(tmp_path: Path) -> None:
    attrs = {"_FillValue": -9999.0, "units": "K"}
    with icecore.create(tmp_path / "r").writer() as w:
        for name, dtype in (("f", "f4"), ("c", "c8"), ("i", "i2"), ("later", "f8")):
            given = {} if name == "later" else attrs
            w.array(f"/{name}", dtype, (2,), dims=("x",), attrs=given)[...] = [1, -9999]
        w.attrs("/later", {**attrs, "_FillValue": np.float32(-9999)})
    repo = icecore.open(tmp_path / "r")
    for name in ("f", "i", "later"):
        assert repo._array(name).attrs == attrs
    with repo.writer() as w:  # what is read can be written again
        w.array("/copy", "f4", (2,), dims=("x",), attrs=repo._array("/f").attrs)[...] = [1, -9999]
    repo = icecore.open(tmp_path / "r")
    for found in (
        xr.open_dataset(tmp_path / "r", engine="icecore"),
        xr.open_dataset(repo.store(), engine="zarr", consolidated=False),
    ):
        for name in ("f", "c", "i", "later", "copy"):
            assert np.isnan(found[name].values).tolist() == [False, True], name


def test_an_empty_root_says_where_the_arrays_are(tmp_path: Path) -> None:
    np.save(tmp_path / "deep.npy", np.arange(4))
    icecore.pack(tmp_path / "deep.npy", into=tmp_path / "r.icecore", group="/a/b")
    with pytest.warns(UserWarning, match=r"no arrays in /: 1 lie.*group='/a/b'"):
        xr.open_dataset(tmp_path / "r.icecore", engine="icecore")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xr.open_dataset(tmp_path / "r.icecore", engine="icecore", group="/")
        xr.open_datatree(tmp_path / "r.icecore", engine="icecore")
