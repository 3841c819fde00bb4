"""Write a group with everything below it as HDF5 or netCDF-4, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np

from icecore import errors
from icecore.display.progress import ProgressCall
from icecore.export.group_plan import Box, Storage, Variable, copy
from icecore.export.hdf5 import NO_VARIABLE, OWN, described, is_netcdf, set_attribute, storable
from icecore.filesystem.atomic_output import room
from icecore.repository.group import Group
from icecore.repository.json_attributes import text
from icecore.repository.typed_attributes import typed

#: bytes for the metadata of one variable
_OVERHEAD = 1 << 13
#: begins the name of a variable that is called like a dimension and isn't its coordinate, as netCDF has it
_OTHER = "_nc4_non_coord_"
_COMPRESSORS = ("none", "gzip", "lzf", "zstd")


def write(
    group: Group, found: list[Variable], path: str, storage: Storage, netcdf: bool, progress: ProgressCall
) -> dict[str, str]:
    """Write a group.

    Args:
        group: the group, which becomes the root of the file.
        found: its variables.
        path: the file.
        storage: chunks and compression.
        netcdf: whether types, dimensions and names must be those of netCDF-4.
        progress: called with path, bytes done and all bytes.

    Returns:
        Path → reason, of the arrays that the format can't hold.

    Raises:
        Error: ``codec`` for an unknown compressor; ``io`` if the disk is full.
    """
    left_out = {each.array.path: reason for each in found if (reason := _reason(each, netcdf))}
    kept = [each for each in found if each.array.path not in left_out]
    filters = _filters(storage)
    # Compression may need less than the data's size: only what is written without it is known before.
    room(path, _OVERHEAD * (len(found) + 1) + (0 if filters else sum(each.nbytes for each in kept)))
    with h5py.File(path, "w", track_order=True) as file:
        _groups(file, group)
        made = _Datasets(file, kept, storage, filters, netcdf)
        copy(kept, made.put, made.chunk, progress)
    return left_out


def _reason(each: Variable, netcdf: bool) -> str:
    """Return why the format can't hold an array; empty if it can."""
    dtype = each.array.dtype
    if netcdf and not is_netcdf(dtype) and dtype != np.float16:
        return f"netCDF-4 can't hold {each.array._node.dtype_label}"
    return ""


def _groups(file: h5py.File, group: Group) -> None:
    """Create the groups with their attributes."""
    below = [node for node in group.repo._below(group.path) if not node.is_array]
    for node in [group._node, *below]:
        name = node.path[len(group.path) :].strip("/")
        made = file.create_group(name, track_order=True) if name else file
        for key, value in typed(node).items():
            if key not in OWN:
                set_attribute(made, key, value)


def _filters(storage: Storage) -> dict[str, Any]:
    """Return h5py's options of the compressor; empty without one.

    Raises:
        Error: ``codec``; ``unsupported`` if a package is missing.
    """
    name, level = storage.compressor(_COMPRESSORS)
    if name == "none":
        return {}
    if name == "zstd":
        try:
            import hdf5plugin
        except ModuleNotFoundError:
            raise errors.needs("plugins", "Zstandard in HDF5 needs hdf5plugin", "--compress gzip") from None
        return {**hdf5plugin.Zstd(clevel=3 if level is None else level), "shuffle": True}
    options = {"compression_opts": 1 if level is None else level} if name == "gzip" else {}
    return {"compression": name, **options, "shuffle": True}


@dataclass
class _Dimension:
    """A dimension of the file: its length, and whether the source says that it can grow."""

    length: int
    grows: bool = False


class _Datasets:
    """Datasets of a file, with their dimensions."""

    def __init__(
        self, file: h5py.File, found: list[Variable], storage: Storage, filters: dict[str, Any], netcdf: bool
    ) -> None:
        self._file, self._storage, self._filters, self._netcdf = file, storage, filters, netcdf
        self._dims: dict[str, _Dimension] = {}
        self._made: dict[str, h5py.Dataset] = {}
        self._scales: dict[str, h5py.Dataset] = {}
        # Dimensions of a group are known in those below it, so groups come before what is in them.
        names = {
            each.path: self._names(each) for each in sorted(found, key=lambda each: each.path.count("/"))
        }
        scales = {f"/{each.path}": each for each in found if names[each.path] == [f"/{each.path}"]}
        for number, place in enumerate(self._dims):
            self._scale(number, place, scales.get(place))
        for each in found:
            if each.path not in self._made:
                above, _, name = each.path.rpartition("/")
                name = f"{_OTHER}{name}" if f"/{each.path}" in self._dims else name
                dataset = self._create(each, f"{above}/{name}".strip("/"), names[each.path])
                for axis, place in enumerate(names[each.path]):
                    dataset.dims[axis].attach_scale(self._scales[place])

    def _names(self, each: Variable) -> list[str]:
        """Return the paths of a variable's dimensions, and add those that are new."""
        above, names = each.path.rpartition("/")[0], []
        for axis, (dim, length) in enumerate(zip(each.dims, each.shape, strict=True)):
            place = self._known(above, dim, length)
            if place in names:  # netCDF and HDF5 know an axis by its dimension
                place = f"{place}_{axis}"
            known = self._dims.setdefault(place, _Dimension(length))
            known.grows = known.grows or each.grows(axis)
            names.append(place)
        return names

    def _known(self, group: str, dim: str, length: int) -> str:
        """Return the path of a dimension in a group or above it, or of a new one in the group."""
        at = group
        while True:
            place = f"/{at}/{dim}" if at else f"/{dim}"
            if place in self._dims and self._dims[place].length == length:
                return place
            if not at:
                break
            at = at.rpartition("/")[0]
        place = f"/{group}/{dim}" if group else f"/{dim}"
        return place if place not in self._dims else f"{place}_{length}"

    def _scale(self, number: int, place: str, coordinate: Variable | None) -> None:
        """Create the dataset of a dimension: its coordinate, or one without values."""
        dim = self._dims[place]
        if coordinate is not None:
            dataset = self._create(coordinate, place.strip("/"), [place])
            dataset.make_scale(place.rpartition("/")[2])
        else:
            shape = {"maxshape": (None,), "chunks": (1024,)} if dim.grows else {}
            dataset = self._file.create_dataset(place.strip("/"), (dim.length,), ">f4", **shape)
            dataset.make_scale(NO_VARIABLE.format(dim.length))
        if self._netcdf:
            dataset.attrs["_Netcdf4Dimid"] = np.int32(number)
        self._scales[place] = dataset

    def _create(self, each: Variable, name: str, dims: list[str]) -> h5py.Dataset:
        sample, extra = self._stored(each, np.empty((0,) * len(each.shape), each.array.dtype))
        attrs, options = described(each.array, each.attrs, sample.dtype)
        options.setdefault("dtype", sample.dtype)
        if (each.shape and 0 not in each.shape) or any(self._dims[dim].grows for dim in dims):
            limits = tuple(
                None if self._dims[dim].grows else n for dim, n in zip(dims, each.shape, strict=True)
            )
            is_chunked = None in limits or self._filters or set(each.dims) & self._storage.chunks.keys()
            if is_chunked and all(n or limit is None for n, limit in zip(each.shape, limits, strict=True)):
                options |= {"chunks": self.chunk(each), "maxshape": limits}
                options |= self._filters if sample.dtype.kind != "O" else {}
        try:
            dataset = self._file.create_dataset(name, each.shape, track_order=True, **options)
        except TypeError as error:
            message = f"{each.array.path}: HDF5 can't hold {each.array.dtype}: {error}"
            raise errors.make("dtype", message, "-o DIR.zarr") from error
        for key, value in {**attrs, **extra}.items():
            if key not in OWN:
                set_attribute(dataset, key, value)
        self._made[each.path] = dataset
        return dataset

    def chunk(self, each: Variable) -> tuple[int, ...]:
        """Return the shape of a variable's chunks in the file."""
        return each.chunk(self._storage.chunks)

    def put(self, each: Variable, box: Box, values: np.ndarray) -> None:
        """Write a part of a variable."""
        if values.size:
            self._made[each.path][box] = self._stored(each, values)[0]

    def _stored(self, each: Variable, raw: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """Return values in a type that the file has, and the attributes that say so."""
        values = each.values(raw)
        if self._netcdf and values.dtype == np.float16:
            return values.astype("f4"), {}
        if self._netcdf and values.dtype.kind == "S":  # netCDF has characters and strings of any length
            return np.array([text(item) for item in values.reshape(-1).tolist()], "O").reshape(
                values.shape
            ), {}
        return storable(each.array, values, self._netcdf)
