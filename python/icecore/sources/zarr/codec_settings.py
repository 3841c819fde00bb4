"""Settings of the codec ``shuffle`` in Zarr metadata, as their writers define them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from icecore import errors

_SHUFFLES = ("shuffle", "numcodecs.shuffle")
_SIZE = "elementsize"
#: what numcodecs takes where a size is absent
_DEFAULT = 4

Json = dict[str, Any]


def is_odd(metadata: Any) -> bool:
    """Whether metadata, as zarr-python read them, have a codec ``shuffle`` without a plain element size."""
    document = metadata.to_dict()
    second = document.get("zarr_format") == 2
    for each in _shuffles(document):
        size = each.get(_SIZE)
        if type(size) is not int or size < 1 or (second and size == _DEFAULT != _itemsize(document)):
            return True
    return False


def _itemsize(document: Json) -> int:
    """Bytes of an element of an array of version 2."""
    given = document.get("dtype")
    fields = (
        [(name, kind, *map(tuple, shape)) for name, kind, *shape in given]
        if isinstance(given, list)
        else given
    )
    return max(np.dtype(fields).itemsize, 1)


def _shuffles(value: Any) -> Iterator[Json]:
    """The configurations of all codecs ``shuffle`` in metadata of either version, in shards too."""
    if isinstance(value, dict):
        if value.get("id") in _SHUFFLES:
            yield value
        elif value.get("name") in _SHUFFLES:
            if not isinstance(value.get("configuration"), dict):
                value["configuration"] = {}
            yield value["configuration"]
        for key in ("filters", "compressor", "codecs", "configuration"):
            yield from _shuffles(value.get(key))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _shuffles(each)


def repair_second(document: Json, is_netcdf: bool) -> None:
    """Write element sizes of ``shuffle`` into metadata of version 2 as their writer meant them.

    Raises:
        Error: ``format`` for one that could mean several things, or nothing.
    """
    for configuration in _shuffles(document):
        given = configuration.get(_SIZE)
        absent = _SIZE not in configuration
        if is_netcdf and (absent or given in (0, "0")) and not isinstance(given, bool):
            configuration[_SIZE] = _itemsize(document)
        elif not absent:  # numcodecs has a default of its own
            configuration[_SIZE] = _size(given)


def repair_third(document: Json) -> None:
    """Write element sizes of ``shuffle`` into metadata of version 3 as numbers.

    Raises:
        Error: ``format`` for one that is none.
    """
    for configuration in _shuffles(document):
        if configuration.get(_SIZE) is not None:  # else zarr-python takes the size of an element
            configuration[_SIZE] = _size(configuration[_SIZE])


def _size(given: Any) -> int:
    """An element size as a number.

    Raises:
        Error: ``format`` for one that is none.
    """
    if isinstance(given, str) and given.strip().isdecimal():
        given = int(given)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if type(given) is int and given > 0:
        return given
    message = f"codec shuffle: elementsize is {json.dumps(given)[:60]}, expected a positive integer"
    hint = "write the size of an element, in bytes, into its metadata"
    if given == 0:
        hint = "0 means the size of an element to netCDF-C, and 'not shuffled' to numcodecs: write what holds"
    raise errors.make("format", message, hint)
