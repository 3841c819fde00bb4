"""Arrays of a new or extended table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.repository.nodes import HIDDEN
from icecore.tables.text import column_codecs, column_types

if TYPE_CHECKING:
    from icecore.writing.array_writer import ArrayWriter
    from icecore.writing.writer import Writer


def column_array(
    writer: Writer,
    table: str,
    column: dict[str, Any],
    values: np.ndarray,
    attrs: Mapping[str, Any],
    choices: column_codecs.Choices,
    whole: int | None = None,
) -> ArrayWriter:
    """Create the array of a column that begins with ``values``.

    ``whole`` is the number of rows that it will have, if it may be stored in one chunk.
    """
    width = column_codecs.width(values)
    is_whole = whole is not None and whole <= column_codecs.WHOLE and whole * width <= column_codecs.WIDE
    chunk, shard = (max(whole or 0, 1),) * 2 if is_whole else column_codecs.lengths(width)
    return writer.array(
        f"{table}/{column['name']}",
        column_types.dtype(column),
        dims=("row",),
        chunks=(chunk,),
        shards=(shard,),
        codec=choices.of(column, values, is_whole),
        fill_value=column_codecs.constant(values),
        attrs=attrs,
    )


def escapes_array(writer: Writer, table: str) -> ArrayWriter:
    """Create the array of the escapes."""
    path = f"{table}/{HIDDEN[0]}"
    writer.group(path)
    zstd = {"name": "zstd", "configuration": {"level": 15, "checksum": False}}
    return writer.array(
        f"{path}/escapes",
        "u1",
        chunks=(1 << 20,),
        shards=(1 << 20,),
        codec=[{"name": "bytes"}, zstd, {"name": "crc32c"}],
    )
