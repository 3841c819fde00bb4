"""Overwrite a region of the arrays of a group with an xarray object."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from icecore import errors
from icecore.ingest.plan.finer_times import in_units, packing
from icecore.ingest.plan.repository_source import stored_entry
from icecore.ingest.report import Report, Row
from icecore.ingest.write.destination import destination
from icecore.repository import address
from icecore.repository.array import Array
from icecore.repository.group import Group
from icecore.repository.open import open as open_repo
from icecore.repository.repo import Repo
from icecore.repository.typed_attributes import marker, typed
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap
from icecore.sources.mapping.cf_compare import sourced
from icecore.sources.mapping.column_nulls import null_of
from icecore.sources.mapping.time_units import spans_or_times
from icecore.sources.memory import xarray_objects
from icecore.sources.memory.array_mappings import RegionReader
from icecore.sources.memory.packed_range import WHOLE
from icecore.writing.array_writer import ArrayWriter
from icecore.writing.writer import Writer

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
    dataset = as_dataset(item)
    repo = into if isinstance(into, Repo) else open_repo(into, storage=storage)
    repo = repo.at(repo.ref)
    arrays = _stored(repo, group, dataset)
    slices = _slices(dataset, repo, group, region)
    dataset = _fitting(like_stored(dataset, arrays), arrays, slices)
    entries = _entries(dataset, repo, group)
    with repo.writer(message or f"write a region of {address.absolute(group)}") as writer:
        _write_all(writer, dataset, arrays, entries, slices)
    report = Report([Row(arrays[n].path, "packed", raw=v.nbytes) for n, v in dataset.variables.items()])
    report.snapshot, report.bytes_stored = writer.snapshot_id, writer.bytes_stored
    report.seconds = time.perf_counter() - began
    return report


def _entries(dataset: xr.Dataset, repo: Repo, group: str) -> dict[str, ArrayEntry]:
    """Return the encoded variables, in the dtypes and units of the stored arrays.

    Raises:
        Error: ``mismatch`` for values that the stored arrays can't hold.
    """
    new = xarray_objects.open(dataset, "the dataset")
    stored = ArrayMap("the repository")
    for path in new.arrays:
        stored.add(stored_entry(repo._array(address.join(group, path)), path))
    ours, _ = members = sourced([stored, new])
    for path, entry in new.arrays.items():
        like = ours[path]
        if spans_or_times(like.attrs) and like.entry.dtype.kind in "iuf" and not packing(like):
            made = in_units(members[1][path], like, str(like.attrs.get("units")), like.entry.dtype)
            if made is None:
                kept = f"{like.entry.dtype} {like.attrs.get('units')!r}"
                message = f"{path}: some of its times are not exact in the stored {kept}"
                raise errors.make("mismatch", message, "append_dim=… stores such times in finer units")
            new.arrays[path] = made
        elif entry.data_type != like.entry.data_type:
            message = f"{path} is {like.entry.dtype} in the repository, {entry.dtype} in the dataset"
            raise errors.make("mismatch", message, "write variables as they are stored")
        else:
            new.arrays[path] = _with_null(entry, like.entry)
    return {path.strip("/"): entry for path, entry in new.arrays.items()}


def _with_null(entry: ArrayEntry, stored: ArrayEntry) -> ArrayEntry:
    """Return strings with the stored array's value for missing ones."""
    null, mine = null_of(stored), null_of(entry)
    if entry.renulled is None or null == mine:
        return entry
    made = entry.renulled(null, entry.dtype) if null is not None else None
    if made is None:
        message = f"{entry.path}: the stored strings have no value for missing ones"
        if null is not None:
            message = f"{entry.path}: {null!r} represents missing strings in the repository"
        raise errors.make("mismatch", message, "fill the missing ones: dataset.fillna({'name': ''})")
    return made


def _write_all(
    writer: Writer,
    dataset: xr.Dataset,
    arrays: Mapping[Any, Array],
    entries: Mapping[str, ArrayEntry],
    slices: Slices,
) -> None:
    """Write the encoded variables over parts of the arrays; dask computes all of its arrays at once."""
    lazy: list[tuple[Any, _Target, tuple[slice, ...]]] = []
    for name, variable in dataset.variables.items():
        part = tuple(slices.get(str(dim), slice(None)) for dim in variable.dims)
        array, read = writer[arrays[name].path], entries[str(name)].read
        if variable.chunks is not None and isinstance(read, RegionReader):
            lazy.append((read.array, _Target(array), part))
        else:
            assert read is not None
            array[part] = read(tuple(slice(0, n) for n in variable.shape))
    if lazy:
        import dask.array as da

        sources, targets, parts = zip(*lazy, strict=True)
        da.store(list(sources), list(targets), regions=list(parts), lock=False)


@dataclass(frozen=True)
class _Target:
    """Array that dask's tasks write to."""

    array: ArrayWriter

    def __setitem__(self, part: tuple[slice, ...], block: Any) -> None:
        self.array[part] = np.asarray(block)


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
        if not isinstance(part, slice) or (part.step is not None and part.step < 1):
            raise errors.make(
                "invalid", f"region of {dim}: {part!r}", "a slice with a positive step, or 'auto'"
            )
        places = range(*part.indices(stored.sizes[dim]))
        if len(places) != dataset.sizes[dim]:
            message = f"region of {dim}: {len(places):,} elements for {dataset.sizes[dim]:,} of the dataset"
            raise errors.make("mismatch", message, f"{dim} has {stored.sizes[dim]:,} elements in {group}")
        found[dim] = slice(places.start, places.stop, places.step)
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
            spans = [region.get(str(d), slice(0, None, 1)) for d in variable.dims]
            parts = (
                _parts(s.start, n, s.step, u) for s, n, u in zip(spans, variable.shape, unit, strict=True)
            )
            aligned[name] = variable.chunk(dict(zip(variable.dims, parts, strict=True)))
    return dataset.assign(aligned) if aligned else dataset


def _parts(start: int, length: int, step: int, unit: int) -> tuple[int, ...]:
    """Numbers of the elements ``start, start + step, …`` that lie in the same chunk of ``unit`` elements."""
    chunks = (start + step * np.arange(length)) // unit
    return tuple(np.unique(chunks, return_counts=True)[1].tolist())


# Encode the variables of a dataset like the stored arrays that they extend or overwrite.

#: attributes that say how numbers are packed
_PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")


def as_dataset(item: xr.Dataset | xr.DataArray) -> xr.Dataset:
    """Return a DataArray as a dataset.

    Raises:
        Error: ``invalid`` for a DataArray without a name.
    """
    if isinstance(item, xr.Dataset):
        return item
    if not isinstance(item.name, str):
        message = f"a DataArray needs a string for a name (got {item.name!r})"
        raise errors.make("invalid", message, "name it: array.rename('t2m')")
    return item.coords.to_dataset() if item.name in item.coords else item.to_dataset()


def stored_arrays(
    into: Repo | str | os.PathLike[str], group: str, storage: Mapping[str, Any] | None
) -> dict[str, Array]:
    """Return the arrays of a group at the tip of the branch; empty if the group does not exist."""
    repo = destination(into, storage)
    if repo is None:
        return {}
    found = repo.at(repo.ref).get(group or "/")
    return found.arrays if isinstance(found, Group) else {}


def like_stored(dataset: xr.Dataset, arrays: Mapping[str, Array]) -> xr.Dataset:
    """Return the dataset with the encodings of the stored arrays, by the names of its variables.

    Times keep an encoding that is exact, in the stored calendar; they are converted when they are written.

    Raises:
        Error: ``mismatch`` for dimensions in another order, or a dtype that can't become the stored one.
    """
    found = {name: _encoded(variable, arrays.get(str(name))) for name, variable in dataset.variables.items()}
    made = dataset.assign({name: found[name] for name in dataset.data_vars})
    others = [name for name in dataset.coords if name not in dataset.xindexes]
    made = made.assign_coords({name: found[name] for name in others})
    for name in dataset.xindexes:  # assigning these would make their indexes again
        made[name].encoding = found[name].encoding
    return made


def _encoded(variable: xr.Variable, array: Array | None) -> xr.Variable:
    if array is None or set(_PACKING) & set(variable.attrs):
        return variable  # new, or encoded by the caller
    if tuple(map(str, variable.dims)) != array.dims:
        stored, given = (", ".join(map(str, dims)) for dims in (array.dims, variable.dims))
        message = f"{array.path} has dimensions ({stored}), the dataset has ({given})"
        raise errors.make("mismatch", message, "dataset.transpose(…)")
    made = variable.copy(deep=False)
    made.encoding = {
        key: made.encoding[key] for key in ("chunks", "preferred_chunks") if key in made.encoding
    }
    attrs = typed(array._node)
    if _is_time(variable) or spans_or_times(attrs):
        return _timed(made, array, attrs)
    if array.dtype.kind in "OSU" or variable.dtype.kind in "OSUT":
        return _text(made, array)
    packing = {key: attrs[key] for key in _PACKING if key in attrs}
    if "_FillValue" in packing:
        packing["_FillValue"] = marker(array._node, "_FillValue", packing["_FillValue"], array.dtype)
    if variable.dtype.kind not in "biufc" or (variable.dtype.kind == "c") > (array.dtype.kind == "c"):
        raise _misfit(variable, array)
    made.encoding |= packing | {"dtype": array.dtype, WHOLE: True}
    return made


def _is_time(variable: xr.Variable) -> bool:
    return variable.dtype.kind in "mM"


def _timed(variable: xr.Variable, array: Array, attrs: Mapping[str, Any]) -> xr.Variable:
    if array.dtype.kind in "mM":
        raise _misfit(variable, array)
    if "calendar" in attrs:
        variable.encoding["calendar"] = attrs["calendar"]
    return variable


def _text(variable: xr.Variable, array: Array) -> xr.Variable:
    kinds = variable.dtype.kind, array.dtype.kind
    if kinds[0] not in "OSUT" or kinds[1] not in "OSU":
        raise _misfit(variable, array)
    if kinds[1] == "U" and kinds[0] in "OUT" and variable.chunks is None:
        data = variable.to_numpy().astype("U")
        if data.dtype.itemsize > array.dtype.itemsize:
            longest = max(map(len, data.reshape(-1).tolist()), default=0)
            message = f"{array.path} has strings of {array.dtype.itemsize // 4} characters (got {longest})"
            raise errors.make("mismatch", message, "write it again with longer strings: replace=True")
        return variable.copy(data=data.astype(array.dtype))
    if kinds[1] == "O" and kinds[0] in "US":
        return variable.astype(object) if kinds[0] == "U" else variable
    variable.encoding["dtype"] = str
    return variable


def _misfit(variable: xr.Variable, array: Array) -> errors.Error:
    message = f"{array.path} is {array._node.dtype_label} in the repository, {variable.dtype} in the dataset"
    return errors.make("mismatch", message, f"convert it: dataset.assign({array.name}=…)")
