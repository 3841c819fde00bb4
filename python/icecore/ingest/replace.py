"""An array over one that exists: where both have one form, versions share the chunks that stay the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from icecore.analyzer.choose_codec import Planned
from icecore.analyzer.measure import KEPT, Goal
from icecore.ingest.placement import Step
from icecore.layout import layout
from icecore.writing.writer import Writer

#: what chunks depend on; shape, because Icechunk renumbers nothing
_FORM = ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs")


def make(writer: Writer, step: Step, text: str) -> bool:
    """Make the step's array with this metadata document, instead of the one that it replaces; whether it has
    that one's chunks until others are written over them.
    """
    old = step.replaced
    if old is not None and _form(old.zarr_json) == _form(text):
        if old.document != json.loads(text):
            writer._native.update_array(step.path, text)
        writer._native.compare(step.path)
        return True
    if old is not None:
        writer.delete(step.path)
    writer._parents(step.path)
    writer._native.add_array(step.path, text)
    return False


def as_before(
    step: Step, chunk: Sequence[int], gathered: Callable[[float], layout.Layout], goal: Goal
) -> Planned | None:
    """The codecs of the array that is replaced, where they were chosen for the same goal and its layout is
    the same: measured anew, a rival might be a hair faster today, and nothing would be shared.

    Args:
        step: that writes the array.
        chunk: that is planned for it.
        gathered: ratio of compression → the layout.
        goal: of the choice.
    """
    old, entry = step.replaced, step.entry
    if old is None or old.shape != tuple(entry.shape) or old.grid[0] != tuple(chunk):
        return None
    if old.document["data_type"] != entry.data_type or old.document["fill_value"] != entry.fill_value:
        return None
    record = old.ours.get("codec")
    if isinstance(record, dict):
        if record.get("goal") != goal.name or record.get("bandwidth", goal.bandwidth) != goal.bandwidth:
            return None
    elif entry.nbytes >= KEPT:
        return None  # its codecs were named
    planned = Planned(old.codecs, record or {})
    where = gathered(planned.ratio)
    return planned if old.grid == (where.chunk, where.shard) else None


def _form(text: str) -> list[object]:
    document = json.loads(text)
    return [document.get(key) for key in _FORM]
