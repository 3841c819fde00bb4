"""Notes on times that were converted without a calendar attribute although other times have one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from icecore.sources.mapping.array_map import Note
from icecore.sources.mapping.time_units import is_time

if TYPE_CHECKING:
    from icecore.sources.mapping.cf_compare import Sourced

#: calendar of times without a ``calendar`` attribute (CF 1.12, 4.4.1)
DEFAULT = "standard"


def unstated(members: Sequence[dict[str, Sourced]]) -> Iterator[Note]:
    """Yield a note for each array of times whose conversion by CF's default calendar is doubtful.

    Such an array has different units in the sources and no calendar, while other times of its source have a
    calendar other than CF's default. The two would be converted by different calendars.

    Args:
        members: path → array, for each source.
    """
    for path, first in members[0].items():
        units = {str(each[path].attrs.get("units")) for each in members if path in each}
        if len(units) < 2 or not all(map(is_time, units)) or first.attrs.get("calendar"):
            continue
        for other, beside in members[0].items():
            calendar = beside.said("calendar")
            if is_time(beside.attrs.get("units")) and calendar not in (None, DEFAULT):
                message = (
                    f"states no calendar, so that its times were converted by CF's default, {DEFAULT}; "
                    f"{other} is in the calendar {calendar}: if that is meant here too, state it in the files"
                )
                yield Note(path, "calendar", message)
                break
