"""Lossy peers: SZ3, zfp and SPERR with the absolute bound of a rounding rule; measured, never stored.

Each result is compared with the bound, and must keep NaN and infinities. Rounded values that a lossless codec
compressed are the candidates beside them. No reader of Zarr v3 decodes these codecs without their packages.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from icecore.analyzer.measure import Candidate
from icecore.analyzer.sample import Sample

#: number of blocks; few are enough, because these codecs are never chosen
_BLOCKS = 3

Encode = Callable[[np.ndarray], bytes]
Decode = Callable[[bytes, np.ndarray], Any]


def _zfp(module: Any, bound: float) -> tuple[Encode, Decode]:
    return (
        lambda values: module.compress_numpy(values, tolerance=bound),
        lambda stored, _: module.decompress_numpy(stored),
    )


def _sz3(module: Any, bound: float) -> tuple[Encode, Decode]:
    def encode(values: np.ndarray) -> bytes:
        config = module.szConfig()
        config.errorBoundMode, config.absErrorBound = module.szErrorBoundMode.ABS, bound
        return bytes(module.sz.compress(values, config)[0])

    def decode(stored: bytes, like: np.ndarray) -> Any:
        return module.sz.decompress(np.frombuffer(stored, "u1"), like.dtype, like.shape)[0]

    return encode, decode


def _sperr(module: Any, bound: float) -> tuple[Encode, Decode]:
    codec = module.Sperr(mode="pwe", pwe=bound)
    return (
        lambda values: bytes(codec.encode(values)),
        lambda stored, _: codec.decode(np.frombuffer(stored, "u1")),
    )


#: label → Python package that is imported, and its functions for a bound
PEERS: dict[str, tuple[str, Callable[[Any, float], tuple[Encode, Decode]]]] = {
    "zfp": ("zfpy", _zfp),
    "SZ3": ("pysz", _sz3),
    "SPERR": ("numcodecs_wasm_sperr", _sperr),
}


def _package(name: str) -> Any:
    """Return a package; None if it is not installed, or can't be imported beside the others."""
    try:
        return import_module(name)
    except Exception:  # numcodecs raises ValueError for some versions of zfpy
        return None


def measure(sample: Sample, bound: float) -> list[Candidate]:
    """Measure the installed peers with an absolute bound on the first blocks of floats of a sample."""
    blocks = [np.ascontiguousarray(_dense(block)) for block in sample.blocks[:_BLOCKS]]
    blocks = [block for block in blocks if block.dtype.kind == "f" and block.dtype.itemsize in (4, 8)]
    packages = {label: _package(name) for label, (name, _) in PEERS.items()} if blocks else {}
    return [
        _figures(f"{label} (abs={bound:g})", PEERS[label][1](package, bound), bound, blocks)
        for label, package in packages.items()
        if package is not None
    ]


def notes() -> list[str]:
    """Return a note about the peers that are not installed."""
    absent = [name for name, _ in PEERS.values() if _package(name) is None]
    shown = ", ".join(absent)
    return [f"not measured, as their Python packages can't be imported: {shown}"] if absent else []


def _dense(block: np.ndarray) -> np.ndarray:
    """Remove axes of length 1, and join the first ones of more than three: the peers have three."""
    shape = [n for n in block.shape if n != 1] or [1]
    return block.reshape([-1, *shape[-2:]] if len(shape) > 3 else shape)


def _figures(label: str, pair: tuple[Encode, Decode], bound: float, blocks: list[np.ndarray]) -> Candidate:
    encode, decode = pair
    raw = sum(block.nbytes for block in blocks)
    try:
        packed, to_write = _timed(lambda: [encode(block) for block in blocks])
        again, to_read = _timed(
            lambda: [decode(stored, block) for stored, block in zip(packed, blocks, strict=True)]
        )
        why = next(filter(None, map(_broken, blocks, again, [bound] * len(blocks))), "")
    except Exception as error:  # of the package: shapes or values that it rejects
        return Candidate(label, [], "failed", f"{type(error).__name__}: {error}"[:120], 0.0, 0.0, 0.0, 0)
    ratio = raw / max(sum(map(len, packed)), 1)
    state = "failed" if why else "measured only"
    return Candidate(label, [], state, why, ratio, raw / to_write / 1e6, raw / to_read / 1e6, len(blocks))


def _broken(block: np.ndarray, again: Any, bound: float) -> str:
    """Return what a decoded block breaks; empty if it keeps the bound."""
    found = np.asarray(again).reshape(block.shape)
    finite = np.isfinite(block)
    if not np.array_equal(block[~finite], found[~finite], equal_nan=True):
        return "it does not keep NaN or infinities"
    error = np.abs(found[finite].astype("f8") - block[finite].astype("f8")).max(initial=0)
    return "" if error <= bound else f"its largest error is {error:g}"


def _timed(work: Callable[[], list[Any]]) -> tuple[list[Any], float]:
    began = time.thread_time()
    result = work()
    return result, max(time.thread_time() - began, 1e-9)
