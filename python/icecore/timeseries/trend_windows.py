"""Parser of the window lengths of trends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from icecore import errors


def parse_windows(text: str | Sequence[int] | None) -> tuple[int, ...] | None:
    """Parse window lengths such as ``"1s,60s"`` to ascending seconds; ``"none"`` is empty, None stays None.

    Raises:
        Error: ``invalid`` unless all are integer seconds and each is a multiple of the one before.
    """
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")] if isinstance(text, str) else list(text)
    if words == ["none"]:
        return ()
    try:
        seconds = sorted({int(word.removesuffix("s")) if isinstance(word, str) else word for word in words})
    except ValueError:
        seconds = [0]
    pairs = pairwise(seconds)
    if min(seconds, default=1) < 1 or any(long % short for short, long in pairs):
        hint = "whole seconds, each a multiple of the one before: 1s,60s,3600s; or none"
        raise errors.make("invalid", f"windows of trends: got {text!r}", hint)
    return tuple(seconds)
