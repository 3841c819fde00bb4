"""Record of the files that a repository has packed, so that following a directory can be resumed.

The record is a hidden string array that grows by one row per file, in the same commit as the file's data.
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

#: path of the hidden array
PATH = "/__followed__/files"
#: rows per chunk; a chunk is rewritten with each commit until it is full
_ROWS = 512


def taken(repo: Repo, group: str) -> dict[str, Seen]:
    """Return the files that were packed into ``group``, by name, each in its newest state.

    Raises:
        Error: ``corrupt`` if the array holds other data.
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
    """Return the number of files that were packed so far, into any group."""
    return len(repo._array(PATH)) if PATH in repo else 0


def take(writer: Writer, group: str, files: Sequence[Seen], known: int) -> None:
    """Record that the writer's commit contains ``files``.

    Raises:
        Error: ``conflict`` if other followers recorded files after the first ``known`` ones.
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
