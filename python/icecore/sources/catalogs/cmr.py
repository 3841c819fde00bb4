"""Granules of NASA's Common Metadata Repository, through earthaccess."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from icecore import errors
from icecore.sources.catalogs.query import Found, Query, box_of

PARAMETERS = ("version", "provider", "polygon", "granule", "access", "cloud")
_CONCEPT = re.compile(r"[CG]\d+-\w+")
#: files beside the data that some collections name among them
_BESIDE = (
    ".md5",
    ".sha256",
    ".sha512",
    ".xml",
    ".json",
    ".png",
    ".jpg",
    ".jpeg",
    ".html",
    ".pdf",
    ".dmrpp",
    ".txt",
)


def find(query: Query, most: int) -> Iterator[Found]:
    """Yield the granules of a collection, named by its short name (``ATL03``) or its concept id.

    Raises:
        Error: ``invalid`` if there are more than ``most`` and the query has no limit.
    """
    import earthaccess

    session = earthaccess.DataGranules()
    if "host" in query.parameters:
        session.mode(query.parameters["host"].rstrip("/") + "/")
    search = session.parameters(**_asked(query))
    if query.limit is None and (hits := search.hits()) > most:
        message = f"{query}: {hits:,} granules match, more than {most:,}"
        raise errors.make("invalid", message, "narrow it with bbox= and time=, or give limit=")
    for granule in search.get(query.limit or most)[: query.limit]:
        links = granule.data_links(
            access="direct" if query.parameters.get("access") == "direct" else "external"
        )
        facts = _facts(granule)
        yield from (Found(link, **facts) for link in links if not link.lower().endswith(_BESIDE))


def _asked(query: Query) -> dict[str, Any]:
    given = query.parameters
    kind = "concept_id" if _CONCEPT.fullmatch(query.name) else "short_name"
    asked: dict[str, Any] = {kind: query.name}
    asked |= {name: given[name] for name in ("version", "provider") if name in given}
    if query.bbox is not None:
        asked["bounding_box"] = query.bbox
    first, last = query.times
    if first is not None or last is not None:
        asked["temporal"] = (first, last)
    if "polygon" in given:
        numbers = [float(each) for each in given["polygon"].split(",")]
        asked["polygon"] = list(zip(numbers[::2], numbers[1::2], strict=True))
    if "granule" in given:
        asked["granule_name"] = given["granule"]
    if "cloud" in given:
        asked["cloud_hosted"] = given["cloud"].lower() in ("1", "true", "yes")
    return asked


def _facts(granule: Any) -> dict[str, Any]:
    umm = granule.get("umm", {})
    extent = umm.get("TemporalExtent", {})
    times = extent.get("RangeDateTime", {})
    single = extent.get("SingleDateTime")
    sizes = [
        each.get("SizeInBytes")
        for each in umm.get("DataGranule", {}).get("ArchiveAndDistributionInformation", [])
    ]
    return {
        "start": times.get("BeginningDateTime", single),
        "end": times.get("EndingDateTime", single),
        "bbox": box_of(_points(umm.get("SpatialExtent", {}).get("HorizontalSpatialDomain", {}))),
        "size": int(sizes[0]) if len(sizes) == 1 and sizes[0] else None,
    }


def _points(domain: dict[str, Any]) -> list[tuple[float, float]]:
    geometry = domain.get("Geometry", {})
    corners: list[tuple[float, float]] = []
    for box in geometry.get("BoundingRectangles", []):
        corners.append((box["WestBoundingCoordinate"], box["SouthBoundingCoordinate"]))
        corners.append((box["EastBoundingCoordinate"], box["NorthBoundingCoordinate"]))
    lines = [each.get("Points", []) for each in geometry.get("Lines", [])] + [geometry.get("Points", [])]
    lines += [each.get("Boundary", {}).get("Points", []) for each in geometry.get("GPolygons", [])]
    return corners + [(point["Longitude"], point["Latitude"]) for line in lines for point in line]
