"""Unique names of the source files of a table, and their output paths."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from icecore.sources.mapping.table_file import TableFile


def distinct(files: Sequence[TableFile], taken: Iterable[str] = ()) -> list[str]:
    """Return unique names for the files of a table: their own, with as many parent directories as necessary.

    Args:
        files: files in order.
        taken: names that the table's earlier files have.
    """
    known, above = set(taken), [_above(file) for file in files]
    depths = [0] * len(files)
    names = [file.name for file in files]
    while True:
        count = Counter(names)
        twice = [i for i, name in enumerate(names) if count[name] > 1 or name in known]
        further = [i for i in twice if depths[i] < len(above[i])]
        if not further:
            break
        for i in further:
            depths[i] += 1
            names[i] = "/".join([*above[i][-depths[i] :], files[i].name])
    # Some files share even their directories: two tables of one file, or x.csv and x.csv.gz.
    for i in twice:
        names[i] = files[i].name
    return _numbered(names, known)


def may_be(file: TableFile, name: str) -> bool:
    """Return whether a source of this name may have been read from the path of ``file``."""
    return f"/{'/'.join([*_above(file), file.name])}".endswith(f"/{name}")


def places(names: Sequence[str]) -> list[str]:
    """Return the output paths of sources in a directory: base names, or whole names if a base name is a
    duplicate. Paths are unique and never outside the directory.
    """
    parts = [[part for part in name.split("/") if part.strip(".")] or ["source"] for name in names]
    count = Counter(part[-1] for part in parts)
    return _numbered([part[-1] if count[part[-1]] == 1 else "/".join(part) for part in parts])


def _above(file: TableFile) -> list[str]:
    """Return the directories above a file, outermost first; an archive counts as the directory of its
    members.
    """
    suffix = f":{file.name}"
    place = file.place.removesuffix(suffix) if file.place.endswith(suffix) else os.path.dirname(file.place)
    return [part for part in os.path.abspath(place).split(os.sep) if part]


def _numbered(names: Sequence[str], taken: Iterable[str] = ()) -> list[str]:
    """Return the names, with a number added to duplicates."""
    used, reserved = set(taken), set(names)
    result = []
    for name in names:
        new, count = name, 1
        stem, suffix = os.path.splitext(name)
        while new in used or (count > 1 and new in reserved):
            count += 1
            new = f"{stem}_{count}{suffix}"
        used.add(new)
        result.append(new)
    return result
