"""Channels of gravitational-wave frame files against gwframe (frameCPP)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
from outcome import Outcome, attempt, judged, said


def compare(path: Path, folder: Path) -> list[Outcome]:
    """Outcomes of every channel after ``link`` and ``pack``: bits and dtype."""
    outcomes: list[Outcome] = []
    for verb in (icecore.link, icecore.pack):
        word, place = verb.__name__, folder / f"{verb.__name__}.icecore"
        report = attempt(word, lambda v=verb, p=place: v(path, p, keep_going=True), outcomes)
        if report is None:
            continue
        outcomes += said(word, report)
        repo = attempt(f"{word}: open", lambda p=place: icecore.open(p), outcomes)
        for inside, array in repo.arrays.items() if repo is not None else ():
            outcomes += _channel(path, f"{word} {inside}", array)
    return outcomes


def _channel(path: Path, name: str, array: Any) -> list[Outcome]:
    outcomes: list[Outcome] = []
    found = attempt(name, lambda: array[...], outcomes)
    if found is None:
        return outcomes
    channel = array.attrs.get("channel")
    try:
        theirs = _gwframe(path, channel, len(found))
    except Exception as error:  # gwframe is missing, or does not know the kind of structure
        return [Outcome("no judge", name, type(error).__name__)]
    if len(theirs) != len(found):
        return [Outcome("no judge", name, f"{len(theirs)} samples beside {len(found)}")]
    is_equal = found.dtype == theirs.dtype and found.tobytes() == np.ascontiguousarray(theirs).tobytes()
    return [judged(name, is_equal, f"{found.dtype}[{len(found)}]")]


def _gwframe(path: Path, channel: str, length: int) -> np.ndarray:
    import gwframe

    parts: list[np.ndarray] = []
    while sum(len(part) for part in parts) < length:
        parts.append(np.asarray(gwframe.read(path, channel, len(parts), allow_invalid=True).array))
    return np.concatenate(parts)
