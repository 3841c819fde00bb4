"""One sample of everything: dtypes with the values that break readers, and what it means to be the same."""

from __future__ import annotations

from typing import Any

import numpy as np

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
TIMES = ["M8[ns]", "M8[D]", "M8[10m]", "m8[s]", "m8[us]"]
STRINGS = ["S1", "S7", "U1", "U5"]
FIXED = [*NUMBERS, *TIMES, *STRINGS]
TEXT = "str"
#: all of the above and text of any length
ALL = [*FIXED, TEXT]

_WORDS = ["", "a", "æther", "日本語", "\U0001d518nicode", "line\nbreak", "tail space ", "x" * 40]


def numpy_dtype(name: str) -> Any:
    """What NumPy and icecore's writer call it."""
    return str if name == TEXT else np.dtype(name)


def values(name: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Random values of every bit pattern the dtype has: NaN with payloads, infinities, NaT, any text."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape, dtype=int))
    if name == TEXT:
        return np.array([*rng.choice(_WORDS, count), None], object)[:-1].reshape(shape)
    dtype = np.dtype(name)
    if dtype.kind == "U":
        words = rng.choice(_WORDS, count)
        return np.array([w[: dtype.itemsize // 4] for w in words], dtype).reshape(shape)
    if dtype.kind == "S":
        return rng.integers(0, 256, count * dtype.itemsize, "u1").view(dtype).reshape(shape)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype("?").reshape(shape)
    data = rng.integers(0, 256, count * dtype.itemsize, "u1").view(dtype)
    # runs, so that compressors have something to do
    return np.where(rng.random(count) < 0.4, data, data[:1] if count else data).astype(dtype).reshape(shape)


def same(ours: Any, theirs: Any) -> bool:
    """Equal shape, equal dtype, equal bits; text compares as text, whichever string dtype holds it."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape:
        return False
    if ours.dtype.kind in "OT" or theirs.dtype.kind in "OT":
        return ours.astype(object).tolist() == theirs.astype(object).tolist()
    native = theirs.astype(theirs.dtype.newbyteorder("="), copy=False)
    return ours.dtype == native.dtype and ours.tobytes() == native.tobytes()


def difference(ours: Any, theirs: Any) -> str:
    """For a failed assertion: what differs, in one line."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype}{ours.shape} instead of {theirs.dtype}{theirs.shape}"
    flat = [i for i, (a, b) in enumerate(zip(ours.ravel(), theirs.ravel(), strict=True)) if not same(a, b)]
    if not flat:
        return "nothing differs"
    first = flat[0]
    pair = f"{ours.ravel()[first]!r}, not {theirs.ravel()[first]!r}"
    return f"{len(flat)} of {ours.size} elements, first at {first}: {pair}"
