"""``icecore view --static``: the page in a folder, for any web server beside the repository.

The folder has the built page, ``static.js`` (from ``codecs-js/``), which answers the requests of the page
from the repository's own objects, and ``icecore.json``: what the page knows of each node.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from icecore import errors
from icecore.filesystem import atomic_output
from icecore.redaction import has_login, redact
from icecore.repository import address
from icecore.repository.array import Array
from icecore.repository.cf_coordinates import along
from icecore.repository.group import Group
from icecore.repository.missing_values import nulls
from icecore.repository.repo import Repo
from icecore.repository.typed_attributes import typed
from icecore.service.view import describe, values

#: coordinates of an axis that the manifest holds; longer axes count their elements
LONGEST = 20_000
_SIGNS = {("i", "true"): "u", ("u", "false"): "i"}
_UNWRITTEN = 9.969209968386869e36  # netCDF's default fill value of floats
#: what ``static.js`` has no decoder for
_UNDECODED = ("bz2", "lzma", "icecore.gwf_vect", "icecore.root_basket", "icecore.root_page", "zfpy")


def write(repo: Repo, folder: str, name: str) -> Counter[str]:
    """Write the page of a version of a repository into a new or empty folder.

    Args:
        repo: the version that the page shows.
        folder: its place decides the relative address of the repository.
        name: the repository's name on the page.

    Returns:
        The reasons why arrays can't be shown, each with their number.

    Raises:
        Error: ``exists`` if the folder has files.
    """
    manifest, reasons = described(repo, name, location(repo.url, folder))
    with atomic_output.landing_folder(folder) as place:
        _copy(files("icecore.service") / "page", Path(place))
        _copy(files("icecore.service") / "static", Path(place))
        index = Path(place, "index.html")
        text = index.read_text("utf-8")
        script = f'''<meta name="icecore-repository" content="{escape(name)}" />
    <script type="module" src="./static.js"></script>'''
        index.write_text(text.replace("<script", f"{script}\n    <script", 1), "utf-8")
        Path(place, "icecore.json").write_text(json.dumps(manifest, allow_nan=False), "utf-8")
    return reasons


def location(repository: str, folder: str) -> str:
    """Return the address of the repository as the page uses it: relative, or of another server.

    Raises:
        Error: ``invalid`` for an address with a query or a login: the page is public.
    """
    if repository.startswith(("http://", "https://")):
        if urlsplit(repository).query or has_login(repository):
            message = f"{redact(repository)}: the page would publish the secret of this address"
            raise errors.make("invalid", message, "name an address that everybody may read")
        return repository
    if repository.startswith("s3://"):
        bucket, _, key = repository.removeprefix("s3://").partition("/")
        return f"https://{bucket}.s3.amazonaws.com/{key}"
    if repository.startswith(("gs://", "gcs://")):
        return f"https://storage.googleapis.com/{repository.partition('://')[2]}"
    return Path(os.path.relpath(address.local(repository), folder)).as_posix()


def described(repo: Repo, name: str, place: str) -> tuple[dict[str, Any], Counter[str]]:
    """Return the manifest, and the reasons why arrays can't be shown, with their number."""
    nodes: dict[str, Any] = {}
    axes: dict[str, Any] = {}
    reasons: Counter[str] = Counter()
    for path in ("/", *repo.groups, *repo.arrays):
        found = repo[path]
        nodes[path] = describe.node(repo, {"path": path})
        if isinstance(found, Group):
            continue
        reason = unreadable(found)
        if reason:
            reasons[reason] += 1
        lines = [along(found, axis) for axis in range(found.ndim)]
        nodes[path] |= {
            "decode": _decode(found),
            "along": [None if line is None or line.path == path else line.path for line in lines],
        }
        for axis, line in enumerate(lines):
            if line is not None and line.path not in axes and line.path != path and line.size <= LONGEST:
                axes[line.path] = _axis(repo, found, axis)
    known = describe.versions(repo, {})
    versions = known | {"branches": {}, "tags": {}, "commits": known["commits"][:1]}
    shown = {"name": name, "repository": place, "snapshot": repo.snapshot_id, "versions": versions}
    return {**shown, "nodes": nodes, "axes": axes}, reasons


def unreadable(array: Array) -> str | None:
    """Return why the page can't show an array's values; None if it can."""
    names = {name.removeprefix("numcodecs.") for name in _names([*array.codecs])}
    unknown = sorted(names.intersection(_UNDECODED))
    if unknown:
        return f"use {unknown[0]}, which has no decoder in the browser"
    if array.dtype.kind == "O" or array.dtype.names:
        return "are text of any length or records"
    if array.chunks is None:
        return "have chunks of different shapes"
    if any(not url.startswith(("http://", "https://")) for url in array.storage.urls):
        return "are linked to files that are not on the web: pack them"
    return None


def _names(codecs: list[Any]) -> list[str]:
    """Return the names of codecs, and of those inside their configurations."""
    found: list[str] = []
    for each in codecs:
        if isinstance(each, list):
            found += _names(each)
        elif isinstance(each, dict):
            found += [each["name"]] if isinstance(each.get("name"), str) else []
            found += _names([*each.values()])
    return found


def _decode(array: Array) -> dict[str, Any] | None:
    """Return how stored numbers become physical ones; None if they are not numbers."""
    if array.dtype.kind not in "iuf" or not values.is_known(array):
        return None
    attrs = typed(array._node)
    marks = nulls(array)
    if array.dtype.kind == "f":
        if array.dtype.itemsize > 2 and "_FillValue" not in array.attrs:
            marks.append(array.dtype.type(_UNWRITTEN).tobytes())
        zero = array.dtype.type(0)
        if zero.tobytes() in marks:
            marks.append((-zero).tobytes())
    if array.dtype == np.int64 and " since " in str(array.attrs.get("units")):
        marks.append(np.int64(np.iinfo("i8").min).tobytes())
    little = [
        np.frombuffer(mark, array.dtype).astype(array.dtype.newbyteorder("<")).tobytes() for mark in marks
    ]
    return {
        "unsigned": _SIGNS.get((array.dtype.kind, str(attrs.get("_Unsigned")).lower()), ""),
        "scale": float(np.asarray(attrs.get("scale_factor", 1)).item()),
        "offset": float(np.asarray(attrs.get("add_offset", 0)).item()),
        "missing": [mark.hex() for mark in little],
    }


def _axis(repo: Repo, array: Array, axis: int) -> Any:
    """Return the coordinates of a whole axis, as the service answers them."""
    chosen = ",".join(":" if each == axis else "0" for each in range(array.ndim))
    return values.axes(repo, {"path": array.path, "selection": chosen})["axes"][axis]


def _copy(source: Traversable, target: Path) -> None:
    for each in source.iterdir():
        if each.is_dir():
            target.joinpath(each.name).mkdir()
            _copy(each, target / each.name)
        elif each.name.endswith(".gz"):
            target.joinpath(each.name.removesuffix(".gz")).write_bytes(gzip.decompress(each.read_bytes()))
