"""Binary values of PDS3 and PDS4 tables: which NumPy type each becomes, and their bytes both ways.

Source: PDS Standards Reference 3.8, appendix C (data types, VAX floats included); PDS4 Data Dictionary,
``Field_Binary.data_type``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

_LITTLE = ("LSB", "VAX", "PC")
_TEXT = re.compile(r"CHARACTER|ASCII|UTF8|DATE|TIME|STRING")
_BITS = re.compile(r"BIT_?STRING")
#: bits of the exponent, its bias and bits of the fraction of VAX F, D and G
_VAX = {"F": (8, 128, 23), "D": (8, 128, 55), "G": (11, 1024, 52)}


@dataclass(frozen=True)
class Binary:
    """How values lie in a row.

    Attributes:
        stored: their NumPy type in the file, or of the integers that hold a VAX float.
        dtype: of the column.
        vax: ``F``, ``D`` or ``G``, or nothing.
    """

    stored: np.dtype[Any]
    dtype: np.dtype[Any]
    vax: str = ""

    def decode(self, cells: np.ndarray) -> np.ndarray:
        """Values of (rows, bytes) ``u1``."""
        stored = np.ascontiguousarray(cells).view(self.stored)[:, 0]
        if self.vax:
            return _from_vax(stored, self.vax)
        return stored.astype(self.dtype)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """The bytes that values came from, (rows, bytes) ``u1``, as far as values can tell."""
        stored = _to_vax(values, self.vax) if self.vax else values
        stored = np.ascontiguousarray(stored.astype(self.stored))
        return stored.view("u1").reshape(len(values), self.stored.itemsize)


def binary(data_type: str, length: int) -> Binary:
    """What values of a PDS3 or PDS4 type become: integers and floats of their size, VAX floats float64, all
    else text.
    """
    name = data_type.upper()
    order = "<" if any(word in name for word in _LITTLE) else ">"
    if _TEXT.search(name) and not _BITS.search(name):
        return _plain(f"S{length}")
    if "COMPLEX" in name and length in (8, 16):
        return _plain(f"{order}c{length}")
    if name.startswith("VAX") and "INTEGER" not in name and not _BITS.search(name) and length in (4, 8):
        kind = "F" if length == 4 else "G" if name.startswith("VAXG") else "D"
        return Binary(np.dtype(f"<u{length}"), np.dtype("f8"), kind)
    if any(word in name for word in ("REAL", "FLOAT", "IEEE754")) and length in (4, 8):
        return _plain(f"{order}f{length}")
    if length in (1, 2, 4, 8):
        signed = ("INTEGER" in name or name.startswith("SIGNED")) and "UNSIGNED" not in name
        return _plain(f"{order}{'i' if signed else 'u'}{length}")
    return _plain(f"S{length}")


def _plain(name: str) -> Binary:
    stored = np.dtype(name)
    return Binary(stored, stored.newbyteorder("="))


def _words(stored: np.ndarray) -> np.ndarray:
    """VAX floats are little-endian 16-bit words, the most significant one first: swap them, either way."""
    size = stored.dtype.itemsize
    words = np.ascontiguousarray(stored).view("<u2").reshape(len(stored), size // 2)
    return np.ascontiguousarray(words[:, ::-1]).view(f"<u{size}")[:, 0].astype("u8")


def _from_vax(stored: np.ndarray, kind: str) -> np.ndarray:
    """0.1f x 2^(exponent - bias); NaN for the reserved operand."""
    width, bias, fraction = _VAX[kind]
    bits = _words(stored)
    exponent = (bits >> np.uint64(fraction)) & np.uint64((1 << width) - 1)
    negative = (bits >> np.uint64(fraction + width)) != 0
    mantissa = (bits & np.uint64((1 << fraction) - 1)) | np.uint64(1 << fraction)
    size = np.ldexp(mantissa.astype("f8"), exponent.astype("i8") - bias - fraction - 1)
    size = np.where(exponent == 0, np.where(negative, np.nan, 0.0), size)
    return np.where(negative, -size, size)


def _to_vax(values: np.ndarray, kind: str) -> np.ndarray:
    width, bias, fraction = _VAX[kind]
    reserved = np.isnan(values)
    part, exponent = np.frexp(np.where(np.isfinite(values), np.abs(values), 0.0))
    mantissa = np.ldexp(part, fraction + 1).astype("u8") & np.uint64((1 << fraction) - 1)
    biased = np.clip(exponent + bias, 0, (1 << width) - 1).astype("u8")
    bits = np.where(part > 0, biased << np.uint64(fraction) | mantissa, np.uint64(0))
    sign = (np.signbit(values) & (part > 0)) | reserved
    bits |= sign.astype("u8") << np.uint64(fraction + width)
    return _words(bits.astype("<u4" if kind == "F" else "<u8"))
