"""Write netCDF-3 files (classic format, version 1): a header, then big-endian variables.

Source: "The NetCDF Classic Format Specification", Unidata.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path

import numpy as np

_DIMENSION, _VARIABLE, _ATTRIBUTE = 10, 11, 12
_TYPES = {"S1": 2, "i1": 1, "i2": 3, "i4": 4, "f4": 5, "f8": 6}

Variable = tuple[tuple[str, ...], np.ndarray, dict[str, str]]


def write_netcdf3(
    path: Path,
    unlimited: str,
    dims: Mapping[str, int],
    attrs: Mapping[str, str],
    variables: Mapping[str, Variable],
) -> None:
    """Write a file; variables with the unlimited dimension are stored record by record.

    Args:
        path: the path of the file.
        unlimited: name of the unlimited dimension; it must be the first dimension of its variables.
        dims: name → length.
        attrs: global text attributes.
        variables: name → (dimensions, values, text attributes).
    """
    records = {name: spec for name, spec in variables.items() if spec[0][:1] == (unlimited,)}
    fixed = {name: spec for name, spec in variables.items() if name not in records}
    begins = dict.fromkeys(variables, 0)
    offset = len(_header(unlimited, dims, attrs, variables, begins))
    for name, (_, values, _attrs) in {**fixed, **records}.items():
        begins[name] = offset
        offset += _padded(_bytes_each(values, name in records))
    with open(path, "wb") as file:
        file.write(_header(unlimited, dims, attrs, variables, begins))
        for _, values, _attrs in fixed.values():
            file.write(_pad(_big(values)))
        for record in range(dims[unlimited]):
            for _, values, _attrs in records.values():
                file.write(_pad(_big(values[record])))


def _header(
    unlimited: str,
    dims: Mapping[str, int],
    attrs: Mapping[str, str],
    variables: Mapping[str, Variable],
    begins: Mapping[str, int],
) -> bytes:
    head = b"CDF\x01" + struct.pack(">i", dims[unlimited])
    head += struct.pack(">ii", _DIMENSION, len(dims))
    for name, length in dims.items():
        head += _name(name) + struct.pack(">i", 0 if name == unlimited else length)
    head += _attributes(attrs) + struct.pack(">ii", _VARIABLE, len(variables))
    order = list(dims)
    for name, (names, values, own) in variables.items():
        head += _name(name) + struct.pack(">i", len(names))
        head += b"".join(struct.pack(">i", order.index(dim)) for dim in names)
        size = _padded(_bytes_each(values, names[:1] == (unlimited,)))
        head += _attributes(own) + struct.pack(">iii", _TYPES[values.dtype.str[1:]], size, begins[name])
    return head


def _attributes(attrs: Mapping[str, str]) -> bytes:
    if not attrs:
        return struct.pack(">ii", 0, 0)
    body = b"".join(
        _name(key) + struct.pack(">ii", _TYPES["S1"], len(value)) + _pad(value.encode("ascii"))
        for key, value in attrs.items()
    )
    return struct.pack(">ii", _ATTRIBUTE, len(attrs)) + body


def _name(name: str) -> bytes:
    return struct.pack(">i", len(name)) + _pad(name.encode("ascii"))


def _bytes_each(values: np.ndarray, record: bool) -> int:
    return prod(values.shape[1:] if record else values.shape) * values.dtype.itemsize


def _padded(length: int) -> int:
    return -(-length // 4) * 4


def _pad(data: bytes) -> bytes:
    return data + b"\0" * (_padded(len(data)) - len(data))


def _big(values: np.ndarray) -> bytes:
    return np.ascontiguousarray(values, np.asarray(values).dtype.newbyteorder(">")).tobytes()
