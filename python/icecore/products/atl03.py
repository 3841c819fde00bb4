"""Beams of ATL03: segments inside an area, and their photons piece by piece.

Source of the datasets: ICESat-2 ATL03 data dictionary (NSIDC). The photons of the segments follow each other:
those of a segment begin after the sum of ``segment_ph_cnt`` before it. ``ph_index_beg`` is not used, because
tools that cut granules do not always correct it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.products.inputs import Source
from icecore.tables.query.arrow_numbers import arrow_array
from icecore.tables.query.scan import arrow, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.repository.array import Array


BEAMS = ("gt1l", "gt1r", "gt2l", "gt2r", "gt3l", "gt3r")
#: photons of a piece: enough for long reads, few enough that two pieces per core fit the memory
_PIECE = 1 << 19
#: shortest segment, m, for the number of segments that an extent may cover
_SHORTEST = 15.0
_GEOLOCATION = ("segment_id", "segment_dist_x", "segment_ph_cnt", "delta_time", "velocity_sc")
_REFERENCE = ("reference_photon_lon", "reference_photon_lat")
_HEIGHTS = {
    "along": ("dist_ph_along", "f4"),
    "across": ("dist_ph_across", "f4"),
    "height": ("h_ph", "f4"),
    "confidence": ("signal_conf_ph", "i1"),
    "quality": ("quality_ph", "i1"),
    "latitude": ("lat_ph", "f8"),
    "longitude": ("lon_ph", "f8"),
    "time": ("delta_time", "f8"),
}
_BACKGROUND = ("delta_time", "bckgrd_rate")
#: arrays that are read from files
VARIABLES = [
    "/gt*/heights/*",
    "/gt*/geolocation/*",
    "/gt*/geophys_corr/*",
    "/gt*/bckgrd_atlas/bckgrd_rate",
    "/gt*/bckgrd_atlas/delta_time",
    "/orbit_info/*",
]


@dataclass(frozen=True)
class Piece:
    """Segments of a beam that are read together.

    Attributes:
        start, stop: segments, with those at both ends that extents reach into.
        from_, to: the extents that start here, by the coordinate of their grid.
    """

    start: int
    stop: int
    from_: float
    to: float


@dataclass(frozen=True)
class Beam:
    """A beam of a granule: a group such as ``/gt1l`` with photons.

    Attributes:
        source: the source that has it.
        path: its path.
    """

    source: Source
    path: str

    @property
    def name(self) -> str:
        """``gt1l`` … ``gt3r``."""
        return self.path.rpartition("/")[2]

    @property
    def granule(self) -> str:
        """The name of the granule: that of the source, with a group if the source is not one granule."""
        parent = self.path.rpartition("/")[0] or "/"
        return self.source.name if parent == self.source.root else f"{self.source.name}:{parent}"

    @property
    def label(self) -> str:
        """The name in messages."""
        return f"{self.source.name}:{self.path}"

    def check(self) -> None:
        """Check that all datasets exist.

        Raises:
            Error: ``not-found`` with the names of those that are missing.
        """
        needed = [f"heights/{name}" for name, _ in _HEIGHTS.values()]
        needed += [f"geolocation/{name}" for name in (*_GEOLOCATION, *_REFERENCE)]
        needed += [f"bckgrd_atlas/{name}" for name in _BACKGROUND]
        known = self.source.repo._nodes
        missing = [name for name in needed if f"{self.path}/{name}" not in known]
        if missing:
            message = f"{self.label} lacks {', '.join(missing)}"
            raise errors.make("not-found", message, "atl06 needs a granule of ATL03 with all of its datasets")

    def orbit(self, name: str) -> int | None:
        """Return the first value of a dataset of ``orbit_info``; None if the granule lacks it."""
        array = self.source.repo.get(f"{self.path.rpartition('/')[0]}/orbit_info/{name}")
        return int(array[0]) if array is not None and array.shape and array.shape[0] else None

    @property
    def spot(self) -> int | None:
        """The spot, 1 to 6, by the orientation of the spacecraft; None in transition or if unknown."""
        number, orientation = BEAMS.index(self.name), self.orbit("sc_orient")
        return {0: number + 1, 1: 6 - number}.get(orientation) if orientation is not None else None

    @cached_property
    def photons(self) -> int:
        """Number of photons."""
        return self.source.repo._array(f"{self.path}/heights/h_ph").shape[0]


def _paths(source: Source) -> list[str]:
    """Return the paths of all groups that are named like beams."""
    inside = source.root.rstrip("/") + "/"
    every = source.repo.groups
    found = [path for path in every if path.startswith(inside) and fnmatchcase(path, "*/gt[123][lr]")]
    return [*found, source.root] if fnmatchcase(source.root, "*/gt[123][lr]") else found


def has_several(source: Source) -> bool:
    """Whether a source, such as a repository, has several granules."""
    return len({path.rpartition("/")[0] for path in _paths(source)}) > 1


def beams(source: Source, names: list[str] | None, spots: list[int] | None) -> list[Beam]:
    """Return the beams of a source that have photons.

    Raises:
        Error: ``not-found`` if there are none.
    """
    groups, found = source.repo.groups, _paths(source)
    filled = [Beam(source, path) for path in found if f"{path}/heights" in groups]
    if not filled:
        lacking = f"{found[0]}/heights" if found else "beams (gt1l … gt3r)"
        message = f"{source.name} lacks {lacking}"
        raise errors.make("not-found", message, "atl06 needs granules of ATL03")
    chosen = [beam for beam in filled if names is None or beam.name in names]
    chosen = [beam for beam in chosen if spots is None or beam.spot in spots]
    for beam in chosen:
        beam.check()
    return chosen


@dataclass(frozen=True)
class Segments:
    """Segments that have photons and are inside the area, in order: one element each.

    Attributes:
        id, distance: number of the segment, metres from the equator.
        counts, first: number of photons, and the first (from 0).
        time: seconds since 2018.
        velocity, background: m/s, background photons per second.
        fields: ancillary fields by name.
    """

    id: np.ndarray
    distance: np.ndarray
    counts: np.ndarray
    first: np.ndarray
    time: np.ndarray
    velocity: np.ndarray
    background: np.ndarray
    fields: dict[str, np.ndarray]

    def pieces(self, length: float, in_segments: bool) -> Iterator[Piece]:
        """Cut the segments into pieces; ``length`` of an extent in metres or segments."""
        n, at = len(self.id), self.id.astype("f8") if in_segments else self.distance
        reach = int(length if in_segments else length / _SHORTEST) + 2
        ends = np.cumsum(self.counts, dtype="i8")
        cuts = np.searchsorted(ends, np.arange(_PIECE, ends[-1] if n else 0, _PIECE)) + 1
        cuts = np.unique(np.concatenate([[0], cuts[cuts < n], [n]]))
        for start, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            low = -np.inf if start == 0 else float(at[start])
            high = np.inf if stop == n else float(at[stop])
            yield Piece(max(start - 2, 0), min(stop + reach, n), low, high)


def read_segments(
    beam: Beam, within: Any, t0: float | None, t1: float | None, geo: list[str], corr: list[str]
) -> Segments:
    """Read the segments whose reference photon is inside an area, from t0 to t1 (seconds since 2018).

    Raises:
        Error: ``corrupt`` for photons that do not exist, or distances that decrease.
    """
    fields = [name for name in geo if name not in _GEOLOCATION]
    table = beam.source.repo.table(f"{beam.path}/geolocation", [*_GEOLOCATION, *_REFERENCE, *fields])
    clauses = ["segment_ph_cnt > 0"]
    clauses += [f"delta_time >= {t0!r}"] if t0 is not None else []
    clauses += [f"delta_time < {t1!r}"] if t1 is not None else []
    scan = table.scan([*_GEOLOCATION, *fields], " and ".join(clauses), within=within, xy=_REFERENCE)
    found = scan.to_numpy()
    rows, first = _places(beam, found["segment_id"])
    _check_order(beam, "segment_dist_x", found["segment_dist_x"])
    time, velocity = found["delta_time"].astype("f8"), found["velocity_sc"].astype("f8")
    others = {name: without_fill(table._columns[name], found[name]) for name in geo}
    others |= _corrections(beam, rows, corr)
    return Segments(
        found["segment_id"].astype("i8"),
        found["segment_dist_x"].astype("f8"),
        found["segment_ph_cnt"].astype("u4"),
        first,
        time,
        np.sqrt((velocity * velocity).sum(axis=1)),
        _background(beam, time),
        others,
    )


def _places(beam: Beam, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of segments, and their first photons."""
    paths = [f"{beam.path}/geolocation/{name}" for name in ("segment_id", "segment_ph_cnt")]
    every, counts = beam.source.repo.read(dict.fromkeys(paths)).values()
    _check_order(beam, "segment_id", every)
    ends = np.cumsum(counts, dtype="i8")
    total = int(ends[-1]) if len(ends) else 0
    if total != beam.photons:
        message = f"{beam.label}: segments have {total:,} photons (heights have {beam.photons:,})"
        raise errors.make(
            "corrupt", message, "download the granule again, or correct segment_ph_cnt of the subset"
        )
    rows = np.searchsorted(every, numbers)
    return rows, (ends - counts)[rows]


def _check_order(beam: Beam, name: str, values: np.ndarray) -> None:
    if not (np.diff(values) > 0).all():
        message = f"{beam.label}/geolocation/{name} does not increase from segment to segment"
        raise errors.make("corrupt", message, "download the granule again")


def _background(beam: Beam, time: np.ndarray) -> np.ndarray:
    """Interpolate the background rate at times."""
    if not len(time):
        return np.empty(0)
    table = beam.source.repo.table(f"{beam.path}/bckgrd_atlas", list(_BACKGROUND))
    # Rates are 0.005 s apart; one second more on both sides has the neighbours of the first and last segment.
    clause = f"delta_time between {float(time.min()) - 1.0!r} and {float(time.max()) + 1.0!r}"
    found = table.to_numpy(list(_BACKGROUND), clause)
    if not len(found["delta_time"]):
        return np.zeros(len(time))
    return np.interp(time, found["delta_time"], found["bckgrd_rate"].astype("f8"))


def _corrections(beam: Beam, rows: np.ndarray, names: list[str]) -> dict[str, np.ndarray]:
    """Read fields of ``geophys_corr`` for rows of segments."""
    if not names:
        return {}
    table = beam.source.repo.table(f"{beam.path}/geophys_corr", names)
    return {
        name: without_fill(table._columns[name], values)[rows]
        for name, values in table.to_numpy(names).items()
    }


def without_fill(array: Array, values: np.ndarray) -> np.ndarray:
    """Replace fill values of floats by NaN, so that a fit returns NaN where a value is missing."""
    fill = array.attrs.get("_FillValue")
    if values.dtype.kind != "f" or not isinstance(fill, (int, float)):
        return values
    return np.where(values == values.dtype.type(fill), np.nan, values)


def read_photons(beam: Beam, segments: Segments, piece: Piece, fields: list[str]) -> dict[str, np.ndarray]:
    """Read the photons of a piece: name → one element per photon, five for the confidence.

    ``fields`` are further datasets of ``heights``.
    """
    first, counts = segments.first[piece.start : piece.stop], segments.counts[piece.start : piece.stop]
    ends = first + counts
    breaks = np.flatnonzero(first[1:] != ends[:-1]) + 1
    starts, stops = [0, *breaks.tolist()], [*breaks.tolist(), len(first)]
    names = {name: stored for name, (stored, _) in _HEIGHTS.items()} | {name: name for name in fields}
    parts: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for start, stop in zip(starts, stops, strict=True):
        rows = slice(int(first[start]), int(ends[stop - 1]))
        paths = {name: f"{beam.path}/heights/{stored}" for name, stored in names.items()}
        found = beam.source.repo.read(dict.fromkeys(paths.values(), rows))
        for name, path in paths.items():
            parts[name].append(found[path])
    joined = {name: part[0] if len(part) == 1 else np.concatenate(part) for name, part in parts.items()}
    # signal_conf_ph has five values per photon.
    typed = {name: np.ascontiguousarray(joined[name], dtype).ravel() for name, (_, dtype) in _HEIGHTS.items()}
    stored = {name: beam.source.repo._array(f"{beam.path}/heights/{name}") for name in fields}
    return {**{name: without_fill(stored[name], joined[name]) for name in fields}, **typed}


# Columns of ``atl06``: types, units, descriptions, and batches of them.

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


# Classes of photons from ATL08 (ground, canopy, …) for the photons of ATL03.

UNCLASSIFIED = 4
_FIELDS = ("ph_segment_id", "classed_pc_indx", "classed_pc_flag")
LAND_VARIABLES = ["/gt*/signal_photons/*"]
#: time, track, cycle and region in the name of a granule: the same for ATL03 and ATL08
_GRANULE = re.compile(r"ATL\d\d_(\d{14}_\d{8})")


@dataclass(frozen=True)
class Classes:
    """Photons of a beam that ATL08 classified: segment, position in the segment (from 1), class."""

    segment: np.ndarray
    position: np.ndarray
    label: np.ndarray

    def of(self, segments: Segments, piece: Piece) -> np.ndarray:
        """Return the class of each photon of a piece, int8; 4 (unclassified) for photons that ATL08 lacks."""
        numbers, counts = segments.id[piece.start : piece.stop], segments.counts[piece.start : piece.stop]
        ends = np.cumsum(counts, dtype="i8")
        found = np.full(int(ends[-1]) if len(ends) else 0, UNCLASSIFIED, "i1")
        row = np.searchsorted(numbers, self.segment)
        row[row == len(numbers)] = 0
        is_here = (numbers[row] == self.segment) & (self.position >= 1) & (self.position <= counts[row])
        at = (ends - counts)[row] + self.position - 1
        found[at[is_here]] = self.label[is_here]
        return found


def matching(known: list[Source], granule: str, is_only: bool) -> Source:
    """Return the source of ATL08 for a granule of ATL03: by the time and track in its name, or the only one.

    Args:
        known: sources of ATL08.
        granule: name of the granule of ATL03.
        is_only: whether there is one source of ATL03.

    Raises:
        Error: ``not-found`` if there is none.
    """
    match = _GRANULE.search(granule)
    named = [each for each in known if match and match[1] in each.name]
    if named:
        return named[0]
    if len(known) == 1 and is_only:
        return known[0]
    message = f"no ATL08 granule for {granule}"
    raise errors.make("not-found", message, "name it: --param atl08=ATL08_20181014000347_02350101_006_02.h5")


def classes(source: Source, beam: Beam) -> Classes:
    """Read the classes of a beam.

    Raises:
        Error: ``not-found`` if the source lacks them.
    """
    found = [
        source.repo.get(f"{source.root.rstrip('/')}/{beam.name}/signal_photons/{name}") for name in _FIELDS
    ]
    if any(array is None for array in found):
        message = f"{source.name} lacks {beam.name}/signal_photons/{{{','.join(_FIELDS)}}}"
        raise errors.make("not-found", message, "atl08_class needs the granule of ATL08 with this beam")
    segment, position, label = source.repo.read({array.path: None for array in found}).values()
    return Classes(segment.astype("i8"), position.astype("i8"), label.astype("i1"))
