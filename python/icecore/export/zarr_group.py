"""Write a group with everything below it as a plain Zarr store, version 2 or 3, block by block."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.display.progress import ProgressCall
from icecore.export.group_plan import Box, Storage, Variable, copy
from icecore.repository.group import Group
from icecore.repository.typed_attributes import marker

if TYPE_CHECKING:
    import zarr

_COMPRESSORS = ("none", "gzip", "zstd", "blosc")
_DIMENSIONS = "_ARRAY_DIMENSIONS"


def write(
    group: Group, found: list[Variable], path: str, storage: Storage, version: int, progress: ProgressCall
) -> dict[str, str]:
    """Write a group.

    Args:
        group: the group, which becomes the root of the store.
        found: its variables.
        path: an empty directory.
        storage: chunks and compression.
        version: of the Zarr format, 2 or 3.
        progress: called with path, bytes done and all bytes.

    Returns:
        Path → reason, of the arrays that the format can't hold.

    Raises:
        Error: ``codec`` for an unknown compressor; ``unsupported`` if zarr is missing.
    """
    try:
        import zarr
    except ModuleNotFoundError:
        raise errors.needs("zarr", "writing a Zarr store needs zarr") from None
    root = zarr.open_group(path, mode="w", zarr_format=version)  # type: ignore[arg-type]
    root.attrs.update(group._node.attrs)
    for node in group.repo._below(group.path):
        if not node.is_array:
            made = root.require_group(node.path[len(group.path) :].strip("/"))
            made.attrs.update(node.attrs)
    compressors = _compressors(storage, version)
    arrays: dict[str, zarr.Array[Any]] = {}
    left_out: dict[str, str] = {}
    for each in found:
        try:
            arrays[each.path] = _create(root, each, storage, compressors, version)
        except (TypeError, ValueError) as error:
            left_out[each.array.path] = str(error).partition("\n")[0]

    def put(each: Variable, box: Box, raw: np.ndarray) -> None:
        if raw.size:
            arrays[each.path][box] = _filled(each.values(raw))

    kept = [each for each in found if each.path in arrays]
    copy(kept, put, lambda each: arrays[each.path].chunks, progress)
    if version == 2:
        zarr.consolidate_metadata(root.store)
    return left_out


def _filled(values: np.ndarray) -> np.ndarray:
    """Return values with the native type of strings, which zarr-python expects."""
    return values.astype(np.dtypes.StringDType()) if values.dtype.kind == "O" else values


def _compressors(storage: Storage, version: int) -> Any:
    """Return zarr-python's compressor; None without one."""
    name, level = storage.compressor(_COMPRESSORS)
    if name == "none":
        return None
    configuration = {"gzip": {"level": 1}, "zstd": {"level": 3}, "blosc": {"cname": "zstd", "clevel": 3}}[
        name
    ]
    if level is not None:
        configuration["clevel" if name == "blosc" else "level"] = level
    if version == 2:
        import numcodecs

        return numcodecs.get_codec({"id": name, **configuration})
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

    made: Any = {"gzip": GzipCodec, "zstd": ZstdCodec, "blosc": BloscCodec}[name]
    return made(**configuration)


def _create(root: Any, each: Variable, storage: Storage, compressors: Any, version: int) -> Any:
    array = each.array
    dtype: Any = each.values(np.empty((0,) * array.ndim, array.dtype)).dtype
    attrs = _attributes(each)
    options: dict[str, Any] = {"fill_value": None if dtype != array.dtype else array.fill_value}
    if dtype.kind == "O":
        if array._node.dtype_label == "variable_length_bytes":
            raise TypeError("zarr-python has no standard type for bytes of variable length")
        dtype = str
    if version == 2:
        attrs[_DIMENSIONS] = list(each.dims)
        # The fill value of version 2 marks missing values, and elements that were never written.
        options["fill_value"] = None
        if "_FillValue" in attrs:
            options["fill_value"] = marker(array._node, "_FillValue", attrs.pop("_FillValue"), array.dtype)
    else:
        options["dimension_names"] = each.dims
    return root.create_array(
        each.path,
        shape=each.shape,
        dtype=dtype,
        chunks=each.chunk(storage.chunks) if each.shape else (),
        compressors=compressors,
        attributes=attrs,
        **options,
    )


def _attributes(each: Variable) -> dict[str, Any]:
    """Return the stored attributes that the variable keeps: xarray's Zarr backend reads them as they are."""
    stored = each.array._node.attrs
    kept = {name: value for name, value in stored.items() if name in each.attrs}
    return json.loads(json.dumps({**kept, **{k: v for k, v in each.attrs.items() if k not in stored}}))
