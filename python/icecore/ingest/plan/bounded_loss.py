"""Which arrays of a pack are rounded, and by which rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from icecore import errors
from icecore.codecs.rounding import Rules, reader
from icecore.ingest.plan.assembly import Step
from icecore.repository.cf_coordinates import BOUNDS, names
from icecore.repository.typed_attributes import fill
from icecore.sources.mapping.array_map import ArrayEntry, Reader
from icecore.sources.mapping.time_units import is_time

#: attributes that name other variables which locate or describe the data
_NAMING = ("coordinates", "grid_mapping", *BOUNDS)


def mark(rules: Rules | None, steps: Sequence[Step]) -> None:
    """Note in the entries of new arrays how their values are rounded.

    A rule without a name is for data variables of floats: coordinates, their bounds and times stay exact. An
    array that is extended keeps its own rule.

    Raises:
        Error: ``not-found`` for a rule that names no array; ``dtype`` if it names one that has no floats.
    """
    if rules is None:
        return
    unknown = rules.names - {name for step in steps for name in (step.path, _last(step.path))}
    if unknown:
        message = f"no array has the name {min(unknown)!r} of a rule of rounding"
        known = ", ".join(sorted(_last(step.path) for step in steps)[:10])
        raise errors.make("not-found", message, f"the arrays are {known}")
    others = {name for step in steps for name in names(step.entry.attrs, *_NAMING)}
    for step in steps:
        rule = rules.named(step.path)
        is_named = step.path in rules.names or _last(step.path) in rules.names
        if is_named and rule is not None and step.entry.dtype.kind != "f":
            message = f"{step.path}: only floats are rounded (got {step.entry.dtype})"
            raise errors.make("dtype", message, "remove the rule with its name")
        if not is_named and _is_data(step.entry, others):
            rule = rules.rest
        if rule is not None and step.old is None:
            step.entry = replace(step.entry, rounding=rule)


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _is_data(entry: ArrayEntry, others: Iterable[str]) -> bool:
    """Whether an array has measured or modelled floats, instead of places or times."""
    name, attrs = _last(entry.path), entry.attrs
    is_place = entry.dims == (name,) or name in others or "axis" in attrs or is_time(attrs.get("units"))
    is_place |= attrs.get("standard_name") in ("latitude", "longitude", "time")
    return entry.dtype.kind == "f" and not is_place


def rounded(entry: ArrayEntry, read: Reader) -> Reader:
    """Return ``read`` with rounded results, if the entry asks for it."""
    if entry.rounding is None:
        return read
    return reader(entry.rounding, read, _marks(entry))


def _marks(entry: ArrayEntry) -> list[Any]:
    """Return the values that mark missing elements."""
    marks = [fill(entry.attrs["_FillValue"], entry.dtype)] if "_FillValue" in entry.attrs else []
    marks += [entry.fill_value] if isinstance(entry.fill_value, float | int) and entry.fill_value else []
    missing = entry.attrs.get("missing_value", [])
    return [*marks, *(missing if isinstance(missing, list) else [missing])]
