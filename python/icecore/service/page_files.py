"""Files of the page. They are in the package as gzip, as browsers take them."""

from __future__ import annotations

import gzip
import mimetypes
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from icecore import errors

PLACE = Path(__file__).with_name("page")
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html; charset=utf-8"}


def page_file(request: Mapping[str, Any]) -> tuple[str, Iterator[bytes]]:
    """Return the content type and the bytes of a file; compressed if the parameter ``gzip`` is given.

    Raises:
        Error: ``not-found``.
    """
    name = request["name"]
    found = PLACE / f"{name}.gz"
    if name not in names():
        raise errors.make("not-found", f"the page has no file {name}", "open /view/")
    data = found.read_bytes()
    suffix = found.with_suffix("").suffix
    kind = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return kind, iter([data if "gzip" in dict(request["params"]) else gzip.decompress(data)])


def names() -> frozenset[str]:
    """Return the names of all files of the page."""
    return frozenset(found.relative_to(PLACE).as_posix().removesuffix(".gz") for found in PLACE.rglob("*.gz"))
