"""Which files a repository has taken, so that following a folder can stop and go on.

A hidden array of text that grows by a row for each file, in the same commit as the file's data.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.ingest.file_completion import Seen

if TYPE_CHECKING:
    from icecore.repository.repo import Repo
    from icecore.writing.writer import Writer

#: the hidden array
PATH = "/__followed__/files"
#: notes of a chunk, which is written again with each commit until it is full
_ROWS = 512


def taken(repo: Repo, group: str) -> dict[str, Seen]:
    """The files that went to ``group``, by name; the newest state of each.

    Raises:
        Error: ``corrupt`` where the array holds something else.
    """
    if PATH not in repo:
        return {}
    found = {}
    for row in repo._array(PATH).read():
        try:
            entry: dict[str, Any] = json.loads(row)
            seen = Seen(str(entry["name"]), int(entry["size"]), int(entry["mtime_ns"]))
            if entry["group"] == group:
                found[seen.name] = seen
        except (ValueError, TypeError, KeyError):
            raise errors.make("corrupt", f"{PATH} holds {row!r}", "restore an older version") from None
    return found


def length(repo: Repo) -> int:
    """Files that were taken so far, to whatever group."""
    return len(repo._array(PATH)) if PATH in repo else 0


def take(writer: Writer, group: str, files: Sequence[Seen], known: int) -> None:
    """Note that the writer's commit will hold ``files``.

    Raises:
        Error: ``conflict`` where others took files too since ``known`` of them were.
    """
    rows = [
        json.dumps({"group": group, "name": file.name, "size": file.size, "mtime_ns": file.mtime_ns})
        for file in files
    ]
    if writer._native.exists(PATH):
        array = writer[PATH]
    else:
        array = writer.array(PATH, str, (0,), chunks=(_ROWS,), shards=(_ROWS,))
    if array.shape[0] != known:
        names = ", ".join(file.name for file in files[:3]) + (" …" if len(files) > 3 else "")
        message = f"someone else took a file into the repository while {names} was packed"
        raise errors.make("conflict", message, "look whether it is still to be taken")
    array.append(rows)
