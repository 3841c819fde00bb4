"""Options for reading floating-point numbers with reduced precision."""

from __future__ import annotations

from typing import Any, SupportsFloat

from icecore import errors
from icecore.repository import selection

_MOST_BYTES = 1 << 16


def precision(rtol: float | None, leading_bytes: int | None = None) -> dict[str, Any] | None:
    """Return the engine's options for a read with reduced precision, or None for an exact read.

    Raises:
        Error: ``invalid`` if ``rtol`` is not a number or ``leading_bytes`` is not a positive integer.
    """
    if rtol is None and leading_bytes is None:
        return None
    if rtol is not None and (isinstance(rtol, (bool, str)) or not isinstance(rtol, SupportsFloat)):
        raise errors.make("invalid", f"rtol must be a number (got {rtol!r})", "for example rtol=0.001")
    if leading_bytes is not None and not selection.is_int(leading_bytes):
        raise errors.make(
            "invalid", f"leading_bytes must be an integer (got {leading_bytes!r})", "for example 2"
        )
    if leading_bytes is not None and not 1 <= leading_bytes <= _MOST_BYTES:
        raise errors.make(
            "invalid",
            f"leading_bytes must be at least 1 (got {leading_bytes})",
            "give at least 1 and less than the item size",
        )
    options: dict[str, Any] = {}
    if rtol is not None:
        options["rtol"] = rtol
    if leading_bytes is not None:
        options["bytes"] = leading_bytes
    return options
