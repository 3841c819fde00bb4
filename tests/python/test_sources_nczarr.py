"""Zarr stores that netCDF-C writes (NCZarr): what netCDF reads, without netCDF's bookkeeping."""

from __future__ import annotations

import icecore
import netCDF4
import numpy as np
import pytest
import xarray as xr
from icecore.repository.typed_attributes import typed

TEXTS = ["a", "bc", "def", "ghij", "", "x"]


def write(path, mode):
    with netCDF4.Dataset(f"file://{path}#mode={mode},file", "w") as file:
        file.createDimension("y", 6)
        file.createDimension("s", 4)
        file.title = "x"
        file.createVariable("t", "i2", ("y",), zlib=True)[:] = np.arange(6)
        file["t"].units = "K"
        file["t"].scale_factor = np.float32(0.1)
        characters = netCDF4.stringtochar(np.array(TEXTS, "S4"))
        file.createVariable("c", "S1", ("y", "s"))[:] = characters
        file.createVariable("one", "i4", ())[...] = 5
        if mode == "nczarr":
            file.createGroup("below").createVariable("w", "f8", ("y",))[:] = np.arange(6)
            file["below"].note = "n"


@pytest.mark.parametrize("mode", ["nczarr", "zarr"])
def test_as_netcdf_reads_it(tmp_path, mode):
    write(tmp_path / "a.zarr", mode)
    icecore.pack(tmp_path / "a.zarr", tmp_path / "r.icecore", group="/g")
    repo = icecore.open(tmp_path / "r.icecore")
    assert dict(repo["/g"].attrs) == {"title": "x"}
    assert repo["/g/one"].shape == ()
    assert repo["/g/one"][...] == 5
    assert repo["/g/t"].dims == ("y",)
    for path, array in repo.arrays.items():
        assert not [name for name in array.attrs if "nczarr" in name.lower()], path
    assert repo["/g/t"].attrs["units"] == "K"
    if mode == "nczarr":  # which keeps the types of attributes
        assert typed(repo["/g/t"]._node)["scale_factor"].dtype == np.float32
        assert dict(repo["/g/below"].attrs) == {"note": "n"}
        assert repo["/g/below/w"].dims == ("y",)
    dataset = xr.open_dataset(tmp_path / "r.icecore", engine="icecore", group="/g")
    assert dataset["c"].dims == ("y",)
    assert [text.decode() for text in dataset["c"].values] == TEXTS
    with netCDF4.Dataset(f"file://{tmp_path / 'a.zarr'}#mode={mode},file") as file:
        assert np.array_equal(dataset["t"].values, xr.open_dataset(xr.backends.NetCDF4DataStore(file))["t"])


def test_a_zarr_folder_on_a_server_without_ranges(tmp_path, unranged):
    with pytest.raises(icecore.Error, match="doesn't send ranges") as caught:
        icecore.link(f"{unranged}/a.zarr", tmp_path / "r.icecore", group="/g")
    assert caught.value.kind == "network"


@pytest.fixture
def unranged(tmp_path):
    """The address of a server that answers each request with a page."""
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html></html>")

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
