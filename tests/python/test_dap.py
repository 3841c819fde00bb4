"""OPeNDAP of ``icecore serve``: documents, elements, rows, files of selections, catalogs and errors."""

from __future__ import annotations

import http.client
import random
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import h5py
import icecore
import netCDF4
import numpy as np
import pytest
import xarray as xr
from serving import get, serving

ROWS = 30_000


def _climate(path: Path) -> None:
    """A file with every kind of variable and attribute that DAP2 and the classic model of netCDF hold."""
    with netCDF4.Dataset(path, "w") as file:
        file.title = 'a "quoted" \\ title\nof two lines'
        file.setncattr("numbers", np.array([1.5, np.nan], "f4"))
        for name, size in (("time", None), ("lat", 5), ("lon", 8), ("letters", 6)):
            file.createDimension(name, size)
        for name, values in (("lat", np.linspace(-40, 40, 5)), ("lon", np.arange(0, 360, 45.0))):
            variable = file.createVariable(name, "f8", (name,))
            variable.units = "degrees_north" if name == "lat" else "degrees_east"
            variable[:] = values
        time = file.createVariable("time", "i4", ("time",))
        time.units = "days since 2020-01-01"
        time[:] = np.arange(10)
        t2m = file.createVariable(
            "t2m",
            "f4",
            ("time", "lat", "lon"),
            fill_value=np.float32(-999.25),
            chunksizes=(3, 2, 4),
            zlib=True,
        )
        t2m[:] = np.random.default_rng(1).normal(280, 9, (10, 5, 8)).astype("f4")
        t2m[0, 0, 0] = np.ma.masked
        for kind in ("i1", "i2", "i4", "f4", "f8"):
            variable = file.createVariable(f"v_{kind}", kind, ("lat", "lon"), fill_value=-5)
            variable.valid_range = np.array([-100, 100], kind)
            variable[:] = np.arange(40).reshape(5, 8) - 20
        for kind in ("u1", "u2", "u4"):
            variable = file.createVariable(f"v_{kind}", kind, ("lon",))
            variable[:] = np.array([0, 1, 127, 128, 200, 253, 254, np.iinfo(kind).max - 1], kind)
        whole = file.createVariable("v_i8", "i8", ("lat",))
        whole[:] = [1, 2, 1 << 40, -(1 << 50), 0]
        file.createVariable("v_i8_exact", "i8", ("lat",))[:] = [(1 << 53) + 1, 0, 1, 2, 3]
        name = file.createVariable("station", "S1", ("lat", "letters"))
        name[:] = netCDF4.stringtochar(np.array([b"a", b"bc", b"", b"abcdef", b"x y"], "S6"))
        file.createVariable("scalar", "f8", ())[...] = 2.5
        file.createVariable("byte", "u1", ())[...] = 200
        group = file.createGroup("deep").createGroup("deeper")
        group.setncattr("note", "below")
        group.createDimension("lat", 3)
        group.createVariable("x", "i2", ("lat", "lon"))[:] = np.arange(24).reshape(3, 8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dap")
    _climate(folder / "climate.nc")
    icecore.pack(str(folder / "climate.nc"), into=folder / "packed.icecore", group="/")
    dice = np.random.default_rng(2)
    columns = {
        "lon": dice.uniform(-180, 180, ROWS),
        "lat": np.linspace(-90, 90, ROWS),
        "n": np.arange(ROWS, dtype="i4"),
        "flag": (np.arange(ROWS) % 200).astype("u1"),
    }
    icecore.pack(columns, into=folder / "moon.icecore", group="/obs/rdr")
    with open(folder / "s.csv", "w") as file:
        file.write("id,depth,name\n" + "".join(f"{i},{i / 4:.2f},core {i % 7}\n" for i in range(500)))
    icecore.pack(str(folder / "s.csv"), into=folder / "text.icecore", group="/s")
    return folder


@pytest.fixture(scope="module")
def endpoint(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(folder, "--cache", tmp_path_factory.mktemp("cache")) as address:
        yield address


def _variables(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    group.set_auto_maskandscale(False)
    for name, variable in group.variables.items():
        yield above + name, variable
    for name, inner in group.groups.items():
        yield from _variables(inner, f"{above}{name}/")


def _same(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    both = one.dtype.kind in "fiu" and other.dtype.kind in "fiu"
    return one.shape == other.shape and bool(np.array_equal(one, other, equal_nan=both))


@pytest.mark.parametrize("name", ["climate.nc", "packed.icecore"])
def test_netcdf_reads_dap2_as_the_file(folder: Path, endpoint: str, name: str) -> None:
    with netCDF4.Dataset(folder / "climate.nc") as file, netCDF4.Dataset(f"{endpoint}/dap/{name}") as served:
        found = dict(_variables(served))
        left_out = {"v_i8_exact"}
        for path, variable in _variables(file):
            if path in left_out:
                assert path not in found
                continue
            other = found.pop(path.replace("/", "."))
            assert _same(variable[...], other[...]), path
            assert [d.rpartition("/")[2] for d in variable.dimensions] == list(
                other.dimensions
            ) or "/" in path
            for key in variable.ncattrs():
                assert _same(variable.getncattr(key), other.getncattr(key)), (path, key)
        assert not found
        assert served.title == file.title
        assert _same(served.numbers, file.numbers)
        assert served.dimensions["time"].isunlimited()


@pytest.mark.parametrize("name", ["climate.nc", "packed.icecore"])
def test_netcdf_reads_dap4_as_the_file(folder: Path, endpoint: str, name: str) -> None:
    address = f"[dap4]{endpoint}/dap/{name}"
    with netCDF4.Dataset(folder / "climate.nc") as file, netCDF4.Dataset(address) as served:
        found = dict(_variables(served))
        for path, variable in _variables(file):
            other = found.pop(path)
            assert variable.dtype == other.dtype, path
            assert _same(variable[...], other[...]), path
            assert variable.dimensions == other.dimensions, path
            for key in variable.ncattrs():
                one, two = variable.getncattr(key), other.getncattr(key)
                # netCDF-C 4.10 loses the last digits of float32 attributes in DAP4.
                is_float = np.asarray(one).dtype == np.float32
                assert np.allclose(one, two, rtol=1e-6) if is_float else _same(one, two), (path, key)
        assert not found
        assert served["deep/deeper"].note == "below"


def test_parts_equal_those_of_the_file(folder: Path, endpoint: str) -> None:
    dice = random.Random(3)
    for prefix in ("", "[dap4]"):
        with (
            netCDF4.Dataset(folder / "climate.nc") as file,
            netCDF4.Dataset(f"{prefix}{endpoint}/dap/climate.nc") as served,
        ):
            for _ in range(40):
                at = [sorted((dice.randrange(n), dice.randrange(n))) for n in (10, 5, 8)]
                part = tuple(slice(low, high + 1, dice.randint(1, 4)) for low, high in at)
                assert _same(file["t2m"][part], served["t2m"][part]), part


def test_xarray_opens_it_as_the_file(folder: Path, endpoint: str) -> None:
    with (
        xr.open_dataset(folder / "climate.nc") as file,
        xr.open_dataset(f"{endpoint}/dap/climate.nc", engine="netcdf4") as served,
    ):
        part = {"time": slice(2, 5), "lat": 3}
        xr.testing.assert_equal(file.t2m.isel(part).load(), served.t2m.isel(part).load())


def test_documents_name_what_is_left_out(endpoint: str) -> None:
    for suffix in ("das", "html"):
        text = get(f"{endpoint}/dap/climate.nc.{suffix}")[2].decode()
        assert "v_i8_exact" in text
        assert "DAP4" in text
    assert "v_i8_exact" not in get(f"{endpoint}/dap/climate.nc.dds")[2].decode()
    assert get(f"{endpoint}/dap/climate.nc.ver")[2].startswith(b"Core version: DAP/2.0")
    assert b"Grid {" in get(f"{endpoint}/dap/climate.nc.info")[2]


def test_constraints(endpoint: str) -> None:
    url = f"{endpoint}/dap/climate.nc"
    dds = get(f"{url}.dds?lon,t2m.t2m[0:2:8][3][1:2],deep.deeper.x[0][0:2:7]")[2].decode()
    # Clients know no dimensions of groups: another length under one name has another name.
    deep = "Structure { Structure { Int16 x[lat_3 = 1][lon = 4]; } deeper; } deep; } climate.nc;"
    assert " ".join(dds.split()).endswith(deep)
    assert "Float32 t2m[time = 5][lat = 1][lon = 2];" in dds
    assert "Float64 lon[lon = 8];" in dds
    # Variables are in the order of the dataset, whatever the order of the request.
    assert dds.index(" lon[lon = 8]") < dds.index(" t2m[time = 5]") < dds.index(" x[lat_3 = 1]")
    assert get(f"{url}.dds?t2m.t2m%5B0%5D%5B1%5D%5B2%5D")[2] == get(f"{url}.dds?t2m.t2m[0][1][2]")[2]
    body = get(f"{url}.dods?lat[1:2:3]")[2].partition(b"\nData:\n")[2]
    assert struct.unpack(">II2d", body) == (2, 2, -20.0, 20.0)
    assert b"lat[2]\n-20.0, 20.0\n" in get(f"{url}.ascii?lat[1:2:3]")[2]


@pytest.mark.parametrize(
    ("constraint", "word", "status"),
    [
        ("nothing", "no variable nothing", 404),
        ("lat[0:0:4]", "stride of 0", 400),
        (f"lat[0:{2**63}]", "out of range", 400),
        (f"lat[0:{2**64}]", "not an index", 400),
        ("lat[3:1]", "ends before", 400),
        ("lat[5]", "out of range", 400),
        ("lat[0][0]", "2 hyperslabs for 1 axes", 400),
        ("lat,lat[0]", "named twice", 400),
        ("geogrid(t2m,1,2)", "geogrid() is not available", 422),
        ("t2m&t2m>3", "need a table", 400),
        ("lat[0", "not a hyperslab", 400),
        (",".join(["x"] * 10_000), "no variable x", 404),
    ],
)
def test_errors_have_the_form_of_dap(endpoint: str, constraint: str, word: str, status: int) -> None:
    for suffix in ("dds", "dods", "ascii"):
        answer = get(f"{endpoint}/dap/climate.nc.{suffix}?{quote(constraint, safe=',:')}")
        text = answer[2].decode()
        assert (answer[0], text.startswith(f"Error {{\n    code = {status};")) == (status, True), text
        assert word in text
        assert len(text) < 500


@pytest.mark.parametrize(
    ("constraint", "word"),
    [
        ("/none", "no variable"),
        ("/lat[0:0:3]", "stride of 0"),
        ("/lat[0:9]", "out of range"),
        ("/f(lat)", "f() is not available"),
        ("/lat|lat>3", "filters"),
        ("none=[0:1];/lat[]", "no dimension none"),
        ("/deep/deeper[0]", "is a group"),
    ],
)
def test_errors_of_dap4(endpoint: str, constraint: str, word: str) -> None:
    status, kind, body = get(f"{endpoint}/dap/climate.nc.dap?dap4.ce={quote(constraint)}")
    assert status in (400, 404, 422)
    assert kind == "application/vnd.opendap.dap4.error+xml"
    assert f'httpcode="{status}"' in body.decode()
    assert word in body.decode()


def test_dimensions_are_sliced_together_in_dap4(endpoint: str) -> None:
    text = get(f"{endpoint}/dap/climate.nc.dmr?dap4.ce=lat=[1:3];/lat[];/t2m[0][][1:2]")[2].decode()
    assert '<Dimension name="lat" size="3"/>' in text
    assert text.count('<Dim name="/lat"/>') == 2
    assert '<Dim size="2"/>' in text


def _records(body: bytes, form: str) -> list[tuple[Any, ...]]:
    data = body.partition(b"\nData:\n")[2]
    found = []
    while data[:4] == b"\x5a\0\0\0":
        size = struct.calcsize(form)
        found.append(struct.unpack(form, data[4 : 4 + size]))
        data = data[4 + size :]
    assert data == b"\xa5\0\0\0"
    return found


def test_rows_are_a_sequence(endpoint: str) -> None:
    url = f"{endpoint}/dap/moon.icecore/obs"
    rows = _records(get(f"{url}.dods?rdr.n,rdr.lat,rdr.flag&rdr.lat%3E89&rdr.flag%3E=100")[2], ">idi")
    lat = np.linspace(-90, 90, ROWS)
    flag = (np.arange(ROWS) % 200).astype("u1")
    wanted = np.flatnonzero((lat > 89) & (flag >= 100))
    assert [row[0] for row in rows] == wanted.tolist()
    assert [row[1:] for row in rows] == [(lat[n], flag[n]) for n in wanted]
    assert b"Sequence {" in get(f"{url}.dds?rdr.n&rdr.n%3C5")[2]
    assert get(f"{url}.dods?rdr.n&rdr.n=~5")[0] == 422
    assert get(f"{url}.dods?rdr.n&rdr.none%3C5")[0] == 404
    assert len(_records(get(f"{url}.dods?rdr.n&rdr.n={{3,8,9}}")[2], ">i")) == 3


def test_a_text_table_is_a_sequence(endpoint: str) -> None:
    dds = get(f"{endpoint}/dap/text.icecore.dds")[2].decode()
    assert "Sequence {" in dds
    assert "String name;" in dds
    body = get(f"{endpoint}/dap/text.icecore.dods?s.id,s.name&s.name=%22core%203%22&s.id%3C20")[2]
    assert body.count(b"core 3\0\0") == 3


def test_a_selection_as_a_file(folder: Path, endpoint: str, tmp_path: Path) -> None:
    url = f"{endpoint}/nc/climate.nc.nc?var=t2m&time=2020-01-03..2020-01-05&bbox=40,-25,100,25"
    status, kind, body = get(url)
    assert (status, kind) == (200, "application/x-netcdf")
    (tmp_path / "part.nc").write_bytes(body)
    with xr.open_dataset(folder / "climate.nc") as file, xr.open_dataset(tmp_path / "part.nc") as part:
        wanted = file.t2m.sel(time=slice("2020-01-03", "2020-01-05"), lat=slice(-25, 25), lon=slice(40, 100))
        xr.testing.assert_equal(part.t2m.load(), wanted.load())
        assert set(part.variables) == {"t2m", "time", "lat", "lon"}
        assert part.lat.attrs["units"] == "degrees_north"
    assert get(url, {"range": "bytes=100-199"})[2] == body[100:200]
    for bad, status in (("var=none", 404), ("bbox=1,2,3", 400), ("bbox=9,0,1,5", 400), ("other=3", 400)):
        assert get(f"{endpoint}/nc/climate.nc.nc?{bad}")[0] == status, bad


def test_a_request_does_not_fill_the_disk(folder: Path, endpoint: str) -> None:
    with h5py.File(folder / "huge.h5", "w") as file:
        file.create_dataset("big", (1 << 40,), "f4", chunks=(1 << 20,))
    for query in ("", "?var=big", "?phony_dim_0=0:67108865"):
        status, _, body = get(f"{endpoint}/nc/huge.h5.nc{query}")
        assert (status, b"nccopy" in body) == (413, True), query
    assert get(f"{endpoint}/nc/huge.h5.nc?phony_dim_0=0:10")[0] == 200


def test_catalogs(endpoint: str) -> None:
    text = get(f"{endpoint}/thredds/catalog.xml")[2].decode()
    assert 'urlPath="climate.nc"' in text
    assert 'urlPath="moon.icecore"' in text
    text = get(f"{endpoint}/thredds/climate.nc/catalog.xml")[2].decode()
    assert "<start>2020-01-01T00:00:00Z</start><end>2020-01-10T00:00:00Z</end>" in text
    assert "<northsouth><start>-40</start><size>80</size>" in text
    assert 'urlPath="climate.nc/deep"' in text
    assert b"climate.nc.html" in get(f"{endpoint}/thredds/catalog.html")[2]
    assert get(f"{endpoint}/thredds/catalog.json")[0] == 404


def test_names_with_signs(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "n.h5", "w") as file:
        for name in ("H1:A b", "x.y", 'q"[0]', "é", "100%"):
            file[f"a group/{name}"] = np.arange(3)
    with serving(tmp_path, "--cache", tmp_path / "cache") as endpoint:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with netCDF4.Dataset(f"{endpoint}/dap/n.h5") as served:
                # The one with a quotation mark is left out of DAP2, and named.
                assert len(served.variables) == 4
                assert all(_same(each[...], np.arange(3)) for each in served.variables.values())
        assert "quotation mark" in get(f"{endpoint}/dap/n.h5.das")[2].decode()
        dmr = get(f"{endpoint}/dap/n.h5.dmr")[2].decode()
        assert 'name="x.y"' in dmr
        assert 'name="q&quot;[0]"' in dmr


def test_a_document_is_not_sent_again(endpoint: str) -> None:
    place = urlsplit(endpoint)
    connection = http.client.HTTPConnection(place.hostname or "", place.port)
    connection.request("GET", "/dap/climate.nc.das")
    first = connection.getresponse()
    first.read()
    connection.request("GET", "/dap/climate.nc.das", headers={"if-none-match": first.headers["etag"]})
    again = connection.getresponse()
    assert (again.status, again.read()) == (304, b"")
    connection.close()
