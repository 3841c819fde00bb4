"""References as columns, the common form of both kinds of reference files."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from icecore import errors

#: length that means a whole file
WHOLE = -1


@dataclass
class Columns:
    """The references of one array, one row per chunk.

    ``ids`` index ``addresses``; ``chunks`` are flat in C order. ``inline`` are the chunks stored in the
    reference file itself. ``unused`` are the names of references to chunks outside the array.
    """

    addresses: list[str]
    ids: np.ndarray
    chunks: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray
    inline: dict[int, bytes]
    unused: list[str] = field(default_factory=list)


def plain(value: Any) -> bytes:
    """Decode bytes stored in a reference file: text, base64, or (metadata) JSON."""
    if isinstance(value, str):
        value = value.encode()
    if not isinstance(value, bytes):
        return json.dumps(value).encode()
    return b64decode(value[7:], validate=True) if value.startswith(b"base64:") else value


def wrong(name: str, what: str) -> errors.Error:
    """Return the error for invalid references."""
    return errors.make("corrupt", f"{name}: {what}", "write it anew with kerchunk or VirtualiZarr")
