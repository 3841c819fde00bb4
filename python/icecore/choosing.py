"""Codecs of an array that is written step by step: measured on the first data that arrives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.nodes import OURS

if TYPE_CHECKING:
    from icecore.analyzer.measure import Goal

#: what an empty array keeps among icecore's own attributes, until its first data is there
_WISH = "wish"


def wish(goal: Goal, portable: bool) -> dict[str, Any]:
    """What is to be kept."""
    return {_WISH: {"goal": goal.name, "bandwidth": goal.bandwidth, "portable": portable}}


def chosen(document: Mapping[str, Any], dtype: np.dtype[Any], block: np.ndarray) -> dict[str, Any] | None:
    """The array's metadata document with the codecs that suit ``block``, its first data; None where nothing
    is wished.
    """
    ours = document.get("attributes", {}).get(OURS)
    if not isinstance(ours, dict) or not isinstance(ours.get(_WISH), dict):
        return None
    from icecore.analyzer.measure import Goal
    from icecore.analyzer.plan import plan
    from icecore.analyzer.sample import Kind

    asked = ours[_WISH]
    goal = Goal.of(str(asked.get("goal")), asked.get("bandwidth"))
    kind = Kind(document["data_type"], dtype, document["fill_value"])
    outer = document["codecs"][0]
    sharded = outer["name"] == "sharding_indexed"
    grid = outer["configuration"] if sharded else document["chunk_grid"]["configuration"]
    chunk = grid["chunk_shape"]
    planned = plan(kind, block.shape, chunk, lambda box: block[box], goal, asked.get("portable") is True)
    kept = {key: value for key, value in ours.items() if key != _WISH}
    if planned.record:
        kept["codec"] = planned.record
    attributes = {key: value for key, value in document["attributes"].items() if key != OURS}
    codecs = planned.codecs
    if sharded:
        codecs = [{**outer, "configuration": {**outer["configuration"], "codecs": codecs}}]
    return {**document, "codecs": codecs, "attributes": attributes | ({OURS: kept} if kept else {})}
