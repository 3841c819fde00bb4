"""Find lists that lack an array after a failed write: lengths or elements alone can't be read."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping
from typing import Any

from icecore.tables.query.event_columns import JAGGED


def incomplete_lists(groups: Mapping[str, Mapping[str, Any]], left_out: Collection[str]) -> dict[str, str]:
    """Return the outermost lists that lack an array: path of the group → the missing array.

    Args:
        groups: path → attributes of the groups that are written.
        left_out: paths of the arrays that are not.
    """
    lists = {path: attrs[JAGGED] for path, attrs in groups.items() if JAGGED in attrs}
    found: dict[str, str] = {}
    for path, stated in lists.items():
        lengths = {posixpath.normpath(posixpath.join(path, str(of))) for of in stated.values()}
        lacking = next((each for each in left_out if each in lengths or each.startswith(f"{path}/")), None)
        if lacking is not None:
            found[path] = lacking
    return {
        path: array
        for path, array in found.items()
        if not any(path.startswith(f"{outer}/") for outer in lists if outer != path)
    }
