"""Convert attributes of a source's array to their stored form."""

from __future__ import annotations

from typing import Any

from icecore.codecs.rounding import KEY
from icecore.repository.nodes import OURS
from icecore.sources.mapping.array_map import ArrayEntry


def ours(entry: ArrayEntry) -> dict[str, Any]:
    """Return the metadata that icecore stores for an array in addition to its attributes."""
    kept: dict[str, Any] = {}
    if entry.attr_types:
        kept["attr_types"] = dict(entry.attr_types)
    if entry.enum:
        kept["enum"] = list(entry.enum)
    if entry.subarrays:
        kept["subarrays"] = dict(entry.subarrays)
    if entry.text_fill is not None:
        kept["fill"] = entry.text_fill
    if entry.rounding is not None:
        kept[KEY] = entry.rounding.record
    if entry.unlimited:
        kept["unlimited"] = list(entry.unlimited)
    return kept


def attributes(entry: ArrayEntry) -> dict[str, Any]:
    """Return an entry's attributes in stored form, including icecore's own metadata."""
    kept = ours(entry)
    return {**entry.attrs, OURS: kept} if kept else dict(entry.attrs)
