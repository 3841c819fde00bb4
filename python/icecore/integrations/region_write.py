"""Overwrite a region of the arrays of a group with an xarray object."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from icecore import errors
from icecore.ingest.report import Report, Row
from icecore.repository import address
from icecore.repository.array import Array
from icecore.repository.group import Group
from icecore.repository.open import open as open_repo
from icecore.repository.repo import Repo
from icecore.sources.memory.packed_range import checked

if TYPE_CHECKING:
    from icecore.integrations.xarray_accessor import Region

#: dimension name → first element and the one after the last
Slices = dict[str, slice]


def write_region(
    item: xr.Dataset | xr.DataArray,
    into: Repo | str | os.PathLike[str],
    group: str,
    region: Region,
    message: str | None = None,
    storage: Mapping[str, Any] | None = None,
) -> Report:
    """Write ``item`` over a region; see :meth:`icecore.integrations.xarray_accessor.Accessor.to`."""
    began = time.perf_counter()
    dataset = item if isinstance(item, xr.Dataset) else _dataset(item)
    repo = into if isinstance(into, Repo) else open_repo(into, storage=storage)
    repo = repo.at(repo.ref)
    arrays = _stored(repo, group, dataset)
    slices = _slices(dataset, repo, group, region)
    dataset = _packable(_fitting(dataset, arrays, slices), arrays)
    with repo.writer(message or f"write a region of {address.absolute(group)}") as writer:
        try:
            # Chunks are aligned here, also at the borders of a region.
            options: dict[str, Any] = {"consolidated": False, "safe_chunks": False}
            dataset.to_zarr(writer.store(), group=group, region=slices, mode="r+", **options)
        except ValueError as error:
            if isinstance(error, errors.Error):
                raise
            raise errors.make(
                "mismatch", f"{group}: {error}", "write variables as they are stored"
            ) from error
    report = Report([Row(arrays[n].path, "packed", raw=v.nbytes) for n, v in dataset.variables.items()])
    report.snapshot, report.bytes_stored = writer.snapshot_id, writer.bytes_stored
    report.seconds = time.perf_counter() - began
    return report


def _dataset(array: xr.DataArray) -> xr.Dataset:
    if not isinstance(array.name, str):
        message = f"a DataArray needs a string for a name (got {array.name!r})"
        raise errors.make("invalid", message, "name it: array.rename('t2m')")
    return array.to_dataset()


def _stored(repo: Repo, group: str, dataset: xr.Dataset) -> dict[Any, Array]:
    """Return the stored array of each variable."""
    found = repo[group]
    known = found.arrays if isinstance(found, Group) else {}
    for name, variable in dataset.variables.items():
        if name not in known:
            raise errors.make(
                "not-found",
                f"{group} has no array {name} to write a region of",
                f"write it first without region, or leave it out: dataset.drop_vars({name!r})",
            )
        if tuple(map(str, variable.dims)) != (array := known[str(name)]).dims:
            stored = ", ".join(map(str, array.dims))
            given = ", ".join(map(str, variable.dims))
            message = f"{array.path} has dimensions ({stored}), the dataset has ({given})"
            raise errors.make("mismatch", message, "dataset.transpose(…)")
    return {name: known[str(name)] for name in dataset.variables}


def _packable(dataset: xr.Dataset, arrays: dict[Any, Array]) -> xr.Dataset:
    """Return the dataset; its numbers are checked where the stored array is of packed integers."""
    found = {}
    for name, variable in dataset.variables.items():
        array = arrays[name]
        found[name] = checked(variable, {**array.attrs, "dtype": array.dtype}, array.path)
    return dataset.assign({name: found[name] for name in dataset.data_vars})


def _slices(dataset: xr.Dataset, repo: Repo, group: str, region: Region) -> Slices:
    """Return the region with a slice for each dimension that ``region`` leaves to the coordinates."""
    if isinstance(region, str) and region != "auto":
        raise errors.make("invalid", f"region={region!r}", "a dictionary of slices, or 'auto'")
    if isinstance(region, str):
        region = {str(dim): "auto" for dim in dataset.dims}
    stored = repo.to_xarray(group)
    found: Slices = {}
    for dim, part in region.items():
        if dim not in dataset.dims or dim not in stored.dims:
            known = ", ".join(map(str, stored.dims))
            raise errors.make("not-found", f"region: no dimension {dim!r}", f"{group} has {known}")
        part = _located(dataset, stored, dim) if isinstance(part, str) and part == "auto" else part
        if not isinstance(part, slice) or part.step not in (None, 1):
            raise errors.make("invalid", f"region of {dim}: {part!r}", "a slice with step 1, or 'auto'")
        start, stop, _ = part.indices(stored.sizes[dim])
        if stop - start != dataset.sizes[dim]:
            message = f"region of {dim}: {stop - start:,} elements for {dataset.sizes[dim]:,} of the dataset"
            raise errors.make("mismatch", message, f"{dim} has {stored.sizes[dim]:,} elements in {group}")
        found[dim] = slice(start, stop)
    return found


def _located(dataset: xr.Dataset, stored: xr.Dataset, dim: str) -> slice:
    """Return the part of a dimension that has the dataset's coordinates."""
    if dim not in dataset.indexes or dim not in stored.indexes:
        if dataset.sizes[dim] == stored.sizes[dim]:
            return slice(0, stored.sizes[dim])
        message = f"region of {dim}: 'auto' needs a coordinate {dim} in the dataset and in the repository"
        raise errors.make("invalid", message, f"give a slice: region={{{dim!r}: slice(0, …)}}")
    places = stored.indexes[dim].get_indexer(dataset.indexes[dim])
    if len(places) == 0 or (places < 0).any() or (np.diff(places) != 1).any():
        message = f"region of {dim}: the coordinates are not a contiguous part of the stored ones"
        raise errors.make("mismatch", message, "append new coordinates first: append_dim=…")
    return slice(int(places[0]), int(places[-1]) + 1)


def _fitting(dataset: xr.Dataset, arrays: dict[Any, Array], region: Slices) -> xr.Dataset:
    """Check lengths outside the region, and rechunk dask arrays so that each task writes whole chunks."""
    aligned = {}
    for name, variable in dataset.variables.items():
        array = arrays[name]
        if not any(dim in region for dim in variable.dims):
            message = f"{array.path} has no dimension of the region: it would be replaced completely"
            raise errors.make("mismatch", message, f"leave it out: dataset.drop_vars({name!r})")
        for dim, length, full in zip(variable.dims, variable.shape, array.shape, strict=True):
            if dim not in region and length != full:
                message = f"{array.path}: {dim} has {full:,} elements (got {length:,})"
                raise errors.make("mismatch", message, f"add {dim} to region")
        if variable.chunks is not None:
            unit = array.shards or array.chunks or (1,) * array.ndim
            first = [region[str(d)].start if d in region else 0 for d in variable.dims]
            parts = map(_parts, first, variable.shape, unit)
            aligned[name] = variable.chunk(dict(zip(variable.dims, parts, strict=True)))
    return dataset.assign(aligned) if aligned else dataset


def _parts(start: int, length: int, unit: int) -> tuple[int, ...]:
    """Lengths of the parts of ``start … start + length`` in chunks of ``unit`` elements."""
    edges = [start, *range(start // unit * unit + unit, start + length, unit), start + length]
    return tuple(b - a for a, b in pairwise(edges))
