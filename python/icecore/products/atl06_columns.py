"""Columns of ``atl06``: types, units, descriptions, and batches of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.products.atl03 import BEAMS, Beam
from icecore.tables.query.arrow_numbers import arrow_array
from icecore.tables.query.scan import arrow, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.repository.array import Array

_FLAGS = "1 spread too short, 2 too few photons, 4 largest number of iterations, 8 percentiles out of bounds"
#: column → dtype, unit, description
COLUMNS = {
    "time": ("M8[ns]", "", "time at the centre, UTC"),
    "latitude": ("f8", "degrees_north", "latitude at the centre, WGS 84"),
    "longitude": ("f8", "degrees_east", "longitude at the centre, WGS 84"),
    "h_mean": ("f8", "m", "height at the centre above the WGS 84 ellipsoid"),
    "x_atc": ("f8", "m", "centre, distance along the track from the equator"),
    "y_atc": ("f4", "m", "distance from the reference track"),
    "dh_fit_dx": ("f4", "1", "slope along the track"),
    "window_height": ("f4", "m", "height of the window around the line"),
    "rms_misfit": ("f4", "m", "root mean square of the residuals"),
    "h_sigma": ("f4", "m", "standard error of h_mean from the residuals"),
    "photon_start": ("i8", "1", "first photon of the extent in the beam, counted from 0"),
    "photon_count": ("u4", "1", "photons of the last fit"),
    "pflags": ("u2", "1", _FLAGS),
    "segment_id": ("u4", "1", "last segment of ATL03 that starts at or before the centre"),
    "gt": ("u1", "1", "ground track: 10 (gt1l), 20 (gt1r), … 60 (gt3r)"),
    "spot": ("u1", "1", "spot, 1 to 6"),
    "rgt": ("u2", "1", "reference ground track"),
    "cycle": ("u1", "1", "cycle"),
}
#: groups of ATL03 with further columns, in the order of the parameters
_GROUPS = ("geolocation", "geophys_corr", "heights")


def schema(beam: Beam | None, fields: Sequence[Sequence[str]], is_named: bool) -> pa.Schema:
    """Return the schema: the columns of the product, further columns, and ``source`` if there may be several.

    Args:
        beam: a beam that has the further columns; None if no source could be opened.
        fields: names in geolocation, geophys_corr and heights.
        is_named: whether ``source`` is a column.

    Raises:
        Error: ``not-found`` for a field that the beam lacks; ``invalid`` for the name of another column.
    """
    pa = arrow()
    made = [
        pa.field(name, arrow_type(pa, np.dtype(dtype)), metadata={"units": unit, "long_name": doc})
        for name, (dtype, unit, doc) in COLUMNS.items()
    ]
    names = [name for group in fields for name in group]
    taken = [name for name in names if name in COLUMNS or names.count(name) > 1]
    if taken:
        raise errors.make("invalid", f"atl06: {taken[0]} is a column already", "remove it from the fields")
    if beam is not None:
        pairs = zip(_GROUPS, fields, strict=True)
        made += [_field(pa, _array(beam, below, name)) for below, group in pairs for name in group]
    return pa.schema([pa.field("source", pa.large_string()), *made] if is_named else made)


def _array(beam: Beam, below: str, name: str) -> Array:
    array = beam.source.repo.get(f"{beam.path}/{below}/{name}")
    if array is None or array.ndim != 1 or array.dtype.kind not in "iuf":
        message = f"{beam.label}/{below} has no one-dimensional dataset of numbers {name}"
        raise errors.make("not-found", message, "icecore ls lists the datasets of a granule")
    found: Array = array
    return found


def _field(pa: Any, array: Array) -> pa.Field:
    dtype = np.dtype("f8") if array.dtype.kind == "f" else array.dtype
    metadata = {"units": str(array.attrs.get("units", ""))}
    return pa.field(array.name, arrow_type(pa, dtype), metadata=metadata)


def record(columns: dict[str, np.ndarray], beam: Beam, schema: pa.Schema) -> pa.RecordBatch:
    """Return columns of a piece of a beam as a batch; those of the beam itself are added."""
    pa, rows = arrow(), columns["x_atc"].size
    number = 10 * (BEAMS.index(beam.name) + 1)
    constants: dict[str, Any] = {"source": beam.granule, "gt": number, "spot": beam.spot}
    constants |= {"rgt": beam.orbit("rgt"), "cycle": beam.orbit("cycle_number")}
    arrays = [
        pa.repeat(pa.scalar(constants[field.name], field.type), rows)
        if field.name in constants
        else arrow_array(columns[field.name], field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
