"""Families of codecs, for the colours of figures."""

from __future__ import annotations

#: family → how the labels of its codecs begin; what none fits is of the last one
_STARTS = {
    "predicted": ("predict",),
    "pco": ("pco",),
    "XOR, planes of bytes": ("bwc", "xor", "sFPC", "tFPC"),
    "shuffled": ("shuffle", "blosc shuffle", "blosc bitshuffle", "bitshuffle"),
    "as it is": (),
}
FAMILIES = tuple(_STARTS)


def family(label: str) -> str:
    """The family of the codec with this label."""
    return next(
        (name for name, starts in _STARTS.items() if starts and label.startswith(starts)), FAMILIES[-1]
    )
