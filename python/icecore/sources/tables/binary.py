"""Binary values of PDS3 and PDS4 tables: their NumPy types, decoding and encoding.

Source: PDS Standards Reference 3.8, appendix C (data types) and A.3 (BIT_COLUMN); PDS4 Data Dictionary,
``Field_Binary.data_type`` and ``Field_Bit``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

_LITTLE = ("LSB", "VAX", "PC")
_TEXT = re.compile(r"CHARACTER|ASCII|UTF8|DATE|TIME|STRING")
_BITS = re.compile(r"BIT_?STRING")
_NUMBERS = {
    "ASCII_REAL": np.dtype("f8"),
    "ASCII_INTEGER": np.dtype("i8"),
    "ASCII_NONNEGATIVE_INTEGER": np.dtype("i8"),
}
_PACKED = re.compile(r"BITS (\d+) (\d+) ([iu]) ([<>])")
#: largest number of bits of a packed number
_WORD = 64


@dataclass(frozen=True)
class Binary:
    """Storage of the values of a column in a row.

    Attributes:
        stored: their NumPy type in the file; for other float formats, the type of integers of that size.
        dtype: dtype of the column.
        float: the other float format (``F``, ``D``, ``G`` of VAX or ``IBM``), or an empty string.
    """

    stored: np.dtype[Any]
    dtype: np.dtype[Any]
    float: str = ""

    @property
    def blank(self) -> bool:
        """Whether the smallest integer represents a cell without a value."""
        return False

    @property
    def inside(self) -> bool:
        """Whether the bytes belong to another column, which restores them."""
        return False

    def decode(self, cells: np.ndarray) -> np.ndarray:
        """Return the values of cells of shape (rows, bytes), dtype ``u1``."""
        stored = np.ascontiguousarray(cells).view(self.stored)[:, 0]
        if self.float:
            return decode(stored, self.float)
        return stored.astype(self.dtype)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return the bytes of values, shape (rows, bytes), dtype ``u1``, as far as values determine them."""
        stored = encode(values, self.float, self.stored.itemsize) if self.float else values
        stored = np.ascontiguousarray(stored.astype(self.stored))
        return stored.view("u1").reshape(len(values), self.stored.itemsize)


@dataclass(frozen=True)
class Digits(Binary):
    """Numbers written as text; a cell that is not a number gets the value for missing cells."""

    @property
    def blank(self) -> bool:
        """Whether the smallest integer represents a cell without a value."""
        return self.dtype.kind == "i"

    def decode(self, cells: np.ndarray) -> np.ndarray:
        """Return the values of cells of shape (rows, bytes), dtype ``u1``."""
        texts = np.ascontiguousarray(cells).view(self.stored)[:, 0]
        try:
            return texts.astype(self.dtype)
        except (ValueError, OverflowError):
            return np.array([self._value(text) for text in texts.tolist()], self.dtype)

    def _value(self, text: bytes) -> Any:
        try:
            return self.dtype.type(text.decode("ascii").strip())
        except (ValueError, OverflowError):
            return np.nan if self.dtype.kind == "f" else np.iinfo(self.dtype).min

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return zeros: the residue stores the original text."""
        return np.zeros((len(values), self.stored.itemsize), "u1")


@dataclass(frozen=True)
class Packed(Binary):
    """Some bits of a field, counted from the most significant one."""

    first: int = 0
    last: int = 0
    little: bool = False

    @property
    def inside(self) -> bool:
        """Whether the bytes belong to another column, which restores them."""
        return True

    def decode(self, cells: np.ndarray) -> np.ndarray:
        """Return the values of cells of shape (rows, bytes), dtype ``u1``."""
        ordered = np.ascontiguousarray(cells[:, ::-1] if self.little else cells)
        bits = np.unpackbits(ordered, axis=1)[:, self.first : self.last]
        filled = np.zeros((len(bits), _WORD), "u1")
        if self.dtype.kind == "i":
            filled |= bits[:, :1]
        filled[:, _WORD - bits.shape[1] :] = bits
        words = np.packbits(filled, axis=1).view(">u8")[:, 0]
        return words.astype("u8").view("i8").astype(self.dtype)


def packed(first: int, last: int, signed: bool, little: bool) -> str:
    """Return the type name of bits ``first`` to ``last`` (from 1) of a field."""
    return f"BITS {first} {last} {'i' if signed else 'u'} {'<' if little else '>'}"


def holds(length: int, first: int, last: int) -> bool:
    """Whether a field of ``length`` bytes has these bits, and an integer can hold them."""
    return 1 <= first <= last <= 8 * length and last - first < _WORD


def _packed(found: re.Match[str], length: int) -> Binary:
    first, last = int(found[1]), int(found[2])
    size = next(size for size in (8, 16, 32, 64) if last - first < size)
    dtype = np.dtype(f"{found[3]}{size // 8}")
    return Packed(np.dtype(f"V{length}"), dtype, "", first - 1, last, found[4] == "<")


def binary(data_type: str, length: int) -> Binary:
    """Return the storage of values of a PDS3 or PDS4 type.

    Integers and floats keep their size. VAX and IBM floats and floats written as text become float64,
    integers written as text int64, everything else strings.
    """
    name = data_type.upper()
    if (found := _PACKED.fullmatch(data_type)) is not None and holds(length, int(found[1]), int(found[2])):
        return _packed(found, length)
    if name in _NUMBERS:
        return Digits(np.dtype(f"S{length}"), _NUMBERS[name])
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


def pattern(bits: int, data_type: str, size: int) -> Any:
    """Return the value with these bits in a field of ``size`` bytes.

    Returns ``bits`` if the type is not numeric, None if the bits don't fit.
    """
    how = binary(data_type, size)
    if how.dtype.kind not in "iuf" or isinstance(how, Digits):
        return bits
    order: Literal["little", "big"] = "little" if how.stored.str.startswith("<") else "big"
    try:
        stored = bits.to_bytes(size, order, signed=bits < 0)
    except OverflowError:
        return None
    return how.decode(np.frombuffer(stored, "u1").reshape(1, size))[0].item()


# Convert floats of VAX and IBM machines to float64 and back, as far as float64 represents them.
#
# Source: PDS Standards Reference 3.8, appendix C (VAX F, D and G); IBM System/360 Principles of Operation,
# floating-point data formats.

#: number of exponent bits, bias and number of fraction bits of VAX F, D and G
_VAX = {"F": (8, 128, 23), "D": (8, 128, 55), "G": (11, 1024, 52)}


def decode(stored: np.ndarray, kind: str) -> np.ndarray:
    """Return float64 values of stored integers; ``kind`` is ``F``, ``D`` or ``G`` (VAX) or ``IBM``."""
    return _from_ibm(stored) if kind == "IBM" else _from_vax(stored, kind)


def encode(values: np.ndarray, kind: str, size: int) -> np.ndarray:
    """Return the stored integers of ``size`` bytes for float64 values, as far as values determine them."""
    return _to_ibm(values, size) if kind == "IBM" else _to_vax(values, kind)


def _words(stored: np.ndarray) -> np.ndarray:
    """Swap the words of VAX floats: little-endian 16-bit words, the most significant one first."""
    size = stored.dtype.itemsize
    words = np.ascontiguousarray(stored).view("<u2").reshape(len(stored), size // 2)
    return np.ascontiguousarray(words[:, ::-1]).view(f"<u{size}")[:, 0].astype("u8")


def _from_vax(stored: np.ndarray, kind: str) -> np.ndarray:
    """Return 0.1f x 2^(exponent - bias); NaN for the reserved operand."""
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


def _from_ibm(stored: np.ndarray) -> np.ndarray:
    """Return 0.f x 16^(exponent - 64): sign, seven exponent bits, six or fourteen hexadecimal digits."""
    fraction = stored.dtype.itemsize * 8 - 8
    bits = stored.astype("u8")
    exponent = (bits >> np.uint64(fraction) & np.uint64(127)).astype("i8")
    mantissa = (bits & np.uint64((1 << fraction) - 1)).astype("f8")
    size = np.ldexp(mantissa, 4 * (exponent - 64) - fraction)
    return np.where(bits >> np.uint64(fraction + 7) != 0, -size, size)


def _to_ibm(values: np.ndarray, size: int) -> np.ndarray:
    fraction = size * 8 - 8
    part, exponent = np.frexp(np.where(np.isfinite(values), np.abs(values), 0.0))
    digits = -(-exponent.astype("i8") // 4)  # 16^digits is above the value
    mantissa = np.ldexp(part, exponent - 4 * digits + fraction).astype("u8")
    biased = np.clip(digits + 64, 0, 127).astype("u8")
    bits = np.where(part > 0, biased << np.uint64(fraction) | mantissa, np.uint64(0))
    bits |= np.signbit(values).astype("u8") << np.uint64(fraction + 7)
    return bits.astype(f"u{size}")
