"""Draw a selection as PNG: a line for one axis, a map for two, with coordinates, dates and units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from shlex import quote
from textwrap import fill
from typing import Any

import numpy as np

from icecore import errors
from icecore.display import text
from icecore.export.matplotlib_dates import as_dates, elapsed, on_axis
from icecore.filesystem.atomic_output import landing
from icecore.repository.array import Array
from icecore.repository.cf_coordinates import along
from icecore.repository.missing_values import missing
from icecore.repository.selection import is_int, kept_axes, per_axis
from icecore.repository.typed_attributes import typed

#: largest number of points on a line; beyond it each pixel column gets its minimum and maximum
_POINTS = 4000
_PIXELS = 2000
#: largest magnitude that can be drawn: differences of larger numbers overflow
_MOST_DRAWN = 1e300
#: signed dtype → unsigned dtype, for the attribute ``_Unsigned`` (netCDF-3 has only signed integers)
_UNSIGNED = {("i", "true"): "u", ("u", "false"): "i"}
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
            two axes remain; ``invalid`` for invalid attributes of the array; ``io`` if the file can't be
            written.
    """
    if not path.lower().endswith(".png"):
        raise errors.make("unsupported", f"can't draw to {path}", "use a name that ends in .png")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise errors.make("unsupported", "pictures need matplotlib", "pip install 'icecore[plot]'") from None
    _check_dtype(array)
    raw = array.read(sel)
    axes = [axis for axis, n in zip(kept_axes(sel, array.ndim, raw.ndim), raw.shape, strict=True) if n != 1]
    drawn = _drawable(array, raw)
    values = drawn.values
    figure = Figure(figsize=(9, 5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    plot = figure.add_subplot()
    scales = [_axis(array, axis, sel, n) for axis, n in zip(axes, values.shape, strict=True)]
    if values.ndim == 1:
        _line(plot, drawn, scales[0])
    else:
        _map(figure, plot, drawn, scales)
    plot.set_title(fill(_shown(_title(array, sel)), _FLAT), parse_math=False)
    with landing(path) as part:
        figure.savefig(part)
    return {"kind": "line" if values.ndim == 1 else "map", "file": path, "elements": int(values.size)}


def _check_dtype(array: Array) -> None:
    if array.dtype.kind in "biufmM":
        return
    kind = "strings or bytes" if array.dtype.kind in "OSTUV" else array.dtype
    kind = "records" if array.dtype.names else kind
    message = f"{array.path} holds {kind}: only real numbers and times can be drawn"
    raise errors.make("dtype", message, f"`icecore read` prints it: icecore read REPO {quote(array.path)}")


def _drawable(array: Array, raw: np.ndarray) -> _Scale:
    """Convert the elements to numbers along one or two axes, and reject numbers too large for matplotlib."""
    if raw.size < 2:
        message = f"{array.path}: {text.plural(raw.size, 'element')} of shape {raw.shape} can't be drawn"
        raise errors.make("selection", message, "select two elements or more; `icecore read` prints one")
    drawn = _measured(array, raw.squeeze())
    values = drawn.values
    if values.ndim not in (1, 2):
        left = f"{values.ndim} axes of lengths {values.shape}"
        raise errors.make(
            "selection",
            f"{array.path}: the selection has {left}; a picture needs one or two",
            'select single elements of the others: "time=0"',
        )
    if _is_huge(values):
        finite = values[np.isfinite(values)]
        message = f"{array.path}: {finite.min():.4g} to {finite.max():.4g} is too large for an axis"
        raise errors.make("unsupported", message, "select smaller numbers; `icecore read` prints them")
    return drawn


def physical(array: Array, raw: np.ndarray) -> np.ndarray:
    """Apply the CF conventions: missing values become NaN; scale and offset.

    Raises:
        Error: ``invalid`` if these attributes are not numbers.
    """
    attrs = typed(array._node)
    kind = _UNSIGNED.get((array.dtype.kind, str(attrs.get("_Unsigned")).lower()))
    values = (raw.view(f"{kind}{array.dtype.itemsize}") if kind else raw).astype("f8")
    values[missing(array, raw)] = np.nan
    with np.errstate(over="ignore"):
        return values * _number(array, attrs, "scale_factor", 1) + _number(array, attrs, "add_offset", 0)


def _number(array: Array, attrs: dict[str, Any], name: str, otherwise: float) -> float:
    try:
        return float(np.asarray(attrs.get(name, otherwise)).item())
    except (TypeError, ValueError):
        message = f"{array.path}: the attribute {name} must be a number (got {attrs[name]!r})"
        raise errors.make("invalid", message, "`icecore read` prints the stored numbers") from None


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
    label, units = _shown(_name(array)), array.attrs.get("units")
    if array.dtype.kind in "mM":
        values, units = elapsed(raw)
    else:
        values = physical(array, raw)
    dates = as_dates(array, raw, values)
    if dates is not None:
        return _Scale(dates, label, is_date=True)
    return _Scale(values, f"{label} [{_shown(str(units))}]" if units else label)


def _axis(array: Array, axis: int | None, sel: tuple[Any, ...], length: int) -> _Scale:
    """Return the coordinates along an axis of the picture."""
    if axis is None:
        return _Scale(np.arange(length), "index")
    dim = array.dims[axis]
    index = per_axis(sel, array.ndim)[axis]
    found = along(array, axis)
    if found is not None and found.dtype.kind in "iufmM" and found.path != array.path:
        scale = _measured(found, found.read(index))
        if _ordered(scale.values) and not _is_huge(scale.values):
            return replace(scale, is_downward=found.attrs.get("positive") == "down")
    values = np.arange(array.shape[axis])[index]
    return _Scale(values if _ordered(values) else np.arange(length), _shown(dim or f"axis {axis}"))


def _ordered(values: np.ndarray) -> bool:
    """Return whether coordinates are monotonic; other coordinates can't be used for an axis."""
    steps = np.diff(values)
    return bool(np.isfinite(values).all() and ((steps > 0).all() or (steps < 0).all()))


def _line(plot: Any, drawn: _Scale, along: _Scale) -> None:
    values, x = drawn.values, along.values
    if len(values) > _POINTS:
        step = -(-len(values) // (_POINTS // 2))
        rest = -len(values) % step
        rows = np.concatenate([values, np.full(rest, np.nan)]).reshape(-1, step)
        # Draw a vertical stroke per column; a filled area would be invisible for nearly constant values.
        ends = np.stack([_least(rows), _most(rows)], axis=1).reshape(-1)
        x, values, alone = np.repeat(x[::step], 2), ends, np.repeat(_alone(ends[::2]), 2)
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
    (y, x), values = scales, drawn.values
    step_y, step_x = (max(n // _PIXELS, 1) for n in values.shape)
    mesh = plot.pcolormesh(
        x.values[::step_x], y.values[::step_y], values[::step_y, ::step_x], shading="nearest", rasterized=True
    )
    bar = figure.colorbar(mesh)
    bar.set_label(fill(drawn.label, _UPRIGHT), parse_math=False)
    plot.set_xlabel(fill(x.label, _FLAT), parse_math=False)
    plot.set_ylabel(fill(y.label, _UPRIGHT), parse_math=False)
    for scale, axis in ((x, plot.xaxis), (y, plot.yaxis), (drawn, bar.ax.yaxis)):
        if scale.is_date:
            on_axis(axis)
    if y.is_downward:
        plot.invert_yaxis()
