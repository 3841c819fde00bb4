"""Verify checksums of linked frame files: of each structure (version 8) and of the file (version 6 or
later).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from icecore import errors
from icecore.repository.results import Problem

if TYPE_CHECKING:
    from icecore.repository.array import Array

_CODEC = "icecore.gwf_vect"
_LOCAL = "file://"


def frame_problems(arrays: Mapping[str, Array]) -> Iterator[Problem]:
    """Yield damage that the files' checksums show; files that can't be read are reported elsewhere."""
    from urllib.parse import unquote

    from icecore import _icecore

    urls: dict[str, str] = {}
    for array in arrays.values():
        if any(codec.get("name") == _CODEC for codec in array.codecs):
            for url in array.storage.urls:
                urls.setdefault(url, array.path)
    for url in sorted(url for url in urls if url.startswith(_LOCAL)):
        file = unquote(url.removeprefix(_LOCAL))
        try:
            found = _icecore.gwf_verify(file)
        except errors.Error as error:
            if error.kind == "source-missing":
                continue
            found = [(error.kind, "", 0, error.message)]
        for kind, _, offset, message in found:
            if kind != "unsupported":  # checksums of version 4
                where = f"{file} at offset {offset}"
                yield Problem(kind, message, where=where, hint="compare the file with its original")
