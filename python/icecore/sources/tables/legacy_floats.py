"""Convert floats of VAX and IBM machines to float64 and back, as far as float64 represents them.

Source: PDS Standards Reference 3.8, appendix C (VAX F, D and G); IBM System/360 Principles of Operation,
floating-point data formats.
"""

from __future__ import annotations

import numpy as np

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
