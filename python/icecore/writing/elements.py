"""Convert a caller's data to an array's dtype without changing values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from icecore import errors


def elements(data: Any, dtype: np.dtype[Any], path: str, missing: Callable[[], Any]) -> np.ndarray:
    """Return ``data`` as an array of ``dtype``; the same object if it is one.

    Floats may be rounded to the precision of ``dtype``; other values must not change. Masked elements become
    the result of ``missing``.

    Raises:
        Error: ``dtype`` if the dtype can't hold a value, or if there is no value for masked elements.
    """
    if dtype.kind in "OT" and not hasattr(data, "mask"):
        return np.asarray(data, dtype)
    try:
        # NumPy converts tuples to records only if it gets the dtype.
        values = np.asanyarray(data, None if hasattr(data, "dtype") or not dtype.names else dtype)
    except (TypeError, ValueError) as error:  # for example, rows of different lengths
        raise _refused(path, dtype, f"a {type(data).__name__}: {error}") from None
    if type(values) is not np.ndarray:
        return _unmasked(values, dtype, path, missing)
    if values.dtype == dtype:
        return values
    try:
        with np.errstate(over="raise", invalid="ignore"):
            if values.dtype.kind == "c" and dtype.kind != "c":
                raise TypeError("complex numbers have two parts")
            new = values.astype(dtype)
            changed = _changed(values, new)
    except (TypeError, ValueError, OverflowError, FloatingPointError) as error:
        raise _refused(path, dtype, f"{values.dtype}: {error}") from None
    if changed is not None and changed.any():
        raise _refused(path, dtype, str(values[changed][0] if values.ndim else values[()]))
    return new


def _unmasked(values: Any, dtype: np.dtype[Any], path: str, missing: Callable[[], Any]) -> np.ndarray:
    """Convert a masked array (or another subclass) to a plain array."""
    mask = np.ma.getmaskarray(values)
    if not mask.any():
        return elements(np.asarray(values), dtype, path, missing)
    fill = missing()
    if fill is None:
        raise errors.make(
            "dtype",
            f"{path} has no fill value for {int(mask.sum())} masked elements",
            "create it with fill_value=…, or write data.filled(…)",
        )
    # Masked values need not fit the dtype.
    plain = elements(np.where(mask, np.zeros((), values.dtype), values.data), dtype, path, missing).copy()
    plain[mask] = fill
    return plain


def _changed(values: np.ndarray, new: np.ndarray) -> Any:
    """Return a mask of changed values; None if no value can change."""
    old, kind = values.dtype, new.dtype.kind
    if kind in "fc" and old.kind in "biufc":
        return None  # rounding is allowed
    if kind in "biu" and old.kind in "biufO":
        if np.can_cast(old, new.dtype):
            return None
        # The conversion of 2**63 to an integer differs between processors.
        outside = values >= float(np.iinfo(new.dtype).max) + 1 if old.kind == "f" and kind != "b" else False
        return (new != values) | outside
    if old.kind == "O":
        return None
    if old.names is not None and old.names == new.dtype.names:
        fields = (_changed(values[name], new[name]) for name in old.names)
        return sum((field for field in fields if field is not None), np.zeros(values.shape, bool))
    changed = new.astype(old) != values
    return changed & ~np.isnat(values) if old.kind in "mM" else changed


def _refused(path: str, dtype: np.dtype[Any], what: str) -> errors.Error:
    return errors.make(
        "dtype",
        f"{path} is {str(dtype).lstrip('<>|')} and can't hold {what}",
        "convert the data first, or create the array with another dtype",
    )
