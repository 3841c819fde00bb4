"""Parse lists of frame files: LAL caches and Virgo's FFL."""

from __future__ import annotations

import os

from icecore import errors
from icecore.sources.files import access
from icecore.sources.files.identity import local_path

_LOCALHOST = "file://localhost"


def listed_frames(path: str) -> list[str]:
    """Return the files in a LAL cache (``H R 874000000 20 file://…``) or an FFL (``path GPS length 0 0``).

    Raises:
        Error: ``format`` for a line of another form.
    """
    access.check(path)
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    found = []
    for number, fields in enumerate(lines, 1):
        if len(fields) != 5:
            message = f"{path}: line {number} has {len(fields)} fields, expected 5"
            raise errors.make("format", message, "it takes LAL caches and FFL lists")
        is_ffl = not fields[0].startswith("file://") and _is_number(fields[1]) and _is_number(fields[2])
        name = fields[0] if is_ffl else fields[4]
        name = "file://" + name[len(_LOCALHOST) :] if name.startswith(_LOCALHOST) else name
        name = local_path(name)
        found.append(os.path.join(os.path.dirname(path), name))
    if not found:
        raise errors.make("format", f"{path} names no file", "it takes LAL caches and FFL lists")
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
