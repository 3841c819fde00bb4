"""Append time series: a new part continues the array of its channel that has its type and sampling."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from icecore import errors
from icecore.ingest.continue_in_time import continued, is_on_grid
from icecore.ingest.late_frames import is_woven, woven
from icecore.repository import address
from icecore.repository.nodes import Node
from icecore.repository.time_axis import KEY, NS, TimeAxis, seconds_text
from icecore.sources.failure import Failure
from icecore.sources.gwf.paths import Axes
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap
from icecore.sources.mapping.join_in_time import differences, facts

if TYPE_CHECKING:
    from icecore.ingest.placement import Assembly, Step
    from icecore.repository.repo import Repo

#: end of the path of a channel's second and later arrays: the GPS second in which one begins
_LATER = re.compile(r"\.\d+$")


@dataclass(frozen=True)
class _Channel:
    """A channel's stored arrays and new parts, in order of time."""

    path: str
    stored: list[Node]
    new: list[ArrayEntry]


def append_series(
    result: Assembly, step: type[Step], source: str, arrays: ArrayMap, root: str, repo: Repo
) -> set[str]:
    """Add the steps that append the time series of a source; return the paths of these series in the source.

    A part that fits no stored array of its channel becomes another array of the channel, as when all files
    are linked at once. Frames that lie in a gap, or before the end of the array, are inserted.
    """
    channels = _channels(arrays, root, repo._nodes)
    for channel in channels:
        try:
            for each in _steps(channel, step, source, repo):
                _note(result, channel, each)
        except errors.Error as error:
            result.failures.append(Failure.of(source, error))
    _name_axes(result, root, repo._nodes)
    return {entry.path for channel in channels for entry in channel.new}


def _channels(arrays: ArrayMap, root: str, nodes: Mapping[str, Node]) -> list[_Channel]:
    new: dict[str, list[ArrayEntry]] = defaultdict(list)
    for inside, entry in arrays.arrays.items():
        if KEY in entry.attrs:
            path = address.join(root, inside)
            first = _LATER.sub("", path)
            new[first if first in nodes or _LATER.sub("", inside) in arrays.arrays else path].append(entry)
    stored: dict[str, list[Node]] = defaultdict(list)
    for path, node in nodes.items():
        first = path if path in new else _LATER.sub("", path)
        if first in new and node.is_array and KEY in node.attrs:
            stored[first].append(node)
    return [
        _Channel(path, sorted(stored[path], key=_begin), sorted(entries, key=_begin))
        for path, entries in new.items()
        if not (path in nodes and not stored[path])
    ]


def _begin(item: Node | ArrayEntry) -> int:
    return _axis(item).t0


def _axis(item: Node | ArrayEntry) -> TimeAxis:
    axis = TimeAxis.of(item.attrs)
    assert axis is not None  # only items with KEY are collected
    return axis


def _steps(channel: _Channel, step: type[Step], source: str, repo: Repo) -> list[Step]:
    ends = [_axis(node).time(node.shape[0]) for node in channel.stored]
    is_late = bool(ends) and min(map(_begin, channel.new)) < max(ends) - 1
    if is_late and is_woven(channel.stored, channel.new):
        return woven(step, channel.path, source, channel.stored, channel.new, repo)
    free, found = list(channel.stored), []
    for entry in channel.new:
        node = next((each for each in reversed(free) if _continues(each, entry)), None)
        if node is not None:
            free.remove(node)
            found.append(step(node.path, source, continued(entry, node, source), old=node))
            continue
        path = f"{channel.path}.{_begin(entry) // NS}" if channel.stored or found else channel.path
        if path in repo._nodes:
            raise errors.make("exists", f"{path} exists already, and {source} does not continue it")
        found.append(step(path, source, entry))
    return found


def _continues(node: Node, entry: ArrayEntry) -> bool:
    """Whether an entry has the type, sampling and meaning of a stored array."""
    old, new = _axis(node), _axis(entry)
    if (old.step, old.epoch, node.document["data_type"]) != (new.step, new.epoch, entry.data_type):
        return False
    return facts(node.attrs) == facts(entry.attrs) and is_on_grid(old, new.t0)


def _note(result: Assembly, channel: _Channel, step: Step) -> None:
    if step.is_same:
        result.skipped.append((step.path, step.entry, "its files are linked already"))
        return
    if step.is_gone:
        result.gone.append(step.path)
        return
    result.steps.append(step)
    if step.old is None and channel.stored:
        axis = _axis(step.entry)
        kind = f"{step.entry.dtype} at {axis.rate:.10g} Hz from GPS {seconds_text(axis.t0)}"
        changed = differences(channel.stored[-1].attrs, step.entry.attrs)
        said = f"{kind}: {'; '.join(changed) or 'the type or sampling changed'}"
        result.notes.append(Failure(step.path, "changed", said))


def _name_axes(result: Assembly, root: str, nodes: Mapping[str, Node]) -> None:
    """Name the time axes of frame channels as when all files are linked at once, by all axes of a group."""
    after: dict[str, tuple[Node | ArrayEntry, int]] = {}
    for path, node in nodes.items():
        if (
            node.is_array
            and _is_channel(node)
            and path.startswith(f"{root.rstrip('/')}/")
            and path not in result.gone
        ):
            after[path] = node, node.shape[0]
    for step in result.steps:
        if _is_channel(step.entry):
            after[step.path] = (
                step.old if step.old is not None and not step.whole else step.entry,
                step.shape[0],
            )
    axes = Axes.of((path, _axis(item).t0, _axis(item).step, count) for path, (item, count) in after.items())
    steps = {step.path: step for step in result.steps}
    for path, (item, count) in after.items():
        dim = axes.dimension(path, _axis(item).t0, _axis(item).step, count)
        if path in steps and (steps[path].old is None or steps[path].whole):
            steps[path].entry.dims = (dim,)
        elif nodes[path].dims != (dim,):
            result.renamed[path] = (dim,)


def _is_channel(item: Node | ArrayEntry) -> bool:
    return KEY in item.attrs and "channel" in item.attrs
