"""Attributes of the columns of Diviner RDR tables, which have no label.

Names, units and constants: PDS3 format file ``dlre_rdr.fmt`` of data set LRO-L-DLRE-4-RDR-V1.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_KNOWN = {
    "date": "date at the midpoint of the observation (UTC)",
    "utc": "time at the midpoint of the observation (UTC)",
    "jdate": "Julian date at the midpoint of the observation (UTC)|days",
    "orbit": "orbit number",
    "sundist": "distance from the Moon to the Sun|AU",
    "sunlat": "latitude of the subsolar point|degrees_north",
    "sunlon": "longitude of the subsolar point|degrees_east",
    "sclk": "spacecraft clock: seconds, then units of 1/65536 s behind the point",
    "sclat": "latitude of the subspacecraft point|degrees_north",
    "sclon": "longitude of the subspacecraft point|degrees_east",
    "scrad": "distance of the spacecraft from the centre of the Moon|km",
    "scalt": "altitude of the spacecraft|km",
    "el_cmd": "last elevation command|degrees",
    "az_cmd": "last azimuth command|degrees",
    "af": "activity flag",
    "orientlat": "latitude of the instrument's orientation vector|degrees_north",
    "orientlon": "longitude of the instrument's orientation vector|degrees_east",
    "vert_lat": "latitude of the instrument's orientation vector|degrees_north",
    "vert_lon": "longitude of the instrument's orientation vector|degrees_east",
    "c": "channel, 1 to 9",
    "det": "detector, 1 to 21",
    "vlookx": "look vector, x|1",
    "vlooky": "look vector, y|1",
    "vlookz": "look vector, z|1",
    "radiance": "radiance|W m-2 sr-1",
    "tb": "brightness temperature|K",
    "clat": "latitude of the field of view's centre|degrees_north",
    "clon": "longitude of the field of view's centre|degrees_east",
    "cemis": "emission angle at the field of view's centre|degrees",
    "csunzen": "solar zenith angle at the field of view's centre|degrees",
    "csunazi": "solar azimuth angle at the field of view's centre|degrees",
    "cloctime": "local time at the field of view's centre|hours",
    "qca": "quality flag: calibration",
    "qge": "quality flag: geometry",
    "qmi": "quality flag: miscellaneous",
}
_SURE = {"jdate", "radiance", "tb", "clat", "clon", "qca", "qge", "qmi"}
_TEXT = ("date", "utc")


def attributes(names: Sequence[str], name: str) -> dict[str, Any]:
    """Return the CF attributes of a column if ``names`` are the columns of a Diviner table, else none."""
    if name not in _KNOWN or not _SURE.issubset(names):
        return {}
    long_name, _, units = _KNOWN[name].partition("|")
    result: dict[str, Any] = {"long_name": long_name}
    if units:
        result["units"] = units
    if name not in _TEXT:
        result["missing_value"] = [-9999, -9998]
    return result
