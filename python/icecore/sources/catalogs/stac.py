"""Items of STAC APIs and static STAC catalogs, through pystac-client."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from icecore import errors
from icecore.sources.catalogs.query import Found, Query
from icecore.sources.files.object_stores import headers_of

PARAMETERS = ("collection", "asset", "ids")
#: roles of assets that are not data
_BESIDE = {"thumbnail", "overview", "metadata", "visual"}


def find(query: Query, most: int) -> Iterator[Found]:
    """Yield the data assets of the items of an API or a static catalog at the query's address.

    Raises:
        Error: ``invalid`` if there are more than ``most`` items and the query has no limit; ``not-found`` for
            an asset that an item lacks.
    """
    for number, item in enumerate(_items(query, query.limit or most + 1)):
        if query.limit is None and number == most:
            message = f"{query}: more than {most:,} items match"
            raise errors.make(
                "invalid", message, "narrow it with collection=, bbox= and time=, or give limit="
            )
        yield from _assets(item, query.parameters.get("asset"))


def _items(query: Query, most: int) -> Iterator[Any]:
    import pystac_client

    url, given = query.name, query.parameters
    collections = given["collection"].split(",") if "collection" in given else None
    ids = given["ids"].split(",") if "ids" in given else None
    client = pystac_client.Client.open(url, headers=headers_of(url) or None)
    if client.conforms_to("ITEM_SEARCH"):
        found = client.search(
            collections=collections,
            ids=ids,
            bbox=query.bbox,
            datetime=None if query.interval is None else "/".join(query.interval),
            max_items=most,
        )
        yield from found.items()
        return
    count = 0
    for item in client.get_items(recursive=True):
        if collections is not None and item.collection_id not in collections:
            continue
        if (ids is None or item.id in ids) and _matches(item, query):
            yield item
            count += 1
            if count == most:
                return


def _matches(item: Any, query: Query) -> bool:
    """Whether an item of a static catalog overlaps the box and the times of a query."""
    first, last = query.times
    start, end = (None if time is None else _utc(time) for time in _span(item))
    if (first and end and end < first) or (last and start and start > last):
        return False
    if (first or last) and start is None and end is None:
        return False
    return query.bbox is None or (item.bbox is not None and _overlap(query.bbox, _flat(item.bbox)))


def _span(item: Any) -> tuple[datetime | None, datetime | None]:
    common = item.common_metadata
    return common.start_datetime or item.datetime, common.end_datetime or item.datetime


def _utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _flat(box: list[float]) -> tuple[float, float, float, float]:
    """Return a box without heights."""
    half = len(box) // 2
    return box[0], box[1], box[half], box[half + 1]


Box = tuple[float, float, float, float]


def _overlap(one: Box, two: Box) -> bool:
    if one[3] < two[1] or two[3] < one[1]:
        return False
    return any(a <= d and c <= b for a, b in _ranges(one) for c, d in _ranges(two))


def _ranges(box: Box) -> list[tuple[float, float]]:
    """Return the longitudes of a box in -180..180, in two parts if it crosses the antimeridian."""
    if box[2] - box[0] >= 360:
        return [(-180.0, 180.0)]
    west, east = ((each + 180) % 360 - 180 if each not in (180, -180) else each for each in (box[0], box[2]))
    return [(west, east)] if west <= east else [(west, 180.0), (-180.0, east)]


def _assets(item: Any, wanted: str | None) -> Iterator[Found]:
    start, end = (None if time is None else _utc(time).isoformat() for time in _span(item))
    box = None if item.bbox is None else _flat(item.bbox)
    for key in _keys(item, wanted):
        asset = item.assets[key]
        size = asset.extra_fields.get("file:size")
        yield Found(asset.get_absolute_href() or asset.href, start, end, box, size)


def _keys(item: Any, wanted: str | None) -> list[str]:
    """Return the keys of an item's assets: those that were named, or those with the role ``data``, or all but
    pictures and metadata.
    """
    if wanted is not None:
        keys = wanted.split(",")
        missing = [key for key in keys if key not in item.assets]
        if missing:
            message = f"item {item.id} has no asset {missing[0]}"
            raise errors.make("not-found", message, f"its assets: {', '.join(item.assets)}")
        return keys
    data = [key for key, asset in item.assets.items() if "data" in (asset.roles or ())]
    return data or [key for key, asset in item.assets.items() if not _BESIDE & set(asset.roles or ())]
