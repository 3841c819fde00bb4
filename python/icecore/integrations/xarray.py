"""xarray backend: ``xarray.open_dataset("moon.icecore@v1", engine="icecore", group="/wrf", chunks={})``.

Variables are read lazily through icecore's pipeline; CF decoding (masks, scales, times) is left to xarray.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, cast

import xarray as xr
from xarray.backends import BackendEntrypoint, StoreBackendEntrypoint

from icecore import errors
from icecore.integrations import xarray_accessor as xarray_accessor  # registers `.icecore`
from icecore.integrations.xarray_store import XarrayStore
from icecore.repository import address
from icecore.repository.array import Array
from icecore.repository.dimension_names import Known
from icecore.repository.group import Group
from icecore.repository.open import open as open_repo
from icecore.repository.repo import Repo


class IcecoreBackend(BackendEntrypoint):
    """The backend for ``engine="icecore"``.

    Variable-length strings stay lazy. The size of their elements is unknown, so dask rejects
    ``chunks="auto"``, as it does for xarray's Zarr backend. ``chunks={}`` takes the stored chunks.
    """

    description = "Linked and packed archives in icecore repositories"
    supports_groups = True

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether it is ``*.icecore``, ``*.icecore@ref`` or an open repository."""
        if isinstance(filename_or_obj, (str, os.PathLike)):
            place, _ = address.split_ref(os.fspath(filename_or_obj).rstrip("/"))
            return place.rstrip("/").endswith(".icecore")
        return isinstance(filename_or_obj, (Repo, Group))

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        concat_characters: bool = True,
        decode_coords: bool = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: bool | None = None,
        group: str | None = None,
        ref: str | None = None,
        storage: Mapping[str, Any] | None = None,
        allow_links: list[str] | None = None,
        rtol: float | None = None,
    ) -> xr.Dataset:
        """Return one group as a dataset.

        Args:
            filename_or_obj: a repository (path, URL, with ``@ref``), an open ``icecore.Repo``, or a group
                of one.
            mask_and_scale, decode_times, concat_characters, decode_coords, drop_variables, use_cftime,
                decode_timedelta: as in :func:`xarray.open_dataset`.
            group: path of the group; the root by default.
            ref: a branch, tag, snapshot id, ISO time or revision, instead of one after ``@``.
            storage: credentials and settings of the object store.
            allow_links: URL prefixes that linked files may be read from.
            rtol: largest accepted relative error of floating-point numbers stored in byte planes. The
                attribute ``rtol_bound`` of a float variable is its largest relative error. Coordinates,
                times, positions, bounds and grid mappings are exact, because selections use them. Variables
                with ``add_offset`` are exact, because the offset changes the relative error. Values that
                could be confused with ``_FillValue``, ``missing_value`` or the array's fill value are read
                exactly, so that the same elements are masked.
        """
        root = _group(filename_or_obj, group, ref, storage, allow_links)
        if group is None:
            _look_below(root)
        return _dataset(
            root,
            rtol,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str | None = None,
        ref: str | None = None,
        storage: Mapping[str, Any] | None = None,
        allow_links: list[str] | None = None,
        rtol: float | None = None,
        **decoding: Any,
    ) -> dict[str, xr.Dataset]:
        """Return every group below ``group`` (default: the root) as a dataset, by relative path."""
        root = _group(filename_or_obj, group, ref, storage, allow_links)
        datasets: dict[str, xr.Dataset] = {}
        known: Known = {}
        below = (node for node in root.repo._below(root.path) if not node.is_array)
        for each in (root, *(Group(root.repo, node) for node in below)):
            name = "/" + each.path[len(root.path) :].strip("/")
            datasets[name] = _dataset(each, rtol, known, drop_variables=drop_variables, **decoding)
        return datasets

    def open_datatree(self, filename_or_obj: Any, **options: Any) -> xr.DataTree:
        """Return all groups as a tree; the options are those of :meth:`open_dataset`."""
        return xr.DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **options))


def to_xarray(node: Array | Group, **options: Any) -> Any:
    """Return a group as a dataset, or an array as a data array with the coordinates of its group."""
    options["engine"] = IcecoreBackend
    if isinstance(node, Group):
        return xr.open_dataset(cast(Any, node), **options)
    parent = node.repo[node.path.rsplit("/", 1)[0] or "/"]
    dataset = xr.open_dataset(cast(Any, parent), **options)
    if node.name not in dataset.variables:
        message = f"xarray's decoding leaves {node.path} out as a variable"
        raise errors.make("unsupported", message, "pass decode_coords=False or concat_characters=False")
    return dataset[node.name]


def _dataset(group: Group, rtol: float | None, known: Known | None = None, **decoding: Any) -> xr.Dataset:
    store = XarrayStore(group, rtol, known)
    dataset = StoreBackendEntrypoint().open_dataset(store, **decoding)
    axes = store.time_axes(dataset.variables)
    if not axes:
        return dataset
    from icecore.integrations.time_index import with_times

    return with_times(dataset, axes)


def _look_below(group: Group) -> None:
    """Report where the arrays are if this group has none: an empty dataset looks like an empty repository."""
    if group.arrays:
        return
    below = [node for node in group.repo._below(group.path) if node.is_array]
    if below:
        warnings.warn(
            f"no arrays in {group.path}: {len(below)} lie in groups below it;"
            f" open_dataset(…, group={below[0].parent!r}) opens those of one, open_datatree(…) all",
            stacklevel=4,
        )


def _group(
    source: Any,
    group: str | None,
    ref: str | None,
    storage: Mapping[str, Any] | None,
    allow_links: list[str] | None,
) -> Group:
    if isinstance(source, (str, os.PathLike)):
        place = os.fspath(source)
        repo = open_repo(
            f"{place}@{ref}" if ref is not None else place, storage=storage, allow_links=allow_links
        )
        found = repo[group or "/"]
    else:
        if ref is not None:
            source = source.at(ref) if isinstance(source, Repo) else source.repo.at(ref)[source.path]
        found = source[group or "/"] if isinstance(source, Repo) else source
        if group and isinstance(source, Group):
            found = source[group]
    if not isinstance(found, Group):
        raise errors.make("invalid", f"{found.path} is an array, not a group", "open the group that it is in")
    return found
