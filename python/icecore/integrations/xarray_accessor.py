"""The accessor ``.icecore`` of xarray objects: ``dataset.icecore.to("run.icecore")``.

xarray registers it when it loads icecore's engine. A program that opens no repository with xarray imports
``icecore.integrations.xarray``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import xarray as xr

from icecore import errors
from icecore.ingest.pack import pack
from icecore.integrations.region_write import as_dataset, like_stored, stored_arrays, write_region

if TYPE_CHECKING:
    from icecore.ingest.report import Report
    from icecore.repository.repo import Repo

#: xarray's region: dimension name → slice, or "auto"
Region = Mapping[str, Any] | str


class Accessor:
    """``dataset.icecore`` and ``array.icecore``."""

    def __init__(self, item: xr.Dataset | xr.DataArray) -> None:
        self._item = item

    def to(
        self,
        into: Repo | str | os.PathLike[str],
        *,
        group: str = "/",
        append_dim: str | None = None,
        region: Region | None = None,
        **options: Any,
    ) -> Report:
        """Write a Dataset or DataArray into a repository, in one commit.

        Variables are CF-encoded as :meth:`xarray.Dataset.to_zarr` does; with ``append_dim`` and ``region``
        like the stored arrays: in their dtype, units, scale and fill value. Numbers that don't fit are
        refused. If appended times need finer units than the stored ones, the stored times are written again
        in finer units. dask arrays are computed shard by shard; with ``region`` chunk by chunk.

        Args:
            into: a repository or its location; it is created if it does not exist.
            group: the group of the variables.
            append_dim: append to the arrays of the group along this dimension; they are created if the group
                has none.
            region: overwrite a part of the arrays of the group: dimension name → slice, which may have a
                step, or ``"auto"`` to find the part by the coordinates of the dataset.
            **options: options of :func:`icecore.pack` without ``region``; ``message`` and ``storage`` with
                it.

        Returns:
            A report as of :func:`icecore.pack`.

        Raises:
            Error: ``exists`` if an array exists and neither ``append_dim``, ``region`` nor ``replace`` is
                given; ``not-found`` if there is no array to append to or to overwrite; ``mismatch`` if the
                shapes don't fit; ``invalid`` for ``append_dim`` together with ``region``.

        Example:
            >>> import icecore, numpy as np, xarray as xr
            >>> import icecore.integrations.xarray  # registers the accessor
            >>> ds = xr.Dataset({"t2m": (("time", "x"), np.zeros((2, 3)))}, {"time": [0, 1]})
            >>> repo = icecore.create("memory://")
            >>> report = ds.icecore.to(repo, group="/run")
            >>> report = ds.assign_coords(time=[2, 3]).icecore.to(repo, group="/run", append_dim="time")
            >>> part = xr.Dataset({"t2m": (("time", "x"), np.ones((1, 3)))}, {"time": [3]})
            >>> report = part.icecore.to(repo, group="/run", region="auto")
            >>> repo.at("main")["/run/t2m"][:, 0].tolist()
            [0.0, 0.0, 0.0, 1.0]
        """
        if region is not None and append_dim is not None:
            message = "append_dim and region exclude each other"
            raise errors.make("invalid", message, "append first, then write the region")
        if region is not None:
            return write_region(self._item, into, group, region, **options)
        if append_dim is None:
            return pack(self._item, into, group, **options)
        dataset = as_dataset(self._item)
        arrays = stored_arrays(into, group, options.get("storage"))
        if not arrays:
            return pack(dataset, into, group, **{"grows": append_dim, **options})
        dataset = like_stored(dataset, arrays)
        return pack(dataset, into, group, append_dim, append=True, **options)


class TreeAccessor:
    """``tree.icecore``."""

    def __init__(self, tree: xr.DataTree) -> None:
        self._tree = tree

    def to(self, into: Repo | str | os.PathLike[str], *, group: str = "/", **options: Any) -> Report:
        """Write all groups of a DataTree into a repository, in one commit.

        Args:
            into: a repository or its location; it is created if it does not exist.
            group: the group of the tree's root.
            **options: options of :func:`icecore.pack`.

        Example:
            >>> import icecore, numpy as np, xarray as xr
            >>> import icecore.integrations.xarray  # registers the accessor
            >>> tree = xr.DataTree.from_dict({"/a": xr.Dataset({"x": ("n", np.arange(3))})})
            >>> repo = icecore.create("memory://")
            >>> report = tree.icecore.to(repo, group="/run")
            >>> repo.at("main")["/run/a/x"][...].tolist()
            [0, 1, 2]
        """
        return pack(self._tree, into, group, **options)


xr.register_dataset_accessor("icecore")(Accessor)
xr.register_dataarray_accessor("icecore")(Accessor)
xr.register_datatree_accessor("icecore")(TreeAccessor)
