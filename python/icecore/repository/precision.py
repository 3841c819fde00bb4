"""How much of the precision of floating-point numbers a read asks for."""

from __future__ import annotations

from typing import Any, SupportsFloat

from icecore import errors
from icecore.repository import selection

_MOST_BYTES = 1 << 16


def precision(rtol: float | None, leading_bytes: int | None = None) -> dict[str, Any] | None:
    """The engine's options for a read of part of the precision.

    Raises:
        Error: ``invalid`` for what is no number, and for fewer bytes than one.
    """
    if rtol is None and leading_bytes is None:
        return None
    if rtol is not None and (isinstance(rtol, (bool, str)) or not isinstance(rtol, SupportsFloat)):
        raise errors.make("invalid", f"rtol is {rtol!r}, no number", "for example rtol=0.001")
    if leading_bytes is not None and not selection.is_int(leading_bytes):
        raise errors.make(
            "invalid", f"{leading_bytes!r} bytes of each number", "give a whole number, for example 2"
        )
    if leading_bytes is not None and not 1 <= leading_bytes <= _MOST_BYTES:
        raise errors.make(
            "invalid", f"{leading_bytes} bytes of each number", "give at least 1, and fewer than it has"
        )
    options: dict[str, Any] = {}
    if rtol is not None:
        options["rtol"] = rtol
    if leading_bytes is not None:
        options["bytes"] = leading_bytes
    return options
