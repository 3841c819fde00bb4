"""Stream rows as files of several formats, block by block."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from icecore import errors
from icecore.tables.query.export import STREAMS, Rows

#: size of a block in bytes
_BLOCK = 1 << 20
#: content types by suffix; the first one that a client accepts is sent
TYPES = {
    ".arrow": "application/vnd.apache.arrow.file",
    ".arrows": "application/vnd.apache.arrow.stream",
    ".parquet": "application/vnd.apache.parquet",
    ".geoparquet": "application/vnd.apache.parquet",
    ".csv": "text/csv; charset=utf-8",
}


def blocks(rows: Rows, suffix: str) -> Iterator[bytes]:
    """Yield a file of this format in blocks; rows are read as the blocks are consumed."""
    sink = io.BytesIO()
    for _ in STREAMS[suffix](rows, _Kept(sink)):
        if sink.tell() >= _BLOCK:
            yield _taken(sink)
    yield _taken(sink)


class _Kept(io.RawIOBase):
    """File object that appends to a sink; positions count all written bytes, including consumed ones."""

    def __init__(self, sink: io.BytesIO) -> None:
        self._sink = sink
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        length = self._sink.write(data)
        self._position += length
        return length

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        """Do nothing: writers close their sink before the last bytes are consumed."""


def _taken(sink: io.BytesIO) -> bytes:
    taken = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return taken


def accepted(accept: str) -> str:
    """Return the suffix of the first supported format in an ``Accept`` header; CSV if any is accepted."""
    kinds = [each.split(";")[0].strip().lower() for each in accept.split(",")]
    for kind in kinds:
        for suffix, content in TYPES.items():
            if kind == content.split(";")[0]:
                return suffix
    if not accept.strip() or {"*/*", "text/*"} & set(kinds):
        return ".csv"
    raise errors.make(
        "unsupported", f"tables can't be sent as {accept}", f"Accept: one of {', '.join(TYPES.values())}"
    )
