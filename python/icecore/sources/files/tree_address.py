"""Addresses of trees: ``file.root:Events``, ``files*.root:dir/Events``."""

from __future__ import annotations

import glob
import os


def split(source: str) -> tuple[str, str]:
    """Split an address into the file (or file pattern) and the tree; the tree is empty if none is named."""
    if os.path.exists(source):
        return source, ""
    file, colon, tree = source.rpartition(":")
    if not colon or not file or not tree or tree.startswith("//"):
        return source, ""
    named = file.lower().endswith(".root") or os.path.isfile(file)
    return (file, tree.strip("/")) if named else (source, "")


def files(pattern: str) -> list[str]:
    """Return the files that match a pattern, sorted; the pattern itself if it is the name of a file."""
    if os.path.exists(pattern) or not glob.has_magic(pattern):
        return [pattern]
    return sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
