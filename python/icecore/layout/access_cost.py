"""Cost of access patterns on an array as it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icecore import errors
from icecore.display import text
from icecore.layout import access_pattern
from icecore.repository.array import Array

#: number of random places of a box that are planned
_PLACES = 200


@dataclass(frozen=True)
class Cost:
    """Mean cost of one access pattern over random places of its box.

    label: the pattern as text.
    probability: its share of all reads.
    requests: number of reads or GETs; requests for shard indexes do not count, because they are cached.
    bytes_fetched: stored bytes that the requests transfer.
    bytes_decoded: bytes that the decoders produce.
    bytes_out: bytes of the result.
    chunks: number of chunks touched.
    expected_chunks: expected number of chunks by PStore's Eq. 1: Π ((sⱼ - 1)/cⱼ + 1).
    """

    label: str
    probability: float
    requests: float
    bytes_fetched: float
    bytes_decoded: float
    bytes_out: float
    chunks: float
    expected_chunks: float


def costs(array: Array, spec: access_pattern.Spec) -> list[Cost]:
    """Return the cost of each pattern from the actual references and shard indexes, without reading data.

    Raises:
        Error: ``invalid`` for patterns that are invalid or don't fit the array.
    """
    patterns = access_pattern.parse(spec)
    access_pattern.check(patterns, [(array.path, array.shape, array.dims)])
    if not all(array.shape):
        raise errors.make("invalid", f"{array.path} is empty: shape {array.shape}", "choose another array")
    return [_cost(array, query) for query in access_pattern.queries(patterns, array.shape, array.dims)]


def _cost(array: Array, query: access_pattern.Query) -> Cost:
    from icecore import _icecore

    random = np.random.default_rng(0)
    plans = [array.plan(query.place(array.shape, random)) for _ in range(_PLACES)]

    def mean(name: str) -> float:
        return float(np.mean([getattr(plan, name) for plan in plans]))

    block = array.chunks
    touched = _icecore.blocks_touched(query.extent, array.shape, block) if block else mean("chunks")
    return Cost(
        label=query.label,
        probability=query.probability,
        requests=mean("requests"),
        bytes_fetched=mean("bytes_fetched"),
        bytes_decoded=mean("bytes_decoded"),
        bytes_out=mean("bytes_out"),
        chunks=mean("chunks"),
        expected_chunks=touched,
    )


def table(found: Sequence[Cost]) -> str:
    """Return the costs as a text table; the last row is the mean over the mix of patterns."""

    def row(label: str, share: float, cost: Cost | None) -> list[str]:
        def value(name: str) -> float:
            parts = [cost] if cost is not None else found
            total = 1.0 if cost is not None else sum(c.probability for c in found)
            shares = [1.0] if cost is not None else [c.probability / total for c in found]
            return sum(w * float(getattr(c, name)) for w, c in zip(shares, parts, strict=True))

        sizes = [text.size(value(name)) for name in ("bytes_fetched", "bytes_decoded", "bytes_out")]
        return [label, f"{share:g}", f"{value('requests'):.1f}", f"{value('chunks'):.1f}", *sizes]

    rows = [row(cost.label, cost.probability, cost) for cost in found]
    rows.append(row("all", sum(cost.probability for cost in found), None))
    heads = ["access", "share", "requests", "chunks", "fetched", "decoded", "out"]
    return text.table(heads, rows, (1, 2, 3, 4, 5, 6))
