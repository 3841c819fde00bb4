"""`icecore find`, and catalogues as sources: services on loopback, asked by their own clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import catalog_kit
import h5py
import icecore
import numpy as np
import pytest
from icecore import errors
from icecore.sources import catalogs
from icecore.sources.catalogs.query import Query, box_of
from icecore.sources.source_list import expand

BOX = (-50.0, 68.0, -49.0, 69.0)


@pytest.fixture
def services() -> Any:
    with catalog_kit.catalogs() as server:
        yield server


@pytest.fixture
def granules(services: Any, site: Any) -> list[str]:
    """Two granules on a web server, and their records in each catalogue."""
    urls = []
    for number in range(2):
        with h5py.File(site.folder / f"ATL03_{number}.h5", "w") as file:
            file["height"] = np.arange(5.0) + number
        urls.append(f"{site.url}/ATL03_{number}.h5")
        day = f"2019-01-0{number + 1}"
        box = (-50.0 + number, 68.0, -49.5 + number, 69.0)
        services.granules.append(catalog_kit.granule(urls[-1], f"{day}T00:00:00Z", f"{day}T01:00:00Z", box))
        services.items.append(catalog_kit.item(f"i{number}", urls[-1], f"{day}T00:00:00Z", box))
    return urls


def test_granules_of_cmr(services: Any, granules: list[str]) -> None:
    pytest.importorskip("earthaccess")
    found = catalogs.find("cmr:ATL03", bbox=BOX, time="2019-01..2019-02", host=f"{services.url}/search/")
    assert [item.url for item in found] == granules
    assert (found[0].start, found[0].size) == ("2019-01-01T00:00:00Z", 1234)
    assert found[0].bbox == (-50.0, 68.0, -49.5, 69.0)
    path, query = services.asked[0]
    assert path == "/search/granules.umm_json"
    assert (query["short_name"], query["bounding_box"]) == ("ATL03", "-50.0,68.0,-49.0,69.0")
    assert query["temporal[]"] == "2019-01-01T00:00:00Z,2019-02-28T23:59:59Z"
    direct = catalogs.find("cmr:ATL03?access=direct", host=f"{services.url}/search/")
    assert [item.url for item in direct] == ["s3://protected/ATL03_0.h5", "s3://protected/ATL03_1.h5"]
    services.hits = 716_523
    with pytest.raises(errors.Error, match="716,523") as caught:
        catalogs.find("cmr:ATL03", host=f"{services.url}/search/")
    assert caught.value.kind == "invalid"
    assert len(catalogs.find("cmr:ATL03?limit=1", host=f"{services.url}/search/")) == 1


def test_one_line_links_what_cmr_has(services: Any, granules: list[str], tmp_path: Path) -> None:
    pytest.importorskip("earthaccess")
    into = tmp_path / "year.icecore"
    icecore.link(f"cmr:ATL03?bbox=-50,68,-49,69&host={services.url}/search/", into)
    repo = icecore.open(into)
    assert repo["/ATL03_0/height"][...].tolist() == [0, 1, 2, 3, 4]
    assert repo["/ATL03_1/height"][...].tolist() == [1, 2, 3, 4, 5]
    assert repo["/ATL03_1/height"].linked


def test_options_of_the_call_are_for_the_buckets_that_are_found(services: Any) -> None:
    pytest.importorskip("pystac_client")
    from icecore.sources.files import object_stores

    services.items.append(catalog_kit.item("i", "s3://found-1/x.h5", "2019-01-01T00:00:00Z", BOX))
    services.items.append(catalog_kit.item("j", "https://found.example/x.h5", "2019-01-01T00:00:00Z", BOX))
    source = f"stac:{services.url}/stac"
    object_stores.remember(source, {"region": "us-west-2", "header.authorization": "secret"})
    assert expand(source) == ["s3://found-1/x.h5", "https://found.example/x.h5"]
    assert object_stores.options_of("s3://found-1/x.h5")["region"] == "us-west-2"
    assert object_stores.headers_of("https://found.example/x.h5") == {}


@pytest.mark.parametrize("place", ["stac", "static/catalog.json"])
def test_items_of_stac(services: Any, granules: list[str], place: str) -> None:
    pytest.importorskip("pystac_client")
    base = f"stac:{services.url}/{place}"
    found = catalogs.find(base, bbox=BOX, time="2019-01-01..2019-01-02", collection="winds")
    assert [item.url for item in found] == granules
    assert found[0].bbox == (-50.0, 68.0, -49.5, 69.0)
    assert [item.url for item in catalogs.find(base, asset="preview")] == [f"{url}.png" for url in granules]
    with pytest.raises(errors.Error, match="asset nothing") as caught:
        catalogs.find(base, asset="nothing")
    assert (caught.value.kind, caught.value.hint) == ("not-found", "its assets: data, preview")
    if place == "stac":
        path, query = services.asked[1]
        assert path == "/stac/search"
        assert query["datetime"] == "2019-01-01T00:00:00Z/2019-01-02T23:59:59Z"
        assert query["bbox"] == [-50.0, 68.0, -49.0, 69.0]
    else:  # without a search of its own: compared here
        assert [item.url for item in catalogs.find(base, time="2019-01-02")] == granules[1:]
        assert [item.url for item in catalogs.find(base, bbox=(-50, 68, -49.6, 69))] == granules[:1]
        assert catalogs.find(base, bbox=(170, 68, -170, 69)) == []


@pytest.mark.parametrize("href", ["file:///etc/passwd", "FILE:///etc/passwd"])
def test_a_catalogue_on_a_server_names_no_files_of_this_machine(services: Any, site: Any, href: str) -> None:
    pytest.importorskip("pystac_client")
    services.items.append(catalog_kit.item("i", href, "2019-01-01T00:00:00Z", BOX))
    with pytest.raises(errors.Error) as caught:
        expand(f"stac:{services.url}/stac")
    assert caught.value.kind == "permission"


def test_an_event_names_no_files_of_this_machine(services: Any, site: Any) -> None:
    pytest.importorskip("gwosc")
    services.frames = [strain(site, "L1", 1126259447)]
    for key in ("download_url", "hdf5_url", "gwf_url"):
        services.frames[0][key] = "file:///tmp/L-L1_GWOSC_4KHZ_R1-1126259447-32.hdf5"
    with pytest.raises(errors.Error) as caught:
        expand(f"gwosc:GW150914?host={services.url}&detector=L1")
    assert caught.value.kind == "permission"


def strain(site: Any, detector: str, start: int) -> dict[str, Any]:
    name = f"{detector[0]}-{detector}_GWOSC_4KHZ_R1-{start}-32.hdf5"
    with h5py.File(site.folder / name, "w") as file:
        file["strain"] = np.zeros(4)
    url = f"{site.url}/{name}"
    return {
        "detector": detector,
        "gps_start": start,
        "duration": 32,
        "download_url": url,
        "hdf5_url": url,
        "gwf_url": url,
    }


def test_files_of_an_event_and_of_a_run(services: Any, site: Any) -> None:
    pytest.importorskip("gwosc")
    services.frames = [strain(site, "H1", 1126259447), strain(site, "L1", 1126259447)]
    found = catalogs.find(f"gwosc:GW150914?host={services.url}", detector="L1")
    assert [(item.url, item.start, item.end) for item in found] == [
        (services.frames[1]["download_url"], "1126259447", "1126259479")
    ]
    run = catalogs.find(
        "gwosc:O1", host=services.url, detector="H1", time="2015-09-14T09:50:30..2015-09-14T09:51"
    )
    assert len(run) == 2
    query = services.asked[-1][1]
    assert (query["start"], query["stop"]) == ("1126259447", "1126259477")
    with pytest.raises(errors.Error, match="which time") as caught:
        catalogs.find("gwosc:H1", host=services.url)
    assert caught.value.kind == "invalid"
    assert expand(f"gwosc:GW150914?host={services.url}&detector=L1") == [found[0].url]


def test_frames_of_a_cluster(services: Any, site: Any) -> None:
    pytest.importorskip("gwdatafind")
    services.frames = [strain(site, "H1", 1187008800)]
    asked = f"datafind:H/H1_HOFT_C00?time=1187008800..1187008900&host={services.url}&urltype=https"
    assert [item.start for item in catalogs.find(asked)] == ["1187008800"]
    assert services.asked[-1][0] == "/api/v1/gwf/H/H1_HOFT_C00/1187008800,1187008900/https.json"


def test_the_command(run: Any, services: Any, granules: list[str], tmp_path: Path, monkeypatch: Any) -> None:
    pytest.importorskip("pystac_client")
    base = f"stac:{services.url}/stac"
    status, out, _ = run("find", base, "--bbox", "-50,68,-49,69", "--time", "2019-01")
    assert (status, out.split()) == (0, granules)
    listed = tmp_path / "list.txt"
    assert run("find", base, "-o", listed)[:2] == (0, "")
    assert run("link", f"@{listed}", "--into", tmp_path / "r.icecore")[0] == 0
    assert icecore.open(tmp_path / "r.icecore")["/ATL03_0/height"].linked
    services.items = []
    assert run("find", base)[:2] == (1, "")
    status, _, err = run("link", base, "--into", tmp_path / "s.icecore")
    assert (status, "error[source-missing]" in err or "nothing matches" in err) == (2, True)


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("cmr:ATL03?bbox=1,2,3", "invalid"),
        ("cmr:ATL03?bbox=1,50,3,40", "invalid"),
        ("cmr:ATL03?time=tomorrow", "invalid"),
        ("cmr:ATL03?limit=0", "invalid"),
        ("cmr:ATL03?colour=red", "invalid"),
        ("cmr:ATL03?bbox=", "invalid"),
        ("datafind:H", "invalid"),
        ("erddap:x", "invalid"),
    ],
)
def test_questions_without_an_answer(asked: str, kind: str) -> None:
    pytest.importorskip("gwdatafind")
    with pytest.raises(errors.Error) as caught:
        catalogs.find(asked)
    assert caught.value.kind == kind
    assert caught.value.hint


def test_a_catalogue_that_fails(services: Any) -> None:
    pytest.importorskip("pystac_client")
    for status, kind in ((401, "permission"), (404, "source-missing"), (500, "network")):
        services.status = status
        with pytest.raises(errors.Error) as caught:
            catalogs.find(f"stac:{services.url}/stac")
        assert caught.value.kind == kind
    with pytest.raises(errors.Error) as caught:
        catalogs.find("stac:http://127.0.0.1:9/stac")
    assert caught.value.kind == "network"


def test_times_and_boxes() -> None:
    def interval(text: str) -> tuple[str, str] | None:
        return Query("cmr", "x", {"time": text}).interval

    assert interval("2019") == ("2019-01-01T00:00:00Z", "2019-12-31T23:59:59Z")
    assert interval("2019-02") == ("2019-02-01T00:00:00Z", "2019-02-28T23:59:59Z")
    assert interval("2019-12/2020-01") == ("2019-12-01T00:00:00Z", "2020-01-31T23:59:59Z")
    assert interval("2019-01-05T12:00+02:00..") == ("2019-01-05T10:00:00Z", "..")
    assert Query("gwosc", "H1", {"time": "2015-09-14T09:50:45"}).gps == (1126259462, 1126259462)
    assert box_of([(170.0, 1.0), (-175.0, 3.0)]) == (170.0, 1.0, -175.0, 3.0)
    assert box_of([(-50.0, 1.0), (-49.0, 3.0)]) == (-50.0, 1.0, -49.0, 3.0)
