"""Draw a selection as PNG: a line for one axis, a map for two, with coordinates, dates and units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from shlex import quote
from textwrap import fill
from typing import Any

import numpy as np

from icecore import errors
from icecore.display import text
from icecore.export.decoded import physical
from icecore.filesystem.atomic_output import landing
from icecore.repository.array import Array
from icecore.repository.cf_coordinates import along
from icecore.repository.selection import is_int, per_axis
from icecore.sources.mapping.time_units import conversion, is_time

#: largest number of points on a line; beyond it each pixel column gets its minimum and maximum
_POINTS = 4000
#: largest number of cells along an axis of a map; the picture is 1,080 pixels wide
_PIXELS = 1200
#: largest magnitude that can be drawn: differences of larger numbers overflow
_MOST_DRAWN = 1e300
#: characters of a label, and of one line of it along the height and the width of the figure
_LABEL, _UPRIGHT, _FLAT = 180, 56, 88


@dataclass(frozen=True)
class _Scale:
    """Scale of an axis or of the colours: values, label, whether they are dates, whether it is inverted."""

    values: np.ndarray
    label: str
    is_date: bool = False
    is_downward: bool = False


def draw(array: Array, sel: tuple[Any, ...], path: str) -> dict[str, Any]:
    """Read ``sel`` and draw it to ``path``.

    Returns:
        Kind (``line`` or ``map``), file, number of elements.

    Raises:
        Error: ``unsupported`` if matplotlib is not installed, for another suffix, and for numbers too large
            for an axis; ``dtype`` for dtypes other than real numbers and times; ``selection`` if more than
            two axes remain, before anything is read; ``invalid`` for invalid attributes; ``io`` if
            the file can't be written.
    """
    if not path.lower().endswith(".png"):
        raise errors.make("unsupported", f"can't draw to {path}", "use a name that ends in .png")
    _check_dtype(array)
    kept = _kept(array, sel)
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise errors.needs("plot", "pictures need matplotlib") from None
    drawn = _read(array, kept)
    figure = Figure(figsize=(9, 5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    plot = figure.add_subplot()
    if _is_huge(drawn.values):
        finite = drawn.values[np.isfinite(drawn.values)]
        message = f"{array.path}: {finite.min():.4g} to {finite.max():.4g} is too large for an axis"
        raise errors.make("unsupported", message, "select smaller numbers; `icecore read` prints them")
    scales = [_axis(array, axis, kept.sel, n, step) for axis, n, step in kept.axes]
    if len(scales) == 1:
        _line(plot, drawn, scales[0], kept.axes[0][2] > 1)
    else:
        _map(figure, plot, drawn, scales)
    plot.set_title(fill(_shown(_title(array, sel)), _FLAT), parse_math=False)
    with landing(path) as part:
        figure.savefig(part)
    return {"kind": "line" if len(scales) == 1 else "map", "file": path, "elements": kept.size}


def _check_dtype(array: Array) -> None:
    if array.dtype.kind in "biufmM":
        return
    kind = "strings or bytes" if array.dtype.kind in "OSTUV" else array.dtype
    kind = "records" if array.dtype.names else kind
    message = f"{array.path} holds {kind}: only real numbers and times can be drawn"
    raise errors.make("dtype", message, f"`icecore read` prints it: icecore read REPO {quote(array.path)}")


@dataclass(frozen=True)
class _Drawn:
    """What a selection leaves to draw.

    Attributes:
        sel: an index for each axis of the array.
        axes: (axis, number of elements, elements per pixel) of the axes with more than one element.
        size: number of selected elements.
    """

    sel: tuple[Any, ...]
    axes: list[tuple[int, int, int]]
    size: int


def _kept(array: Array, sel: tuple[Any, ...]) -> _Drawn:
    """Find the axes of the picture from the metadata, and reject a selection with other than one or two."""
    items = tuple(per_axis(sel, array.ndim))
    lists = [axis for axis, item in enumerate(items) if not is_int(item) and not isinstance(item, slice)]
    if len(lists) > 1:
        message = f"{array.path}: several lists select single elements"
        raise errors.make(
            "selection", message, "select one list, and slices or single elements of the others"
        )
    lengths = [
        1 if is_int(item) else len(places(item, n)) for item, n in zip(items, array.shape, strict=True)
    ]
    size, long = prod(lengths), [(axis, n) for axis, n in enumerate(lengths) if n != 1]
    shape = tuple(n for item, n in zip(items, lengths, strict=True) if not is_int(item))
    if size < 2:
        message = f"{array.path}: {text.plural(size, 'element')} of shape {shape} can't be drawn"
        raise errors.make("selection", message, "select two elements or more; `icecore read` prints one")
    if len(long) > 2:
        left = f"{len(long)} axes of lengths {tuple(n for _, n in long)}"
        raise errors.make(
            "selection",
            f"{array.path}: the selection has {left}; a picture needs one or two",
            'select single elements of the others: "time=0"',
        )
    if len(long) == 1:
        [(axis, n)] = long
        return _Drawn(items, [(axis, n, -(-n // (_POINTS // 2)) if n > _POINTS else 1)], size)
    return _Drawn(items, [(axis, n, -(-n // _PIXELS)) for axis, n in long], size)


def _read(array: Array, kept: _Drawn) -> _Scale:
    """Read the elements to draw: all, the least and greatest of each pixel of a line, or some of a map."""
    sel = list(kept.sel)
    if len(kept.axes) == 1 and kept.axes[0][2] > 1:
        return _ends(array, kept)
    for axis, _, step in kept.axes:
        if step > 1:
            sel[axis] = thinned(places(sel[axis], array.shape[axis]), step)
    raw = array.read(tuple(sel))
    return _measured(array, raw.reshape([-(-n // step) for _, n, step in kept.axes]))


def _ends(array: Array, kept: _Drawn) -> _Scale:
    """Return the least and the greatest element of each pixel of a line, one after the other."""
    [(axis, _, step)] = kept.axes
    is_time, found = array.dtype.kind in "mM", []
    for block in rows(array, kept.sel, axis, step):
        if is_time:
            pair = np.fmin.reduce(block, axis=1), np.fmax.reduce(block, axis=1)
        else:
            values = physical(array, block)
            pair = _least(values), _most(values)
        found.append(np.stack(pair, axis=1).reshape(-1))
    ends = np.concatenate(found)
    return _measured(array, ends) if is_time else _scaled(array, np.empty(0, array.dtype), ends)


def _is_huge(values: np.ndarray) -> bool:
    return bool((np.abs(values[np.isfinite(values)]) > _MOST_DRAWN).any())


def _name(array: Array) -> str:
    return str(array.attrs.get("long_name") or array.attrs.get("standard_name") or array.name)


def _shown(label: str) -> str:
    return text.shorten(text.visible(label), _LABEL)


def _title(array: Array, sel: tuple[Any, ...]) -> str:
    """Return the array's path and its selected indexes."""
    cuts = [
        f"{array.dims[axis] or f'axis {axis}'} = {index}"
        for axis, index in enumerate(per_axis(sel, array.ndim))
        if is_int(index)
    ]
    return f"{array.path} ({', '.join(cuts)})" if cuts else array.path


def _measured(array: Array, raw: np.ndarray) -> _Scale:
    """Convert elements to numbers; times become days since 1970 if matplotlib can show them as dates."""
    if array.dtype.kind not in "mM":
        return _scaled(array, raw, physical(array, raw))
    values, units = elapsed(raw)
    return _scaled(array, raw, values, units)


def _scaled(array: Array, raw: np.ndarray, values: np.ndarray, units: Any = None) -> _Scale:
    label, units = _shown(_name(array)), units or array.attrs.get("units")
    dates = as_dates(array, raw, values)
    if dates is not None:
        return _Scale(dates, label, is_date=True)
    return _Scale(values, f"{label} [{_shown(str(units))}]" if units else label)


def _axis(array: Array, axis: int | None, sel: tuple[Any, ...], length: int, step: int = 1) -> _Scale:
    """Return the coordinates along an axis of the picture, of every ``step``-th element."""
    if axis is None:
        return _Scale(np.arange(0, length, step), "index")
    dim = array.dims[axis]
    index = per_axis(sel, array.ndim)[axis]
    found = along(array, axis)
    if found is not None and found.dtype.kind in "iufmM" and found.path != array.path:
        scale = _measured(found, _thinned(found, index, step))
        if _ordered(scale.values) and not _is_huge(scale.values) and (step == 1 or _rises(found, index)):
            return replace(scale, is_downward=found.attrs.get("positive") == "down")
    selected = places(index, array.shape[axis])[::step]
    values = np.array(selected)
    return _Scale(values if _ordered(values) else np.arange(0, length, step), _shown(dim or f"axis {axis}"))


def _thinned(array: Array, index: Any, step: int) -> np.ndarray:
    return array.read((thinned(places(index, array.shape[0]), step),) if step > 1 else index)


def _rises(array: Array, index: Any) -> bool:
    """Return whether all selected coordinates are monotonic; they are read in blocks."""
    last, signs = np.empty(0), set()
    for block in rows(array, (index,), 0, _POINTS):
        values = np.concatenate([last, _plain(array, block.reshape(-1))])
        steps = np.diff(values)
        if not np.isfinite(values).all() or not steps.all():
            return False
        signs |= set(np.sign(steps).tolist())
        last = values[-1:]
    return len(signs) < 2


def _plain(array: Array, raw: np.ndarray) -> np.ndarray:
    """Return coordinates as numbers in which their order can be checked."""
    if array.dtype.kind not in "mM":
        return physical(array, raw)
    return np.where(np.isnat(raw), np.nan, raw.astype("i8").astype("f8"))


def _ordered(values: np.ndarray) -> bool:
    """Return whether coordinates are monotonic; other coordinates can't be used for an axis."""
    steps = np.diff(values)
    return bool(np.isfinite(values).all() and ((steps > 0).all() or (steps < 0).all()))


def _line(plot: Any, drawn: _Scale, along: _Scale, is_thinned: bool) -> None:
    values, x = drawn.values, along.values
    if is_thinned:
        # Draw a vertical stroke per column; a filled area would be invisible for nearly constant values.
        x, alone = np.repeat(x, 2), np.repeat(_alone(values[::2]), 2)
    else:
        alone = _alone(values)
    (line,) = plot.plot(x, values, linewidth=0.9)
    if alone.any():  # a line does not show single numbers between missing values
        plot.plot(x[alone], values[alone], ".", markersize=3, color=line.get_color())
    plot.set_xlabel(fill(along.label, _FLAT), parse_math=False)
    plot.set_ylabel(fill(drawn.label, _UPRIGHT), parse_math=False)
    for scale, axis in ((along, plot.xaxis), (drawn, plot.yaxis)):
        if scale.is_date:
            on_axis(axis)


def _alone(values: np.ndarray) -> np.ndarray:
    """Return which elements are finite without finite neighbours."""
    around = np.pad(np.isfinite(values), 1)
    return around[1:-1] & ~around[:-2] & ~around[2:]


def _least(rows: np.ndarray) -> np.ndarray:
    least = np.min(np.where(np.isnan(rows), np.inf, rows), axis=1)
    return np.where(np.isinf(least), np.nan, least)


def _most(rows: np.ndarray) -> np.ndarray:
    return -_least(-rows)


def _map(figure: Any, plot: Any, drawn: _Scale, scales: list[_Scale]) -> None:
    y, x = scales
    mesh = plot.pcolormesh(x.values, y.values, drawn.values, shading="nearest", rasterized=True)
    bar = figure.colorbar(mesh)
    bar.set_label(fill(drawn.label, _UPRIGHT), parse_math=False)
    plot.set_xlabel(fill(x.label, _FLAT), parse_math=False)
    plot.set_ylabel(fill(y.label, _UPRIGHT), parse_math=False)
    for scale, axis in ((x, plot.xaxis), (y, plot.yaxis), (drawn, bar.ax.yaxis)):
        if scale.is_date:
            on_axis(axis)
    if y.is_downward:
        plot.invert_yaxis()


# Convert times to matplotlib's dates: days since 1970 in the Gregorian calendar.

_SINCE = "days since 1970-01-01"
#: first and last date of matplotlib, and the date since which ``standard`` is the Gregorian calendar
_FIRST, _LAST, _GREGORIAN = (
    float(np.datetime64(day, "D").astype("i8")) for day in ("0001-01-01", "9999-12-31", "1582-10-15")
)
#: margin of an axis, relative to its range
_MARGIN = 0.06
#: shortest range in days (a hundredth of a second) that float days since 1970 can resolve
_LEAST = 0.01 / 86400


def as_dates(array: Array, raw: np.ndarray, values: np.ndarray) -> np.ndarray | None:
    """Return an array's elements as days since 1970: float64, NaN for missing values.

    Returns None if they are not times, or if matplotlib's dates can't represent them: other calendars, years
    out of range, very short ranges.

    Args:
        array: array with its units.
        raw: stored elements.
        values: the same elements as numbers in their units, NaN for missing values.
    """
    calendar = str(array.attrs.get("calendar") or "standard").lower()
    if raw.dtype.kind == "M":
        if np.datetime_data(raw.dtype)[0] in ("Y", "M"):
            raw = raw.astype("M8[D]")
        unit, count = np.datetime_data(raw.dtype)
        tick: Any = unit
        days = raw.astype("i8") * (np.timedelta64(count, tick) / np.timedelta64(1, "D"))
        days[np.isnat(raw)] = np.nan
        calendar = "proleptic_gregorian"
    elif is_time(array.attrs.get("units")):
        found = conversion(array.attrs["units"], _SINCE, calendar)
        if found is None:
            return None
        days = values * float(found.factor) + float(found.shift)
    else:
        return None
    known = days[np.isfinite(days)]
    if not known.size or calendar not in ("standard", "gregorian", "none", "proleptic_gregorian"):
        return None
    first, last = known.min(), known.max()
    margin = (last - first) * _MARGIN + 1
    earliest = _FIRST if calendar == "proleptic_gregorian" else _GREGORIAN
    fits = earliest < first - margin and last + margin < _LAST
    return days if fits and (last - first >= _LEAST or last == first) else None


def elapsed(raw: np.ndarray) -> tuple[np.ndarray, str]:
    """Convert datetime64 (relative to the first) or timedelta64 to float64, NaN for not-a-time, and units."""
    unit, count = np.datetime_data(raw.dtype)
    there = raw[~np.isnat(raw)]
    start = there.min() if raw.dtype.kind == "M" and there.size else None
    values = (raw if start is None else raw - start).astype("i8").astype("f8") * count
    values[np.isnat(raw)] = np.nan
    return values, unit if start is None else f"{unit} since {start}"


def on_axis(axis: Any) -> None:
    """Format days since 1970 as dates on a matplotlib axis."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator()
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))


# Read what a picture can show of a long line or a large map, in bounded memory.

#: bytes of a block that is read at once
_BLOCK = 16 << 20


def places(item: Any, length: int) -> range | np.ndarray:
    """Return the indexes that a slice or a list selects along an axis of ``length`` elements."""
    if isinstance(item, slice):
        return range(*item.indices(length))
    return np.arange(length)[np.asarray(item)]


def thinned(found: range | np.ndarray, step: int) -> Any:
    """Return an index for every ``step``-th of the indexes."""
    return _index(found[::step])


def rows(array: Array, sel: Sequence[Any], axis: int, step: int) -> Iterator[np.ndarray]:
    """Yield the elements along an axis in blocks of shape (pixels, ``step``); the last may be shorter.

    Args:
        array: the array.
        sel: an index for each axis; those of the other axes select one element.
        axis: the axis of the line.
        step: elements per pixel.
    """
    found = places(sel[axis], array.shape[axis])
    count = max(_BLOCK // (array.dtype.itemsize * step), 1) * step
    for start in range(0, len(found), count):
        part = (*sel[:axis], _index(found[start : start + count]), *sel[axis + 1 :])
        data = array.read(part).reshape(-1)
        whole = len(data) // step * step
        if whole:
            yield data[:whole].reshape(-1, step)
        if whole < len(data):
            yield data[None, whole:]


def _index(found: range | np.ndarray) -> Any:
    if not isinstance(found, range):
        return found
    if not len(found):
        return slice(0, 0)
    stop = found[-1] + (1 if found.step > 0 else -1)
    return slice(found[0], None if stop < 0 else stop, found.step)
