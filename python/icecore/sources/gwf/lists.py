"""Parse lists of frame files: LAL caches, Virgo's FFL, and lists of one file a line."""

from __future__ import annotations

import os

from icecore import errors
from icecore.sources.files import access
from icecore.sources.files.byte_source import open_file
from icecore.sources.files.identity import is_remote, local_path, named_by

_LOCALHOST = "file://localhost"
_HINT = "it takes LAL caches, FFL lists, and lists of one file or address a line"


def listed_frames(path: str) -> list[str]:
    """Return the files in a list: a LAL cache (``H R 874000000 20 file://…``), an FFL (``FILE GPS LENGTH 0
    0``, also nested: ``LIST GPS GPS``), or one file or address a line. Names are relative to the list.

    Raises:
        Error: ``format`` for a line of another form; ``source-missing`` for a nested list that is not there.
    """
    return _frames(path, ())


def _frames(path: str, above: tuple[str, ...]) -> list[str]:
    access.check(path)
    place = path if is_remote(path) else os.path.realpath(path)
    if place in above:
        raise errors.make("format", f"{path} is a list that names itself", _HINT)
    above = (*above, place)
    found: list[str] = []
    for number, line in _lines(path):
        name = _name(line.split())
        if name is None and len(line.split()) == 3 and all(map(_is_number, line.split()[1:])):
            found += _frames(_located(path, line.split()[0]), above)
            continue
        if name is None:
            located = _located(path, line)  # a name with spaces
            if is_remote(path) or not os.path.exists(located):
                message = f"{path}: line {number} has {len(line.split())} fields, expected 1 or 5"
                raise errors.make("format", message, _HINT)
            name = line
        found.append(_located(path, name))
    if not found:
        raise errors.make("format", f"{path} names no file", _HINT)
    return found


def _lines(path: str) -> list[tuple[int, str]]:
    try:
        with open_file(path) as file:
            lines = [line.strip() for line in file.read().decode("utf-8-sig", "replace").splitlines()]
    except OSError as error:
        message = f"can't read the list {path}: {error.strerror}"
        raise errors.make("source-missing", message, "check the path") from error
    return [(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]


def _name(fields: list[str]) -> str | None:
    """Return the file that the fields of a line name; None if they have another form."""
    if len(fields) == 1:
        return fields[0]
    if len(fields) != 5:
        return None
    is_ffl = all(map(_is_number, fields[1:]))
    return fields[0] if is_ffl else fields[4]


def _located(path: str, name: str) -> str:
    """Return a file that a list names; addresses of servers are returned unchanged."""
    name = "file://" + name[len(_LOCALHOST) :] if name.startswith(_LOCALHOST) else name
    if is_remote(path):
        return named_by(path, name)
    name = local_path(name)
    return name if "://" in name else os.path.join(os.path.dirname(path), name)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
