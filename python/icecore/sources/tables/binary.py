"""Binary values of PDS3 and PDS4 tables: which NumPy type each becomes, and their bytes both ways.

Source: PDS Standards Reference 3.8, appendix C (data types); PDS4 Data Dictionary,
``Field_Binary.data_type``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from icecore.sources.tables import floats

_LITTLE = ("LSB", "VAX", "PC")
_TEXT = re.compile(r"CHARACTER|ASCII|UTF8|DATE|TIME|STRING")
_BITS = re.compile(r"BIT_?STRING")


@dataclass(frozen=True)
class Binary:
    """How values lie in a row.

    Attributes:
        stored: their NumPy type in the file, or of the integers that hold a float of another kind.
        dtype: of the column.
        float: that kind (:mod:`icecore.sources.tables.floats`), or nothing.
    """

    stored: np.dtype[Any]
    dtype: np.dtype[Any]
    float: str = ""

    def decode(self, cells: np.ndarray) -> np.ndarray:
        """Values of (rows, bytes) ``u1``."""
        stored = np.ascontiguousarray(cells).view(self.stored)[:, 0]
        if self.float:
            return floats.decode(stored, self.float)
        return stored.astype(self.dtype)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """The bytes that values came from, (rows, bytes) ``u1``, as far as values can tell."""
        stored = floats.encode(values, self.float, self.stored.itemsize) if self.float else values
        stored = np.ascontiguousarray(stored.astype(self.stored))
        return stored.view("u1").reshape(len(values), self.stored.itemsize)


def binary(data_type: str, length: int) -> Binary:
    """What values of a PDS3 or PDS4 type become: integers and floats of their size, floats of VAX and IBM
    float64, all else text.
    """
    name = data_type.upper()
    order = "<" if any(word in name for word in _LITTLE) else ">"
    if _TEXT.search(name) and not _BITS.search(name):
        return _plain(f"S{length}")
    if "COMPLEX" in name:
        known = length in (8, 16) and not name.startswith(("VAX", "IBM"))
        return _plain(f"{order}c{length}" if known else f"S{length}")
    if name.startswith("IBM") and "REAL" in name and length in (4, 8):
        return Binary(np.dtype(f">u{length}"), np.dtype("f8"), "IBM")
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
