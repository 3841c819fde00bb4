"""The requests of the page, by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from icecore import errors
from icecore.repository.repo import Repo
from icecore.service.tables import repository
from icecore.service.view import describe, envelope, points, values

Reply = tuple[str, Iterator[bytes]]

_JSON = "application/json"
#: name → the function that gets the repository and the parameters, and returns JSON values or bytes
ANSWERS: dict[str, Callable[[Repo, dict[str, str]], Any]] = {
    "children": describe.children,
    "node": describe.node,
    "values": values.values,
    "axes": values.axes,
    "plan": values.plan,
    "trend": envelope.trend,
    "map": points.points,
    "storage": describe.report,
    "versions": describe.versions,
}


def answer(request: Mapping[str, Any]) -> Reply:
    """Answer ``/view/api/NAME?file=REPO[@VERSION]&path=/P&…``.

    Raises:
        Error: ``not-found`` for an unknown request or path; those of reading.
    """
    name = request["name"]
    if name not in ANSWERS:
        raise errors.make("not-found", f"no request {name!r}", f"there are {', '.join(ANSWERS)}")
    (node,) = request["located"]
    params = dict(request["params"])
    path = params.get("path", "/").strip("/")
    root = node["path"].rstrip("/")
    params["path"] = f"{root}/{path}" if path else root or "/"
    found = ANSWERS[name](repository(node), params)
    if isinstance(found, bytes):
        return "application/octet-stream", iter([found])
    return _JSON, iter([json.dumps(found, allow_nan=False).encode()])
