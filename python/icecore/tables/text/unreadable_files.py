"""Detection of files of a table that can't be read to the end."""

from __future__ import annotations

from collections.abc import Sequence

from icecore import errors
from icecore.sources.mapping.array_map import DamagedSource
from icecore.sources.mapping.table_file import TableFile
from icecore.tables.text.text_stream import TextStream


def damaged(files: Sequence[TableFile], error: errors.Error, every: bool) -> DamagedSource | None:
    """Return the file that ``error`` reports as damaged; None if the error reports something else.

    With ``every``, later damaged files are included.
    """
    places = [file.place for file in files]
    first = next((i for i, place in enumerate(places) if error.message.startswith(f"{place}: ")), None)
    if error.kind != "corrupt" or first is None:
        return None
    found = DamagedSource.of(places[first], error)
    if every:
        others = ((file.place, _fault(file)) for file in files[first + 1 :])
        found.others = [DamagedSource.of(place, fault) for place, fault in others if fault is not None]
    return found


def _fault(file: TableFile) -> errors.Error | None:
    try:
        for _ in TextStream(file.place, file.open, hashed=False):
            pass
    except errors.Error as error:
        return error if error.kind == "corrupt" else None
    return None
