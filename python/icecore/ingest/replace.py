"""Replace an array: if both have the same metadata, versions share the chunks that are equal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from icecore.analyzer.choose_codec import Planned
from icecore.analyzer.measure import KEPT, Goal
from icecore.ingest.placement import Step
from icecore.layout import layout
from icecore.writing.writer import Writer

#: metadata on which chunks depend; includes the shape because Icechunk does not renumber chunks
_FORM = ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs")


def make(writer: Writer, step: Step, text: str) -> bool:
    """Create the step's array with the metadata document ``text``, replacing the stored one.

    Returns:
        Whether the stored chunks are kept until they are overwritten.
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
    """Return the codecs of the replaced array, if they were chosen for the same goal and layout.

    A new measurement might prefer another codec by a small margin, and no chunks would be shared.

    Args:
        step: the step that writes the array.
        chunk: the planned chunk shape.
        gathered: maps a compression ratio to the layout.
        goal: the goal of the choice.
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
        return None  # its codecs were named by the caller
    planned = Planned(old.codecs, record or {})
    where = gathered(planned.ratio)
    return planned if old.grid == (where.chunk, where.shard) else None


def _form(text: str) -> list[object]:
    document = json.loads(text)
    return [document.get(key) for key in _FORM]
