"""Groups and arrays of one version, read from their metadata documents."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.display.text import shape_label
from icecore.repository.cached_property import cached_property

if TYPE_CHECKING:
    from icecore.repository.repo import Repo

#: internal groups: identities of linked files, summaries, followed files
SUMMARY = "__summary__"
HIDDEN = ("__icecore__", SUMMARY, "__followed__")
#: the attribute for information that Zarr metadata has no field for
OURS = "icecore"
#: its members and their types; members of another type are ignored, since other programs may write them
_PARTS: dict[str, type] = {
    "attr_types": dict,
    "codec": dict,
    "enum": list,
    "fill": str,
    "grown": dict,
    "growth": str,
    "subarrays": dict,
    "summary": dict,
    "table": dict,
    "trend": dict,
    "unlimited": list,
}


@dataclass(frozen=True)
class Node:
    """A group or an array: its path and its Zarr v3 metadata document as text."""

    path: str
    is_array: bool
    zarr_json: str

    @cached_property
    def document(self) -> dict[str, Any]:
        """The metadata document.

        Raises:
            Error: ``corrupt`` or ``format`` if it is not a valid document.
        """
        return parse(self.path, self.zarr_json, self.is_array)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def parent(self) -> str:
        """The path of its group."""
        return self.path.rsplit("/", 1)[0] or "/"

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis; empty for a group."""
        return tuple(self.document.get("shape", ()))

    @cached_property
    def dims(self) -> tuple[str | None, ...]:
        """Dimension names, None for an axis without a name."""
        return tuple(self.document.get("dimension_names") or [None] * len(self.shape))

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes, without the internal one."""
        return {key: value for key, value in self.document.get("attributes", {}).items() if key != OURS}

    @property
    def numbers(self) -> dict[str, Any]:
        """The attributes; NaN, infinities and complex numbers are decoded from their JSON encoding."""
        types = self.ours.get("attr_types", {})
        attrs = {
            key: _numbers(value) if {"f", "c"} & set(str(types.get(key))) else value
            for key, value in self.attrs.items()
        }
        return {key: _complex(value) if "c" in str(types.get(key)) else value for key, value in attrs.items()}

    @property
    def ours(self) -> dict[str, Any]:
        """The internal attribute: types of attributes, growing axes and the other members of `_PARTS`."""
        kept = self.document.get("attributes", {}).get(OURS)
        if not isinstance(kept, dict):
            return {}
        return {name: part for name, part in kept.items() if isinstance(part, _PARTS.get(name, object))}

    @property
    def dtype_label(self) -> str:
        """The data type in one word: ``float32``, ``string``, ``S5``, ``datetime64[ns]``."""
        return dtype_label(self.document.get("data_type", "?"))

    @property
    def labels(self) -> tuple[str, str]:
        """Data type and shape for a listing; an unreadable document does not make the listing fail."""
        try:
            return self.dtype_label, shape_label(self.shape, self.dims)
        except errors.Error as error:
            return f"unreadable ({error.kind})", ""

    @property
    def grid(self) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
        """(chunk, shard) shapes: the shard is None without sharding, the chunk on a rectilinear grid."""
        outer = self.document.get("chunk_grid", {}).get("configuration", {}).get("chunk_shape")
        outer = tuple(outer) if outer is not None else None
        codecs = self.document.get("codecs", [])
        if len(codecs) == 1 and codecs[0].get("name") == "sharding_indexed":
            return tuple(codecs[0]["configuration"]["chunk_shape"]), outer
        return outer, None

    @property
    def codecs(self) -> list[dict[str, Any]]:
        """The Zarr v3 codecs of a chunk; for a sharded array those inside the shard."""
        outer: list[dict[str, Any]] = self.document.get("codecs", [])
        return outer if self.grid[1] is None else outer[0]["configuration"]["codecs"]


def _complex(value: Any) -> Any:
    """Convert pairs of (real, imaginary) to complex numbers; other values are returned unchanged."""
    if not isinstance(value, list):
        return value
    if len(value) == 2 and all(isinstance(part, (int, float)) for part in value):
        return complex(*value)
    return [_complex(item) for item in value]


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


def dtype_label(data_type: Any) -> str:
    """Return a Zarr v3 ``data_type`` as one word."""
    if isinstance(data_type, str):
        return data_type
    name, configuration = data_type.get("name", "?"), data_type.get("configuration", {})
    length = configuration.get("length_bytes", 0)
    if not isinstance(length, int):
        return str(name)
    if name == "null_terminated_bytes":
        return f"S{length}"
    if name == "fixed_length_utf32":
        return f"U{length // 4}"
    if name == "raw_bytes":
        return f"V{length}"
    if name in ("numpy.datetime64", "numpy.timedelta64"):
        scale = configuration.get("scale_factor", 1)
        return f"{name[6:]}[{scale if scale != 1 else ''}{configuration.get('unit', '')}]"
    return str(name)


def hidden(path: str) -> bool:
    """Whether a path belongs to an internal group."""
    return "__" in path and any(part in HIDDEN for part in path.split("/"))


def nearest(path: str, paths: Iterable[str], count: int = 3) -> list[str]:
    """Return the existing paths that are most similar to a mistyped ``path``."""
    import difflib

    paths = list(paths)
    by_name: dict[str, list[str]] = {}
    for known in paths:
        by_name.setdefault(known.rsplit("/", 1)[-1], []).append(known)
    same_name = by_name.get(path.rsplit("/", 1)[-1], [])
    close = difflib.get_close_matches(path, paths, count, 0.5)
    return list(dict.fromkeys([*same_name, *close]))[:count]


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint for a mistyped name: the most similar known names, or ``otherwise``."""
    near = nearest(name, known)
    return f"did you mean {' or '.join(near)}?" if near else otherwise


# Parse and check Zarr v3 metadata documents, which any program may have written.
#
# Only the parts that Python code uses are checked here. The engine decides whether an array can be read.


def parse(path: str, text: str, is_array: bool) -> dict[str, Any]:
    """Return the document of the node at ``path``; a codec given as a string becomes an object.

    Raises:
        Error: ``corrupt`` if it is not JSON; ``format`` if a part violates the Zarr v3 specification.
    """
    try:
        document = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        message = f"{path}: the metadata document is not JSON: {error}"
        raise errors.make("corrupt", message, "see `icecore verify`") from None
    if not isinstance(document, dict) or not isinstance(document.get("attributes", {}), dict):
        raise _format(path, "a document or attributes that are not a JSON object")
    if is_array:
        _axes(path, document.get("shape"), document.get("dimension_names"))
        kind, grid = document.get("data_type"), document.get("chunk_grid")
        if not isinstance(kind, str) and not _named(kind):
            raise _format(path, f"the data type {kind!r}")
        if not isinstance(grid, dict) or not _named(grid):
            raise _format(path, f"the chunk grid {grid!r}")
        if not _lengths(grid.get("configuration", {}).get("chunk_shape", [])):
            raise _format(path, f"the chunk grid {grid!r}")
        document["codecs"] = _codecs(path, document.get("codecs"))
    return document


def _axes(path: str, shape: Any, names: Any) -> None:
    if not _lengths(shape):
        raise _format(path, f"the shape {shape!r}")
    if names is None:
        return
    if not isinstance(names, list) or len(names) != len(shape):
        raise _format(path, f"the dimension names {names!r} for the shape {shape!r}")
    if not all(name is None or isinstance(name, str) for name in names):
        raise _format(path, f"the dimension names {names!r}")


def _codecs(path: str, codecs: Any) -> list[dict[str, Any]]:
    if not isinstance(codecs, list):
        raise _format(path, f"the codecs {codecs!r}")
    result: list[Any] = [{"name": codec} if isinstance(codec, str) else codec for codec in codecs]
    for codec in result:
        if not _named(codec):
            raise _format(path, f"the codec {codec!r}")
        if codec["name"] == "sharding_indexed":
            inside = codec.get("configuration", {})
            if not _lengths(inside.get("chunk_shape")):
                raise _format(path, f"shards of the chunks {inside.get('chunk_shape')!r}")
            inside["codecs"] = _codecs(path, inside.get("codecs"))
    return result


def _named(item: Any) -> bool:
    """Whether an extension is an object with a name; its configuration, if present, must be an object."""
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return False
    return isinstance(item.get("configuration", {}), dict)


def _lengths(item: Any) -> bool:
    return isinstance(item, list) and all(type(n) is int and n >= 0 for n in item)


def _format(path: str, what: str) -> errors.Error:
    return errors.make(
        "format", f"{path}: invalid metadata document: {what}", "see the Zarr v3 specification"
    )


class Member:
    """An array or group at one version: its repository and its path."""

    def __init__(self, repo: Repo, node: Node) -> None:
        self._repo = repo
        self._node = node

    @property
    def repo(self) -> Repo:
        """The repository, at the version this was opened at."""
        return self._repo

    @property
    def path(self) -> str:
        """Absolute path inside the repository."""
        return self._node.path

    @property
    def name(self) -> str:
        """The last part of the path; empty for the root."""
        return self._node.name
