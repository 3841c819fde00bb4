"""Indexing files on a web server: few ranged requests, URLs in the links, clear errors."""

from __future__ import annotations

import zipfile

import h5py
import icecore
import netCDF4
import numpy as np
import pytest
from icecore import errors
from icecore.sources import open_source
from icecore.sources.files import http as sources_http
from sources_kit import everything, same

rng = np.random.default_rng(2)


def big_file(folder):
    data = rng.normal(size=(3000, 1000)).astype("f4")
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("x", data=data, chunks=(100, 100), compression="gzip")
        file["text"] = np.array(["a", "b"], object)
    return data


def test_hdf5_is_indexed_by_ranges(site):
    data = big_file(site.folder)
    url = f"{site.url}/x.h5"
    amap = open_source(url)
    links = amap.arrays["/x"].links
    assert links.urls == [url]
    assert links.etags == ['"one"']
    assert links.sizes.tolist() == [(site.folder / "x.h5").stat().st_size]
    assert links.mtimes_ns.tolist() == [1445412480_000_000_000]
    assert len(links) == 300
    # Once to tell the format, twice for its identity, the rest for its metadata: not for its data.
    assert site.requests <= 14
    assert site.sent < 2 << 20
    assert same(amap.arrays["/x"].read((slice(5, 9), slice(0, 1000))), data[5:9])
    assert amap.arrays["/text"].read((slice(0, 2),)).tolist() == ["a", "b"]
    local = open_source(site.folder / "x.h5").arrays["/x"].links
    for column in ("chunks", "offsets", "lengths"):
        assert same(getattr(local, column), getattr(links, column))


def test_a_server_with_a_limit_on_ranges(site, tmp_path):
    """It sends at most 70,000 bytes at a time, and says so in Content-Range; the limit is learned."""
    data = big_file(site.folder)
    site.mode = "capped"
    icecore.link(f"{site.url}/x.h5", tmp_path / "r")
    array = icecore.open(tmp_path / "r")["/x/x"]
    assert same(array[...], data)
    site.requests = site.sent = 0
    plan = array.plan((slice(0, 300), slice(0, 1000)))
    assert same(array[:300], data[:300])
    # Each range once, in pieces of 70,000 bytes: none is asked for whole again.
    assert site.sent == plan.bytes_fetched
    assert site.requests <= plan.bytes_fetched / 70_000 + plan.requests


def test_a_server_that_sends_a_few_bytes_at_a_time_is_refused(site, tmp_path):
    big_file(site.folder)
    icecore.link(f"{site.url}/x.h5", tmp_path / "r")
    site.mode = "drip"
    with pytest.raises(errors.Error) as caught:
        icecore.open(tmp_path / "r")["/x/x"][...]
    assert caught.value.kind == "network"


def test_members_of_archives_on_a_server(site, tmp_path):
    with zipfile.ZipFile(site.folder / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cities.csv", "name,height\nKiel,5\nBern,540\n")
    icecore.pack(f"{site.url}/x.zip", tmp_path / "r", group="/t")
    assert icecore.open(tmp_path / "r").table("/t")["height"][...].tolist() == [5, 540]
    (site.folder / "cut.zip").write_bytes((site.folder / "x.zip").read_bytes()[:-30])
    with pytest.raises(errors.Error) as caught:
        open_source(f"{site.url}/cut.zip")
    assert caught.value.kind == "corrupt"


def test_other_formats_over_http(site):
    np.save(site.folder / "c d.npy", np.arange(300.0))
    np.savez_compressed(site.folder / "e.npz", x=np.arange(9))
    with netCDF4.Dataset(site.folder / "b.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("x", 3)
        file.createVariable("x", "f4", ("x",))[:] = [1, 2, 3]
    entry = open_source(f"{site.url}/c%20d.npy").arrays["/c d"]
    assert entry.links.urls == [f"{site.url}/c%20d.npy"]
    assert same(entry.read((slice(7, 9),)), np.arange(7.0, 9.0))
    assert open_source(f"{site.url}/b.nc").arrays["/x"].read((slice(0, 3),)).tolist() == [1, 2, 3]
    entry = open_source(f"{site.url}/e.npz").arrays["/x"]
    assert same(entry.read(everything(entry)), np.arange(9))


def test_busy_servers_are_asked_again_and_redirects_followed(site):
    big_file(site.folder)
    site.mode = "flaky"
    assert "/x" in open_source(f"{site.url}/x.h5").arrays
    site.mode = ""
    links = open_source(f"{site.url}/moved/x.h5").arrays["/x"].links
    assert links.urls == [f"{site.url}/moved/x.h5"]


def test_a_server_says_when_to_ask_again(site, monkeypatch):
    waits = []
    monkeypatch.setattr(sources_http.time, "sleep", waits.append)
    np.save(site.folder / "x.npy", np.arange(3))
    site.mode = "later"
    assert "/x" in open_source(f"{site.url}/x.npy").arrays
    assert waits == [17]


def test_a_part_that_is_too_short_is_asked_for_again(site):
    np.save(site.folder / "x.npy", np.arange(3))
    site.mode = "short once"
    content = (site.folder / "x.npy").read_bytes()
    assert sources_http.HttpBytes(f"{site.url}/x.npy").read_at(0, 1000) == content


def test_weak_etags_are_no_identity(site):
    np.save(site.folder / "x.npy", np.arange(3))
    site.mode = "weak"
    assert open_source(f"{site.url}/x.npy").arrays["/x"].links.etags == [None]


@pytest.mark.parametrize(
    ("mode", "name", "kind"),
    [
        ("", "gone.h5", "source-missing"),
        ("denied", "x.npy", "permission"),
        ("no ranges", "x.npy", "network"),
        ("shifted", "x.npy", "network"),
        ("gzip", "x.npy", "network"),
        ("", "empty.h5", "format"),
        ("", "text.h5", "unsupported"),
    ],
)
def test_refusals(site, mode, name, kind):
    np.save(site.folder / "x.npy", np.arange(3))
    (site.folder / "empty.h5").write_bytes(b"")
    (site.folder / "text.h5").write_bytes(b"<html>sorry</html>")
    site.mode = mode
    with pytest.raises(errors.Error) as caught:
        open_source(f"{site.url}/{name}")
    assert caught.value.kind == kind
    assert name in caught.value.message


def test_nobody_there(monkeypatch):
    monkeypatch.setattr(sources_http.time, "sleep", lambda seconds: None)
    with pytest.raises(errors.Error) as caught:
        open_source("http://127.0.0.1:9/x.h5")
    assert caught.value.kind == "network"


def test_a_file_that_changes_is_refused(site):
    data = big_file(site.folder)
    entry = open_source(f"{site.url}/x.h5").arrays["/x"]
    assert same(entry.read((slice(0, 1), slice(0, 5))), data[:1, :5])
    site.etag = "two"
    with pytest.raises(errors.Error) as caught:
        entry.read((slice(2990, 3000), slice(0, 1000)))
    assert 'etag "one"' in caught.value.message
    assert caught.value.kind == "source-changed"


def test_addresses_that_no_source_has(site):
    with pytest.raises(errors.Error) as caught:
        open_source(f"{site.url}/x.zarr")
    assert (caught.value.kind, "Zarr folder" in caught.value.hint) == ("source-missing", True)
    with pytest.raises(errors.Error) as caught:
        open_source(site.url.replace("//", "//me:secret@") + "/x.h5")
    assert caught.value.kind == "invalid"
    assert "secret" not in str(caught.value)


def test_a_repository_where_only_whole_files_are_sent(site):
    """As Python's http.server does it, the first one that comes to mind."""
    with icecore.create(site.folder / "r").writer() as w:
        w.array("/x", "f8", (3000,), codec="none")[...] = np.arange(3000.0)
    np.save(site.folder / "x.npy", np.arange(1000.0))
    linked = site.folder / "linked"
    icecore.link(f"{site.url}/x.npy", into=linked)
    site.mode = "no ranges"
    for repo in (f"{site.url}/r", linked):
        with pytest.raises(errors.Error, match="Range request") as caught:
            next(iter(icecore.open(repo).arrays.values())).read()
        assert (caught.value.kind, "doesn't send parts of files" in caught.value.hint) == ("network", True)


@pytest.mark.parametrize("mode", ["unlisted", "a page for all"])
def test_repositories_on_servers_that_hide_what_is_not_there(site, tmp_path, mode):
    """Buckets that nobody may list forbid what they don't hold; some servers send their start page."""
    np.save(tmp_path / "x.npy", np.arange(5))
    icecore.pack(tmp_path / "x.npy", into=tmp_path / "moon.icecore")
    site.mode = mode
    assert icecore.open(f"{site.url}/moon.icecore")["/x/x"][...].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(errors.Error):  # nor does a page make a repository
        icecore.open(f"{site.url}/mars.icecore")
    site.mode = "denied"
    with pytest.raises(PermissionError):
        icecore.open(f"{site.url}/moon.icecore")


def test_addresses_as_people_write_them(site, tmp_path):
    """With blanks and letters beyond ASCII, and schemes in capitals."""
    np.save(site.folder / "a ü.npy", np.arange(5))
    host = site.url.removeprefix("http")
    icecore.link(f"HTTP{host}/a ü.npy", into=site.folder / "moon.icecore", group="/f")
    assert next(iter(icecore.open(site.folder / "moon.icecore").arrays.values()))[...].tolist() == [
        0,
        1,
        2,
        3,
        4,
    ]
    far = icecore.open(f"HTTP{host}/moon.icecore")
    with pytest.raises(errors.Error) as caught:
        far.gc()
    assert caught.value.kind == "read-only"


def test_a_redirect_that_holds_no_more_is_asked_for_again(site):
    np.save(site.folder / "x.npy", np.arange(100_000))
    source = sources_http.HttpBytes(f"{site.url}/x.npy")
    source._where = f"{site.url}/signed-for-a-minute/x.npy"
    assert len(source.read_at(200_000, 1000)) == 1000
