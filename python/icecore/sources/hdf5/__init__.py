"""HDF5 and netCDF-4 files, linked in place.

``file`` opens, ``walk`` visits every object once, ``dimensions`` names axes, ``dataset`` converts each
dataset to an array; ``types``, ``filters``, ``chunks`` and ``attributes`` each handle one part of the format;
``read`` copies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from h5py import h5g

from icecore import errors
from icecore.repository.json_attributes import group_attributes
from icecore.sources.files.identity import identity, unchanged
from icecore.sources.hdf5.attributes import HIDDEN
from icecore.sources.hdf5.dataset import RawDataset, build
from icecore.sources.hdf5.dimensions import (
    NOT_A_VARIABLE,
    Labels,
    extended_shapes,
    name_dimensions,
    scale_paths,
)
from icecore.sources.hdf5.file import ALL_LOST, check, guard, missing, open_file
from icecore.sources.hdf5.gwosc import add_time_axes
from icecore.sources.hdf5.walk import Walk
from icecore.sources.mapping.array_map import ArrayMap, Note


def open(source: str) -> ArrayMap:
    """Index an HDF5 file (path or http(s) URL): chunk locations are read, data are not.

    Errors for objects that the HDF5 library can't read are in the map's ``failed``.

    Raises:
        Error: ``source-missing``, ``permission``; ``corrupt`` if the HDF5 library can't open it;
            ``source-changed`` if it was written to meanwhile.
    """
    before = identity(source)
    file = open_file(source)
    try:
        walk = Walk(source, before)
        with guard(source, "/", ALL_LOST):
            root = h5g.open(file.id, b"/")
        walk.run(root)
        result = _assemble(source, walk)
    finally:
        file.close()
    add_time_axes(result)
    for name, ident in {source: before, **walk.files}.items():
        unchanged(name, ident)
    return result


def _assemble(source: str, walk: Walk) -> ArrayMap:
    result = ArrayMap(source, dropped=walk.notes, failed=walk.failed)
    for path, attrs in walk.groups.items():
        result.groups[path] = group_attributes({n: value for n, value in attrs.items() if n not in HIDDEN})
    labels: dict[str, list[Labels]] = {}
    datasets = []
    for raw in walk.datasets:
        with walk.apart(raw.path):
            labels.setdefault(_parent(raw.path), []).append(_labels(raw, walk))
            datasets.append(raw)
    names = name_dimensions(list(walk.groups), labels)
    inner: dict[str, int] = {}
    longer = extended_shapes([item for members in labels.values() for item in members])
    for raw in datasets:
        if raw.plan.refused:
            continue
        if _is_only_dimension(raw):
            result.dropped.append(Note(raw.path, "dimension", "a netCDF dimension without a variable"))
            continue
        dims: tuple[str | None, ...] = names[raw.path] + _inner(raw, inner)
        with walk.apart(raw.path):
            _add(result, raw, dims, longer.get(raw.path))
    return result


def _add(
    result: ArrayMap, raw: RawDataset, dims: tuple[str | None, ...], extended: tuple[int, ...] | None
) -> None:
    """Add a dataset, or a note on why it is left out."""
    try:
        check(raw.dsid, raw.source)
        if absent := missing(raw.dsid, raw.source):
            raise errors.make("unsupported", f"its data lie in {absent}, which is missing")
        entry = build(raw, dims, extended, result.dropped)
    except errors.Error as error:
        if error.kind not in ("unsupported", "dtype", "link-not-allowed"):
            raise
        result.dropped.append(Note(raw.path, "unsupported", error.message))
        return
    if raw.plan.how == "cast":
        result.dropped.append(Note(raw.path, "rounded", raw.plan.note))
    entry.path = raw.path.replace("/_nc4_non_coord_", "/")
    result.add(entry)


def _inner(raw: RawDataset, known: dict[str, int]) -> tuple[str, ...]:
    """Return names for the axes of array elements; equal names mean equal lengths."""
    names = []
    for axis, length in enumerate(raw.plan.inner):
        name = f"{raw.path.rsplit('/', 1)[1]}_inner_{axis}"
        names.append(name if known.setdefault(name, length) == length else f"{name}_{length}")
    return tuple(names)


def _is_only_dimension(raw: RawDataset) -> bool:
    """Whether a dataset is a dimension scale without values: netCDF's, or one with a null dataspace."""
    if raw.attrs.get("CLASS") != "DIMENSION_SCALE":
        return False
    return raw.shape is None or str(raw.attrs.get("NAME", "")).startswith(NOT_A_VARIABLE)


def _parent(path: str) -> str:
    return path.rsplit("/", 1)[0] or "/"


def _labels(raw: RawDataset, walk: Walk) -> Labels:
    shape = raw.shape if raw.shape is not None else (0,)
    scale = raw.attrs.get("CLASS") == "DIMENSION_SCALE"
    unlimited = bool(raw.maximum) and raw.maximum[0] is None
    item = Labels(raw.path, shape, unlimited, scale)
    item.scales = scale_paths(raw.attrs.get("DIMENSION_LIST"), len(shape), walk.own_path)
    dim_id, coordinates = raw.attrs.get("_Netcdf4Dimid"), raw.attrs.get("_Netcdf4Coordinates")
    item.is_null = raw.shape is None
    item.dim_id = _int(dim_id)
    if scale and coordinates is not None:
        item.coordinates = [int(i) for i in coordinates]
    return item


def _int(value: Any) -> int | None:
    return None if value is None else int(np.asarray(value).reshape(-1)[0])
