"""Peer codecs: codecs of other tools that icecore can't store; they are measured but never chosen."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from icecore.analyzer.measure import Candidate
from icecore.analyzer.sample import Sample

#: label → module, and the arguments of its ``compress`` function
PEERS: dict[str, tuple[str, dict[str, Any]]] = {
    "brotli-5": ("brotli", {"quality": 5}),
    "brotli-9": ("brotli", {"quality": 9}),
}
#: number of blocks for a peer; few are enough, because a peer is never chosen
_BLOCKS = 3


def measure(sample: Sample) -> list[Candidate]:
    """Measure the installed peer codecs on the first blocks of a sample of fixed-size elements."""
    blocks = [block.tobytes() for block in sample.blocks[:_BLOCKS] if block.dtype.kind not in "OT"]
    if not blocks:
        return []
    found = []
    for label, (name, settings) in PEERS.items():
        try:
            module = import_module(name)
        except ModuleNotFoundError:
            continue
        found.append(_figures(label, module, settings, blocks))
    return found


def notes() -> list[str]:
    """Return notes about peer codecs that are not installed."""
    absent = []
    for name in sorted({module for module, _ in PEERS.values()}):
        try:
            import_module(name)
        except ModuleNotFoundError:
            absent.append(name)
    return [f"not measured, as its Python package is not installed: {name}" for name in absent]


def _figures(label: str, module: Any, settings: dict[str, Any], blocks: list[bytes]) -> Candidate:
    raw = sum(map(len, blocks))
    packed, encode = _timed(lambda: [module.compress(block, **settings) for block in blocks])
    again, decode = _timed(lambda: [module.decompress(stored) for stored in packed])
    sound = [bytes(block) for block in again] == blocks
    state, why = ("measured only", "") if sound else ("failed", "it does not give back what it was given")
    ratio = raw / max(sum(map(len, packed)), 1)
    return Candidate(label, [], state, why, ratio, raw / encode / 1e6, raw / decode / 1e6, len(blocks))


def _timed(work: Callable[[], list[Any]]) -> tuple[list[Any], float]:
    began = time.thread_time()
    result = work()
    return result, max(time.thread_time() - began, 1e-9)
