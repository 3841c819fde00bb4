"""Families of codecs, for the colours of figures."""

from __future__ import annotations

#: family → prefixes of its codec labels; the last family takes all other labels
_STARTS = {
    "predicted": ("predict",),
    "pco": ("pco",),
    "XOR, planes of bytes": ("bwc", "xor", "sFPC", "tFPC"),
    "shuffled": ("shuffle", "blosc shuffle", "blosc bitshuffle", "bitshuffle"),
    "as it is": (),
}
FAMILIES = tuple(_STARTS)


def family(label: str) -> str:
    """Return the family of the codec with this label."""
    return next(
        (name for name, starts in _STARTS.items() if starts and label.startswith(starts)), FAMILIES[-1]
    )
