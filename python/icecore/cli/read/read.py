"""``icecore read``: print a selection or write it to a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from icecore import errors
from icecore.cli.console import (
    AllowLinks,
    BytesOption,
    Json,
    PathArgument,
    Progress,
    RepoArgument,
    RtolOption,
    SelArgument,
    StorageOption,
    emit,
    examples,
    open_repo,
    print_stderr,
    warn_packed,
)

if TYPE_CHECKING:
    import numpy as np

    from icecore.repository.array import Array


_MOST_JSON = 1_000_000
#: file formats whose attributes describe scale and offset
_WITH_ATTRIBUTES = (".nc", ".h5", ".hdf5")


def read(
    repo: RepoArgument,
    path: PathArgument,
    sel: SelArgument = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Output: .npy, .csv, .parquet, .nc, .h5 or .gwf; - for CSV to stdout. Rows of .csv and "
            ".parquet begin with the index along each dimension, of a channel with its time.",
        ),
    ] = None,
    gaps: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="With time=START..STOP, for missing samples: raise an error (default), pad (with the fill "
            "value, NaN of floats) or ignore (join the samples that exist).",
        ),
    ] = None,
    valid: Annotated[
        str | None,
        typer.Option(
            metavar="FLAGS",
            help="With time=START..STOP: treat samples as missing where these flags of a mask are not set: "
            "CBC_CAT1, DATA,CBC_CAT1 or /H1/DQMASK:DATA.",
        ),
    ] = None,
    rtol: RtolOption = None,
    leading_bytes: BytesOption = None,
    json: Json = False,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Read a selection.

    Prints the values and their range (without missing values), or writes them to a file. The numbers are as
    stored: scale_factor and add_offset are not applied.
    """
    array = open_repo(repo, storage, allow_links)._array(path)
    index, fetch = selected(array, sel, gaps, valid)
    precision: dict[str, Any] = {"rtol": rtol, "leading_bytes": leading_bytes}
    bound = array.bound(**precision)
    if output is None or (json and output == "-"):
        with Progress("read"):
            data = fetch(**precision)
        if json and data.size > _MOST_JSON:
            raise errors.make("memory", f"{data.size:,} elements are too many for JSON", "-o out.npy")
        emit(
            _facts(array, data, bound, True) if json else None,
            json,
            "" if json else _text(array, data),
            fold=False,
        )
        warn_packed(array.path, array)
        _say(bound)
        return
    from icecore.cli.console import reject_linked
    from icecore.display import text
    from icecore.export.save import save

    reject_linked(array.repo, output)
    with Progress("read"):
        data = save(array, index, output, partial(fetch, **precision))
    if json:
        emit({**_facts(array, data, bound, False), "file": output}, True, "")
    elif output != "-":
        print_stderr(f"{output}: {data.dtype} {data.shape}, {text.size(data.nbytes)}")
    if not output.lower().endswith(_WITH_ATTRIBUTES):
        warn_packed(array.path, array)
    _say(bound)


def _say(bound: float) -> None:
    """Print the error bound to stderr, because stdout may be data."""
    if bound:
        typer.echo(f"every number is within a relative error of {bound:.2g}", err=True)


def _facts(array: Array, data: np.ndarray, bound: float, values: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {"path": array.path, "dtype": str(data.dtype), "shape": data.shape}
    facts |= {name: _plain(value) for name, value in _range(array, data).items()}
    facts["rtol_bound"] = bound
    return {**facts, "data": _jsonable(data)} if values else facts


def _jsonable(data: np.ndarray) -> Any:
    """Convert to nested lists; complex numbers become pairs, NaN and infinities null."""
    import numpy as np

    from icecore.repository.json_attributes import text

    if data.dtype.kind == "c":
        data = np.stack([data.real, data.imag], -1)
    if data.dtype.kind == "f":
        values = data.astype("O")
        values[~np.isfinite(data)] = None
        return values.tolist()
    if data.dtype.kind == "S":
        texts = [text(item) for item in data.reshape(-1).tolist()]
        return np.array([*texts, None], "O")[:-1].reshape(data.shape).tolist()
    return data.astype("str").tolist() if data.dtype.kind in "mMU" else data.tolist()


def _text(array: Array, data: np.ndarray) -> str:
    import numpy as np

    from icecore.display import text

    head = f"{array.path}  {array._node.dtype_label}  {data.shape}  {text.size(data.nbytes)}"
    spread = "  ".join(f"{name} {_shown(name, value, array)}" for name, value in _range(array, data).items())
    with np.printoptions(threshold=200, edgeitems=3, linewidth=110):
        return "\n".join(line for line in (head, spread, str(data)) if line)


def _range(array: Array, data: np.ndarray) -> dict[str, Any]:
    """Return minimum, maximum and mean of the finite, not missing values, and the number of the others."""
    import numpy as np

    from icecore.repository.missing_values import missing

    if data.dtype.kind not in "iuf" or data.size == 0:
        return {}
    data = np.asarray(data)
    gone = missing(array, data)
    finite = data[np.isfinite(data) & ~gone]
    facts: dict[str, Any] = {}
    if finite.size:
        facts = {"min": finite.min(), "max": finite.max(), "mean": finite.mean(dtype="f8")}
    left_out = int(gone.sum())
    if finite.size + left_out != data.size or not finite.size:
        facts["finite"] = int(finite.size)
    return {**facts, "missing": left_out} if left_out else facts


def _shown(name: str, value: Any, array: Array) -> str:
    """Format a statistic with the precision of the dtype; the unit follows the last one."""
    from icecore.display import text

    if name in ("finite", "missing"):
        return f"{value:,}"
    if name != "mean":
        return str(value)
    shown = str(value.astype(array.dtype) if array.dtype.kind == "f" else value)
    units = array.attrs.get("units")
    if not isinstance(units, str) or {"scale_factor", "add_offset"} & array.attrs.keys():
        return shown
    return f"{shown} {text.shorten(units)}"


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            'icecore read icecore-demo/demo.icecore /grid/t2m "time=0:10, lat=3"',
            'icecore read icecore-demo/demo.icecore /photons/gt1l/height "::100" -o heights.npy',
            "icecore read icecore-demo/demo.icecore /frames/H1/DEMO-STRAIN time=1400000098..1400000104 "
            "--gaps pad --valid dataValid -o strain.npy",
        )
    )(read)


# A selection of the command line by time: ``time=START..STOP``, with its gaps and flags.


def selected(
    array: Array, sel: str | None, gaps: str | None = None, valid: str | None = None
) -> tuple[tuple[Any, ...], Callable[..., np.ndarray]]:
    """Parse a selection.

    Args:
        array: the array.
        sel: ``time=START..STOP`` (GPS seconds or UTC), or an index as ``0:10, :`` or ``lat=3``.
        gaps: ``raise``, ``pad`` or ``ignore``, as in :meth:`icecore.Array.between`; ``raise`` if omitted.
        valid: flags that have to be set, separated by commas.

    Returns:
        The index, and a function that reads it; its keywords are ``rtol`` and ``leading_bytes``.

    Raises:
        Error: ``invalid`` for ``gaps`` or ``valid`` without a time; errors of :meth:`icecore.Array.between`.
    """
    found = re.fullmatch(r"time\s*=\s*(\S+)", (sel or "").strip())
    start, dots, stop = found[1].partition("..") if found is not None else ("", "", "")
    if start and dots and stop:
        from icecore.timeseries.stretch import locate

        flags = valid.split(",") if valid else None
        stretch = locate(array, start, stop, gaps or "raise", flags)
        return (stretch.index(array),), partial(stretch.read, array)
    if gaps is not None or valid is not None:
        message = f"--gaps and --valid need a stretch of time (got {sel or 'no selection'})"
        raise errors.make("invalid", message, "time=START..STOP, in GPS seconds or UTC")
    from icecore.repository.selection import parse

    index = parse(sel, array.dims)
    return index, partial(array.read, index)
