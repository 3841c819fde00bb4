"""Small doubles of catalogues on loopback: CMR, a STAC API, a static STAC catalog, GWOSC and gwdatafind.

Their answers have the recorded shapes of the services; the clients are unchanged.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


def granule(url: str, start: str, end: str, box: tuple[float, float, float, float]) -> dict[str, Any]:
    """A granule as CMR's ``umm_json`` has it."""
    west, south, east, north = box
    corners = [(west, south), (east, south), (east, north), (west, north), (west, south)]
    points = [{"Longitude": x, "Latitude": y} for x, y in corners]
    return {
        "meta": {"concept-id": "G1-X", "provider-id": "NSIDC_CPRD", "granule-size": 1.0},
        "umm": {
            "GranuleUR": url.rsplit("/", 1)[-1],
            "CollectionReference": {"ShortName": "ATL03", "Version": "006"},
            "TemporalExtent": {"RangeDateTime": {"BeginningDateTime": start, "EndingDateTime": end}},
            "SpatialExtent": {
                "HorizontalSpatialDomain": {"Geometry": {"GPolygons": [{"Boundary": {"Points": points}}]}}
            },
            "DataGranule": {"ArchiveAndDistributionInformation": [{"Name": "x", "SizeInBytes": 1234}]},
            "RelatedUrls": [
                {"URL": url, "Type": "GET DATA"},
                {"URL": f"{url}.md5", "Type": "GET DATA"},
                {"URL": f"{url}.dmrpp", "Type": "EXTENDED METADATA"},
                {"URL": f"s3://protected/{url.rsplit('/', 1)[-1]}", "Type": "GET DATA VIA DIRECT ACCESS"},
            ],
        },
    }


def item(name: str, href: str, time: str, box: tuple[float, float, float, float]) -> dict[str, Any]:
    """A STAC item with one asset of data and a picture."""
    west, south, east, north = box
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {
        "type": "Feature",
        "stac_version": "1.0.0",
        "id": name,
        "collection": "winds",
        "geometry": {"type": "Polygon", "coordinates": [ring]},
        "bbox": list(box),
        "properties": {"datetime": time},
        "links": [],
        "assets": {
            "data": {"href": href, "roles": ["data"], "file:size": 99},
            "preview": {"href": f"{href}.png", "roles": ["thumbnail"]},
        },
    }


class Handler(BaseHTTPRequestHandler):
    """Answers from the server's ``granules``, ``items`` and ``frames``; ``asked`` has every request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self.answer({})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        self.answer(json.loads(self.rfile.read(length) or b"{}"))

    def answer(self, body: dict[str, Any]) -> None:
        server: Any = self.server
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()} | body
        server.asked.append((parts.path, query))
        headers: dict[str, str] = {}
        status = server.status
        if status == 200 and parts.path.startswith("/search/granules"):
            found = [] if self.headers.get("cmr-search-after") else server.granules
            headers = {"CMR-Hits": str(server.hits or len(server.granules)), "cmr-search-after": "[1]"}
            document: Any = {"hits": len(server.granules), "items": found[: int(query.get("page_size", 10))]}
        elif status == 200:
            document = server.documents(parts.path, query)
        else:
            document = {"errors": ["no"]}
        if document is None:
            status, document = 404, {"detail": "not found"}
        data = json.dumps(document).encode()
        self.send_response(status)
        for key, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **headers,
        }.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def catalogs() -> Iterator[Any]:
    """A server with all of them; ``url`` is its address."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{server.server_port}"
    server.asked, server.granules, server.items, server.frames = [], [], [], []
    server.status, server.hits = 200, 0
    server.documents = lambda path, query: _document(server, path, query)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def _document(server: Any, path: str, query: dict[str, Any]) -> Any:
    root = {"type": "Catalog", "stac_version": "1.0.0", "id": "x", "description": "x"}
    if path.rstrip("/") == "/stac":
        links = [
            {"rel": "self", "href": f"{server.url}/stac"},
            {"rel": "root", "href": f"{server.url}/stac"},
            {
                "rel": "search",
                "type": "application/geo+json",
                "href": f"{server.url}/stac/search",
                "method": "GET",
            },
        ]
        classes = ["https://api.stacspec.org/v1.0.0/core", "https://api.stacspec.org/v1.0.0/item-search"]
        return {**root, "conformsTo": classes, "links": links}
    if path == "/stac/search":
        return {"type": "FeatureCollection", "features": server.items, "links": []}
    if path == "/static/catalog.json":
        links = [{"rel": "item", "href": f"./{each['id']}.json"} for each in server.items]
        return {**root, "links": links}
    if path.startswith("/static/"):
        name = path.rsplit("/", 1)[-1].removesuffix(".json")
        return next((each for each in server.items if each["id"] == name), None)
    if path.startswith("/api/v2/event-versions/GW") and path.endswith("/strain-files"):
        files = [each for each in server.frames if query.get("detector") in (None, each["detector"])]
        return {"num_pages": 1, "next": None, "results": files}
    if path.startswith("/api/v2/runs/O1/strain-files"):
        return {"num_pages": 1, "next": None, "results": server.frames}
    if path.startswith("/api/v1/gwf/"):
        return [each["download_url"] for each in server.frames]
    return None
