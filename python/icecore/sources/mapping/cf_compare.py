"""Compare attributes that define the meaning of an array's values between files that are to be joined."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.json_attributes import fill_of_attribute
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap
from icecore.sources.mapping.netcdf_fill import default_fill
from icecore.sources.mapping.time_units import Conversion, conversion, is_time

# Attributes that define the meaning of stored numbers: a difference would silently give wrong values.
_NUMBERS = ("units", "calendar", "scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")
# ``enum`` contains the members of an enumeration type.
_CODES = ("enum", "flag_values", "flag_masks", "flag_meanings")
# xarray's attribute for booleans, which are stored as int8.
_TRUTH = "dtype"
_MEANING = (*_NUMBERS, *_CODES, _TRUTH)
# Character encoding: compared only if both arrays have the attribute.
_ENCODING = "_Encoding"
# Parameters of a grid mapping, without those that have several spellings (CF, appendix F).
_PROJECTION = (
    "grid_mapping_name",
    "azimuth_of_central_line",
    "earth_radius",
    "false_easting",
    "false_northing",
    "fixed_angle_axis",
    "grid_north_pole_latitude",
    "grid_north_pole_longitude",
    "inverse_flattening",
    "latitude_of_projection_origin",
    "longitude_of_central_meridian",
    "longitude_of_prime_meridian",
    "longitude_of_projection_origin",
    "north_pole_grid_longitude",
    "perspective_point_height",
    "scale_factor_at_central_meridian",
    "scale_factor_at_projection_origin",
    "semi_major_axis",
    "semi_minor_axis",
    "standard_parallel",
    "straight_vertical_longitude_from_pole",
    "sweep_angle_axis",
    "towgs84",
)
# Limits are in the units of the stored numbers.
LIMITS = ("valid_min", "valid_max", "valid_range")
SCALE = ("scale_factor", "add_offset")
# Attributes of scaled numbers, which unscaled floats do not have.
PACKED = (*SCALE, "_FillValue", "missing_value", "_Unsigned", *LIMITS)
# Attributes that cell bounds inherit from the variable that names them (CF, 7.1).
_INHERITED = ("units", "calendar")
BOUNDS = ("bounds", "climatology")
# Calendars with two names in CF.
_CALENDARS = {None: "standard", "": "standard", "gregorian": "standard", "365_day": "noleap"}
_CALENDARS |= {"366_day": "all_leap"}


@dataclass(frozen=True)
class Sourced:
    """An array of a source; ``attrs`` includes attributes inherited from other arrays."""

    source: str
    entry: ArrayEntry
    attrs: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The array and its file, for messages."""
        return f"{self.entry.path} in {self.source}"

    @property
    def marks(self) -> np.ndarray:
        """The values, in the array's dtype, that mark missing numbers; they are never converted."""
        dtype, given = self.entry.dtype, self.explicit_marks
        unsaid = fill_of_attribute(self.attrs.get("_FillValue"), dtype) is None and dtype.itemsize > 1
        default = default_fill(dtype) if unsaid else None  # for unwritten records
        return given if default is None else np.array([default, *given], dtype)

    @property
    def explicit_marks(self) -> np.ndarray:
        """The markers of missing numbers that the attributes name."""
        dtype = self.entry.dtype
        missing = self.attrs.get("missing_value")
        own = fill_of_attribute(self.attrs.get("_FillValue"), dtype)
        given = [own, *(missing if isinstance(missing, list) else [missing])]
        return np.array([value for item in given if (value := _element(item, dtype)) is not None], dtype)

    def spelled(self, joined: int | None = None) -> str:
        """Return the shape as ``(time, y=5)``: the length of the joined axis is left out."""
        sizes = enumerate(zip(self.entry.dims, self.entry.shape, strict=True))
        return (
            "(" + ", ".join(f"{name}" if axis == joined else f"{name}={n}" for axis, (name, n) in sizes) + ")"
        )

    def shown(self, name: str) -> Any:
        """Return an attribute for messages, with ``_FillValue`` decoded."""
        value = self.attrs.get(name)
        encoded = name == "_FillValue" and self.entry.dtype.kind in "iuf"
        return fill_of_attribute(value, self.entry.dtype) if encoded else value

    def said(self, name: str) -> Any:
        """Return an attribute in a normalized form, in which equal meanings compare equal."""
        value = self.shown(name)
        if name == "_FillValue" and value != value:
            return None  # NaN marks missing values by itself, and is xarray's default for floats
        if name == "calendar":
            text = value.strip().lower() if isinstance(value, str) else value
            return _CALENDARS.get(text, text) if text is None or isinstance(text, str) else text
        if name == _ENCODING and isinstance(value, str):
            return _encoding(value)
        if name == _TRUTH:
            return value if value == "bool" else None
        if name == "flag_meanings" and isinstance(value, str):
            return value.split()
        if name in _PROJECTION and np.asarray(value).dtype.kind in "iuf":
            return np.atleast_1d(np.asarray(value, "f4")).tolist()  # some write them as float32
        return value[0] if isinstance(value, list) and len(value) == 1 else value


def sourced(maps: list[ArrayMap]) -> list[dict[str, Sourced]]:
    """Return a mapping from path to array for each source."""
    parents: dict[str, str] = {}
    for each in maps:
        for path, entry in each.arrays.items():
            for child in (entry.attrs.get(name) for name in BOUNDS):
                if isinstance(child, str):
                    parents.setdefault(beside(path, child, each), path)
    result = []
    for each in maps:
        members = {}
        for path, entry in each.arrays.items():
            parent = each.arrays.get(parents.get(path, ""))
            from_parent = {} if parent is None else parent.attrs
            inherited = {name: from_parent[name] for name in _INHERITED if name in from_parent}
            fill = {} if entry.text_fill is None else {"_FillValue": entry.text_fill}
            members[path] = Sourced(each.source, entry, {**inherited, **entry.attrs, **fill})
        result.append(members)
    return result


def compare(first: Sourced, other: Sourced) -> Conversion | None:
    """Return None if stored values have the same meaning, or the conversion of times.

    Raises:
        Error: ``mismatch``, with the difference.
    """
    differ = _differing(first, other)
    if not differ:
        return None
    if differ == ["units"]:
        times = _times(first, other)
        if times is not None:
            _same_limits(first, other, times)
            return times
    raise _mismatch(first, other, differ[0])


def same(first: Sourced, other: Sourced) -> None:
    """Raise ``mismatch`` for any difference, even of units that could be converted."""
    differ = _differing(first, other)
    if differ:
        raise _mismatch(first, other, differ[0])


def unlike_scales(arrays: Sequence[Sourced]) -> bool:
    """Whether numeric arrays differ in scale or offset, and in no attribute unrelated to packing."""
    differ = {name for array in arrays[1:] for name in _differing(arrays[0], array)}
    plain = all(array.entry.dtype.kind in "iuf" and not set(_CODES) & set(array.attrs) for array in arrays)
    return bool(differ & set(SCALE)) and differ <= set(PACKED) and plain


def _differing(first: Sourced, other: Sourced) -> list[str]:
    # Attributes of a projection or an encoding may be omitted: compare them only if both arrays have them.
    both = [name for name in (*_PROJECTION, _ENCODING) if name in first.attrs and name in other.attrs]
    return [name for name in (*_MEANING, *both) if first.said(name) != other.said(name)]


def _times(first: Sourced, other: Sourced) -> Conversion | None:
    """Return the conversion of one array's times to the other's units; None if not times, or scaled."""
    ours, theirs = first.attrs.get("units"), other.attrs.get("units")
    plain = not {"scale_factor", "add_offset", "_Unsigned"} & set(other.attrs)
    if not (is_time(ours) and is_time(theirs) and plain and other.entry.dtype.kind in "iuf"):
        return None
    return conversion(str(theirs), str(ours), str(first.said("calendar")))


def _same_limits(first: Sourced, other: Sourced, times: Conversion) -> None:
    """Reject limits that differ: the joined array keeps the first array's limits."""
    for name in LIMITS:
        ours, theirs = first.attrs.get(name), other.attrs.get(name)
        if ours is None and theirs is None:
            continue
        try:
            moved = times.apply(np.atleast_1d(np.asarray(theirs, "f8")))
            alike = np.array_equal(moved, np.atleast_1d(np.asarray(ours, "f8")))
        except (TypeError, ValueError):
            alike = False
        if not alike:
            raise errors.make(
                "mismatch",
                f"{first.entry.path}: {name} is {theirs!r} ({other.attrs.get('units')}) in {other.source}, "
                f"{ours!r} ({first.attrs.get('units')}) in {first.source}",
                "times would count as invalid: keep these files in groups of their own, or drop "
                f"{name} from them",
            )


def _mismatch(first: Sourced, other: Sourced, name: str) -> errors.Error:
    ours, theirs = first.shown(name), other.shown(name)
    if first.entry.dtype == other.entry.dtype:
        what = f"{name} is {theirs!r} in {other.source}, {ours!r} in {first.source}"
    else:
        what = (
            f"{other.entry.dtype} with {name} {theirs!r} in {other.source}, "
            f"{first.entry.dtype} with {ours!r} in {first.source}"
        )
    remedy = (
        "`icecore pack` joins such files as floats"
        if unlike_scales([first, other])
        else f"give them one {name} first"
    )
    wrong = "places" if name in _PROJECTION else "values"
    return errors.make(
        "mismatch",
        f"{first.entry.path}: {what}",
        f"{wrong} would be silently wrong: keep these files in groups of their own, or {remedy}",
    )


def _element(value: Any, dtype: np.dtype) -> Any:
    """Return an attribute's number as an element of ``dtype``; None if that is impossible."""
    try:
        number = np.asarray(float(value) if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        return None
    if number.ndim or number.dtype.kind not in "iuf":
        return None
    with np.errstate(all="ignore"):
        element = number.astype(dtype)[()]
    # Readers compare values rounded to a float; an integer must be exact.
    return None if dtype.kind in "iu" and element != number else element


def _encoding(name: str) -> str:
    """Return the canonical name of an encoding."""
    try:
        return codecs.lookup(name.strip()).name
    except (LookupError, ValueError):
        return name


def beside(path: str, name: str, each: ArrayMap) -> str:
    """Return the path of the array ``name`` that ``path`` refers to, in its group or a parent group."""
    if name.startswith("/"):
        return name
    group = path.rsplit("/", 1)[0]
    while group and f"{group}/{name}" not in each.arrays:
        group = group.rsplit("/", 1)[0]
    return f"{group}/{name}"
