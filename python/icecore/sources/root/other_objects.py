"""Objects of a ROOT file beside trees and ntuples: notes and an attribute name them and their classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from icecore.sources.mapping.array_map import LEFT_OUT, ArrayMap, Note

_DIRECTORIES = ("TDirectory", "TDirectoryFile")
#: largest number of objects in the attribute; the notes have all
_LISTED = 1000


def note_objects(
    keys: Iterable[tuple[str, int, str]], classes: Sequence[str], source: str, result: ArrayMap
) -> None:
    """Note the objects whose class is not one of ``classes``, in the order of the file.

    Args:
        keys: path, cycle and class of each key; older cycles of an object follow the newest.
        classes: the classes that are indexed.
        source: name of the file.
        result: receives the notes, and the attribute ``left_out`` of its root.
    """
    found: dict[str, str] = {}
    is_empty = True
    for path, _, kind in keys:
        is_empty = is_empty and kind not in classes
        if kind not in (*classes, *_DIRECTORIES):
            found.setdefault(path, kind)
    for path, kind in found.items():
        message = f"{kind}: trees and ntuples become arrays, other objects stay in {source}"
        result.dropped.append(Note(f"/{path}", "object", message))
    if is_empty and not found:
        result.dropped.append(Note("/", "object", f"{source} has no tree, no ntuple and no other object"))
    if found or is_empty:
        listed = [f"{path} ({kind})" for path, kind in found.items()]
        more = [f"… and {len(listed) - _LISTED:,} more"] if len(listed) > _LISTED else []
        result.groups["/"] = {**result.groups["/"], LEFT_OUT: [*listed[:_LISTED], *more]}
