"""How the columns of a text table are stored: data types, chunks and codecs."""

from __future__ import annotations

from typing import Any

import numpy as np

Codec = dict[str, Any]
#: rows of a chunk, and of a shard of chunks
CHUNK, SHARD = 1 << 16, 1 << 18
_BYTES: Codec = {"name": "bytes", "configuration": {"endian": "little"}}
_CRC: Codec = {"name": "crc32c"}
#: rows that are looked at for repetition, and the longest step
_ROWS, _LONGEST = 1 << 13, 1024


def dtype(column: dict[str, Any]) -> np.dtype[Any]:
    """The NumPy dtype of a column of a print format."""
    ((style, how),) = column["style"].items()
    if style == "words":
        return np.dtype(f"S{column['size']}")
    if style == "real" or (style == "number" and column["scale"]):
        return np.dtype("f8")
    if style == "time":
        return np.dtype(f"{'M8' if '%Y' in how['pattern'] else 'm8'}[{_unit(how['pattern'])}]")
    return np.dtype(f"i{column['size'] // 8}" if style == "number" else "i8")


def _unit(pattern: str) -> str:
    digits = next((n for n in range(1, 10) if f"%{n}" in pattern), 0)
    if not digits:
        return "s" if "%H" in pattern else "D"
    return ("ms", "us", "ns")[(digits - 1) // 3]


def values(raw: np.ndarray, column: dict[str, Any]) -> np.ndarray:
    """What the parser gives (i8, f8 or bytes) in the column's dtype, without a copy where none is needed."""
    kind = dtype(column)
    if kind.kind == "S" or kind.kind in "Mm":
        return raw.view(kind)
    return raw.astype(kind, copy=False)


def raw(array: np.ndarray, column: dict[str, Any]) -> np.ndarray:
    """The inverse of :func:`values`: i8, f8 or bytes."""
    if array.dtype.kind == "S":
        return np.ascontiguousarray(array).astype(f"S{column['size']}", copy=False).view("u1")
    if array.dtype.kind in "Mm":
        return np.ascontiguousarray(array).view("i8")
    return np.ascontiguousarray(array, "f8" if array.dtype.kind == "f" else "i8")


def codecs(column: dict[str, Any], sample: np.ndarray, portable: bool) -> list[Codec]:
    """The codecs of a column's chunks.

    Args:
        column: of the print format.
        sample: its first values.
        portable: use only codecs that other Zarr readers have.
    """
    kind = dtype(column)
    if kind.kind == "S":
        return _text(kind.itemsize, sample, portable)
    if portable:
        shuffle = "shuffle" if kind.itemsize > 1 else "noshuffle"
        blosc = {"cname": "zstd", "clevel": 5, "shuffle": shuffle, "typesize": kind.itemsize, "blocksize": 0}
        return [_BYTES, {"name": "blosc", "configuration": blosc}, _CRC]
    numbers: list[Codec] = [{"name": "numcodecs.pcodec", "configuration": {"level": 8}}, _CRC]
    if column["scale"]:
        scaled = {"scale": column["scale"], "dtype": "int64", "escapes": ["NaN"]}
        return [{"name": "icecore.decimal", "configuration": scaled}, *numbers]
    return numbers


def _text(width: int, sample: np.ndarray, portable: bool) -> list[Codec]:
    """Text of fixed width: by rows, or by the characters' places where that is smaller."""
    distinct = len(np.unique(sample[:_ROWS]))
    few = distinct * 8 < min(len(sample), _ROWS)
    zstd = _zstd(9 if few else 17)
    shuffle = {"name": "numcodecs.shuffle", "configuration": {"elementsize": width}}
    if few or width == 1:
        return [{"name": "bytes"}, zstd, _CRC]
    if portable:
        return [{"name": "bytes"}, shuffle, zstd, _CRC]
    return [_choice([{"name": "bytes"}, zstd], [{"name": "bytes"}, shuffle, zstd]), _CRC]


def lag(sample: np.ndarray, scale: int) -> int:
    """The step at which a column of numbers repeats itself, found in its first values."""
    from icecore import _icecore

    some = sample[:_ROWS]
    if some.dtype.kind == "f":
        some = np.nan_to_num(np.rint(some * 10.0**scale), nan=0, posinf=0, neginf=0)
    elif some.dtype.kind in "Mm":
        some = some.view("i8")
    return _icecore.find_lag(np.ascontiguousarray(some.astype("i8")), _LONGEST)


def _zstd(level: int) -> Codec:
    return {"name": "zstd", "configuration": {"level": level, "checksum": False}}


def _choice(*lists: list[Codec]) -> Codec:
    return {"name": "icecore.choice", "configuration": {"choices": [list(item) for item in lists]}}
