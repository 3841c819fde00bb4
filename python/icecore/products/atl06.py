"""``atl06``: along-track elevations of ATL03's photons, as SlideRule's ATL06-SR computes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from icecore import errors
from icecore.products import atl03
from icecore.products.area import area
from icecore.products.atl03 import BEAMS, Beam, Piece, Segments, record, schema
from icecore.products.inputs import Inputs, Source
from icecore.products.rows import Rows
from icecore.products.signature import Field
from icecore.products.table_rows import BOX, POLY

if TYPE_CHECKING:
    import pyarrow as pa

_SURFACES = {"dynamic": -1, "land": 0, "ocean": 1, "sea_ice": 2, "land_ice": 3, "inland_water": 4}
_CONFIDENCE = {
    "atl03_tep": -2,
    "atl03_not_considered": -1,
    "atl03_background": 0,
    "atl03_within_10m": 1,
    "atl03_low": 2,
    "atl03_medium": 3,
    "atl03_high": 4,
}
_QUALITY = {
    "atl03_quality_nominal": 0,
    "atl03_quality_afterpulse": 1,
    "atl03_quality_impulse_response": 2,
    "atl03_quality_tep": 3,
}
_CLASSES = {
    "atl08_noise": 0,
    "atl08_ground": 1,
    "atl08_canopy": 2,
    "atl08_top_of_canopy": 3,
    "atl08_unclassified": 4,
}
#: nominal length of a segment, m
_SEGMENT = 20.0
#: start of ``delta_time``
_EPOCH = np.datetime64("2018-01-01T00:00:00", "ns")


@dataclass(frozen=True)
class Fit:
    """Parameters of the iterative fit."""

    maxi: Annotated[int, Field("Largest number of iterations.", low=1, high=1000)] = 5
    H_min_win: Annotated[float, Field("Smallest height of the window.", unit="m", low=0, high=10_000)] = 3.0
    sigma_r_max: Annotated[float, Field("Largest robust dispersion.", unit="m", low=0, high=10_000)] = 5.0


@dataclass(frozen=True)
class _Settings:
    """What every piece needs: settings of the kernel, names of further columns, and the schema."""

    kernel: dict[str, Any]
    geo: list[str]
    corr: list[str]
    photon: list[str]
    schema: Any


@dataclass(frozen=True)
class _Work:
    """A piece of a beam."""

    beam: Beam
    segments: Segments
    piece: Piece
    classes: atl03.Classes | None


def atl06(
    inputs: Inputs,
    poly: Annotated[Any, POLY] = None,
    box: Annotated[list[float] | None, BOX] = None,
    t0: Annotated[str | None, Field("Start of the time span, UTC, as 2018-10-14T00:00:00.")] = None,
    t1: Annotated[str | None, Field("End of the time span, not included.")] = None,
    srt: Annotated[
        int, Field("Surface type whose confidence counts; dynamic: the highest.", names=_SURFACES)
    ] = -1,
    cnf: Annotated[
        int | list[int],
        Field("Confidence: one value is the least, a list names the accepted ones.", names=_CONFIDENCE),
    ] = [2, 3, 4],  # noqa: B006
    quality_ph: Annotated[list[int], Field("Accepted quality of photons.", names=_QUALITY)] = [0],  # noqa: B006
    atl08_class: Annotated[
        list[int] | None, Field("Accepted classes of ATL08; default: all photons.", names=_CLASSES)
    ] = None,
    atl08: Annotated[
        list[str] | None, Field("Granules of ATL08, matched by time and track in their names.")
    ] = None,
    beams: Annotated[
        list[str] | None, Field("Beams; default: all.", names={name: name for name in BEAMS})
    ] = None,
    spots: Annotated[list[int] | None, Field("Spots; default: all.", low=1, high=6)] = None,
    len: Annotated[
        float, Field("Length of an extent; in segments with dist_in_seg.", unit="m", low=1, high=10_000)
    ] = 40.0,
    res: Annotated[float, Field("Distance of the starts of extents.", unit="m", low=1, high=100_000)] = 20.0,
    dist_in_seg: Annotated[bool, Field("len and res count ATL03's own segments of 20 m.")] = False,
    ats: Annotated[
        float, Field("Least extension of the photons along the track.", unit="m", low=0, high=10_000)
    ] = 20.0,
    cnt: Annotated[int, Field("Least number of photons.", low=1, high=1_000_000)] = 10,
    pass_invalid: Annotated[
        bool, Field("Also return extents that fail ats or cnt; pflags names the reason.")
    ] = False,
    fit: Annotated[Fit, Field("Parameters of the iterative fit.")] = Fit(),
    atl03_geo_fields: Annotated[list[str] | None, Field("Further columns: datasets of geolocation.")] = None,
    atl03_corr_fields: Annotated[
        list[str] | None, Field("Further columns: datasets of geophys_corr.")
    ] = None,
    atl03_ph_fields: Annotated[list[str] | None, Field("Further columns: datasets of heights.")] = None,
) -> Rows:
    """Along-track elevations of ICESat-2's photons (ATL03), by SlideRule's ATL06-SR algorithm.

    A line is fitted to the photons of each extent. Photons outside a window around it are removed until none
    is left. Extents start at multiples of res from the equator, so that a polygon does not shift them.
    Photons of segments whose reference photon is inside the polygon take part. Further columns of floats go
    through the fit; integers and flags are those of the photon nearest to the centre.
    """
    if dist_in_seg and (len != int(len) or res != int(res)):
        message = (
            f"atl06: len and res must be whole numbers of segments with dist_in_seg (got {len:g} and {res:g})"
        )
        raise errors.make("invalid", message, "--param len=2 --param res=1")
    metres = len * _SEGMENT if dist_in_seg else len
    if ats > metres and not pass_invalid:
        message = f"atl06: ats must be at most the length of an extent, {metres:g} m (got {ats:g})"
        raise errors.make("invalid", message, "lower ats, raise len, or set pass_invalid")
    if (atl08_class is None) != (atl08 is None):
        message = "atl06: atl08_class and atl08 (the granules with the classes) need each other"
        raise errors.make("invalid", message, "--param atl08=ATL08_….h5 --param atl08_class=1")
    kernel = {
        "surface": None if srt < 0 else srt,
        "confidence": [*range(cnf, 5)] if isinstance(cnf, int) else [*cnf],
        "quality": [*quality_ph],
        "classes": [*(atl08_class or ())],
        "length": len,
        "step": res,
        "in_segments": dist_in_seg,
        "pass_invalid": pass_invalid,
        "max_iterations": fit.maxi,
        "min_window": fit.H_min_win,
        "max_dispersion": fit.sigma_r_max,
        "min_photons": cnt,
        "min_spread": ats,
    }
    fields = [[*(names or ())] for names in (atl03_geo_fields, atl03_corr_fields, atl03_ph_fields)]
    found = _beams(inputs, beams, spots)
    first = next(found, None)
    is_named = inputs.are_several or (first is not None and atl03.has_several(first.source))
    columns = schema(first, fields, is_named)
    geo, corr, photon = fields
    settings = _Settings(kernel, geo, corr, photon, columns)
    others = _others(inputs, atl08)
    span = (_seconds("t0", t0), _seconds("t1", t1))
    every = chain([first], found) if first is not None else found
    work = _pieces(inputs, every, settings, others, area(poly, box), span)
    return Rows(columns, inputs.map(lambda each: _batch(each, settings), work, lambda each: each.beam.label))


atl06.variables = atl03.VARIABLES  # type: ignore[attr-defined]
atl06.by_source = True  # type: ignore[attr-defined]


def _beams(inputs: Inputs, names: list[str] | None, spots: list[int] | None) -> Iterator[Beam]:
    for source in inputs:
        try:
            found = atl03.beams(source, names, spots)
        except errors.Error as error:
            inputs.failed(source.name, error)
            continue
        yield from found


def _others(inputs: Inputs, names: list[str] | None) -> list[Source]:
    return inputs.others(names, atl03.LAND_VARIABLES) if names else []


def _seconds(name: str, text: str | None) -> float | None:
    """Return a time as seconds since 2018, ATL03's ``delta_time``; there was no leap second since."""
    if text is None:
        return None
    try:
        time = np.datetime64(text.strip().removesuffix("Z"), "ns")
    except ValueError:
        raise errors.make(
            "invalid", f"atl06: {name} is not a time: {text!r}", "2018-10-14T00:00:00"
        ) from None
    return float((time - _EPOCH) / np.timedelta64(1, "s"))


def _pieces(
    inputs: Inputs,
    beams: Iterable[Beam],
    settings: _Settings,
    others: list[Source],
    within: Any,
    span: tuple[float | None, float | None],
) -> Iterator[_Work]:
    """Yield the pieces of all beams; the segments of a beam are read when its first piece is taken."""
    for beam in beams:
        try:
            segments = atl03.read_segments(beam, within, *span, settings.geo, settings.corr)
            classes = None
            if others and segments.id.size:
                classes = atl03.classes(atl03.matching(others, beam.granule, not inputs.are_several), beam)
        except errors.Error as error:
            inputs.failed(beam.label, error)
            continue
        kernel = settings.kernel
        for piece in segments.pieces(kernel["length"], kernel["in_segments"]):
            yield _Work(beam, segments, piece, classes)


def _batch(work: _Work, settings: _Settings) -> pa.RecordBatch:
    """Fit the elevations of a piece."""
    from icecore import _icecore

    segments, piece = work.segments, work.piece
    here = slice(piece.start, piece.stop)
    photons = atl03.read_photons(work.beam, segments, piece, settings.photon)
    counts = segments.counts[here]
    base = photons["longitude"][0] if photons["longitude"].size else 0.0
    # Beyond 180 degrees longitudes continue, so that they can be fitted.
    around = base + ((photons["longitude"] - base + 180.0) % 360.0 - 180.0)
    of_segments = {name: np.repeat(values[here], counts) for name, values in segments.fields.items()}
    extra = {**of_segments, **{name: photons[name] for name in settings.photon}}
    fitted = {name: values.astype("f8") for name, values in extra.items() if values.dtype.kind == "f"}
    basic = [photons["time"], photons["latitude"], around, photons["across"].astype("f8")]
    found = _icecore.atl06(
        {**photons, "class": work.classes.of(segments, piece) if work.classes is not None else None},
        {
            "photons": counts,
            "id": segments.id[here],
            "distance": segments.distance[here],
            "velocity": segments.velocity[here],
            "background": segments.background[here],
        },
        [*basic, *fitted.values()],
        {**settings.kernel, "from": piece.from_, "to": piece.to},
    )
    time, latitude, longitude, across, *rest = found.pop("fitted")
    nearest, first = found.pop("nearest"), found.pop("first")
    ends = np.cumsum(counts, dtype="i8")
    of_first = np.searchsorted(ends, first, "right")
    of_center = np.searchsorted(segments.distance[here], found["x_atc"], "right") - 1
    columns = {
        **found,
        "time": _EPOCH + np.round(time * 1e9).astype("m8[ns]"),
        "latitude": latitude,
        "longitude": (longitude + 180.0) % 360.0 - 180.0,
        "y_atc": across,
        "photon_start": segments.first[here][of_first] + first - (ends - counts)[of_first],
        "segment_id": segments.id[here][np.maximum(of_center, 0)],
        **{name: values[nearest] for name, values in extra.items() if name not in fitted},
        **dict(zip(fitted, rest, strict=True)),
    }
    return record(columns, work.beam, settings.schema)
