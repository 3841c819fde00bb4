"""``icecore read``: print a selection or write it to a file."""

from __future__ import annotations

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
    open_repo,
    print_stderr,
    warn_packed,
)
from icecore.cli.read.selection import selected

if TYPE_CHECKING:
    import numpy as np

    from icecore.repository.array import Array


_MOST_JSON = 1_000_000
#: file formats whose attributes describe scale and offset
_WITH_ATTRIBUTES = (".nc", ".h5", ".hdf5")

EXAMPLES = (
    'icecore read icecore-demo/demo.icecore /grid/t2m "time=0:10, lat=3"',
    'icecore read icecore-demo/demo.icecore /photons/gt1l/height "::100" -o heights.npy',
    "icecore read icecore-demo/demo.icecore /frames/H1/DEMO-STRAIN time=1400000098..1400000104 "
    "--gaps pad --valid dataValid -o strain.npy",
)


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
            ".parquet begin with the index along each dimension, of a channel with its time. Of a group: "
            ".nc, .h5 or .zarr; of a table also .parquet, .csv, .arrow or .json.",
        ),
    ] = None,
    decoded: Annotated[
        bool,
        typer.Option("--decoded", help="Apply scale and offset; missing values become NaN, times dates."),
    ] = False,
    chunk: Annotated[
        str | None,
        typer.Option(metavar="DIM=N,…", help="Lengths of chunks in .nc, .h5 and .zarr; default: as stored."),
    ] = None,
    compress: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:LEVEL",
            help="Compression of a group in .nc, .h5 and .zarr: none, gzip:1 (default), zstd:3, lzf, blosc.",
        ),
    ] = None,
    zarr_format: Annotated[int, typer.Option(min=2, max=3, help="Version of the Zarr format.")] = 3,
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
    stored, without scale_factor and add_offset, unless --decoded is given. The PATH of a group needs -o: it
    is written with all groups below it, in blocks.
    """
    opened = open_repo(repo, storage, allow_links)
    item = opened[path]
    if not item._node.is_array:
        for name, value in (("gaps", gaps), ("valid", valid), ("rtol", rtol), ("bytes", leading_bytes)):
            if value is not None:
                raise errors.make(
                    "invalid", f"--{name} needs an array; {item.path} is a group", "leave it out"
                )
        _read_group(item, sel, output, (chunk, compress, decoded), zarr_format, json)
        return
    array = opened._array(path)
    index, fetch = selected(array, sel, gaps, valid)
    precision: dict[str, Any] = {"rtol": rtol, "leading_bytes": leading_bytes}
    bound = array.bound(**precision)
    if decoded:
        fetch = _decoding(array, fetch, output)
    if output is None or (json and output == "-"):
        with Progress("read"):
            data = fetch(**precision)
        if json and data.size > _MOST_JSON:
            raise errors.make("memory", f"{data.size:,} elements are too many for JSON", "-o out.npy")
        emit(
            _facts(array, data, bound, True, decoded) if json else None,
            json,
            "" if json else _text(array, data, decoded),
            fold=False,
        )
        if not decoded:
            warn_packed(array.path, array)
        _say(bound)
        return
    from icecore.cli.console import reject_linked
    from icecore.display import text
    from icecore.export.save import save

    reject_linked(array.repo, output)
    with Progress("read"):
        data = save(array, index, output, partial(fetch, **precision), is_decoded=decoded)
    if json:
        emit({**_facts(array, data, bound, False, decoded), "file": output}, True, "")
    elif output != "-":
        print_stderr(f"{output}: {data.dtype} {data.shape}, {text.size(data.nbytes)}")
    if not decoded and not output.lower().endswith(_WITH_ATTRIBUTES):
        warn_packed(array.path, array)
    _say(bound)


def _read_group(
    group: Any, sel: str | None, output: str | None, storage: tuple[Any, ...], version: int, json: bool
) -> None:
    from icecore.cli.read.read_group import read_group, report, storage_of

    facts, left_out = read_group(group, sel, output, storage_of(*storage), version)
    if json:
        emit({**facts, "file": output}, True, "")
    if output != "-":
        report(str(output), facts, left_out)
    if left_out:
        raise typer.Exit(1)


def _say(bound: float) -> None:
    """Print the error bound to stderr, because stdout may be data."""
    if bound:
        typer.echo(f"every number is within a relative error of {bound:.2g}", err=True)


def _decoding(
    array: Array, fetch: Callable[..., np.ndarray], output: str | None
) -> Callable[..., np.ndarray]:
    """Return a function that reads physical values; times stay coded in files that state their units."""
    from icecore.export.decoded import decoded
    from icecore.sources.mapping.time_units import is_time

    if output is not None and output.lower().endswith(_WITH_ATTRIBUTES) and is_time(array.attrs.get("units")):
        return fetch
    return lambda **precision: decoded(array, fetch(**precision))


def _facts(
    array: Array, data: np.ndarray, bound: float, values: bool, is_decoded: bool = False
) -> dict[str, Any]:
    facts: dict[str, Any] = {"path": array.path, "dtype": str(data.dtype), "shape": data.shape}
    facts |= {name: _plain(value) for name, value in _range(array, data, is_decoded).items()}
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


def _text(array: Array, data: np.ndarray, is_decoded: bool = False) -> str:
    import numpy as np

    from icecore.display import text

    label = str(data.dtype) if is_decoded else array._node.dtype_label
    head = f"{array.path}  {label}  {data.shape}  {text.size(data.nbytes)}"
    found = _range(array, data, is_decoded).items()
    spread = "  ".join(f"{name} {_shown(name, value, array, is_decoded)}" for name, value in found)
    with np.printoptions(threshold=200, edgeitems=3, linewidth=110):
        return "\n".join(line for line in (head, spread, str(data)) if line)


def _range(array: Array, data: np.ndarray, is_decoded: bool = False) -> dict[str, Any]:
    """Return minimum, maximum and mean of the finite, not missing values, and the number of the others."""
    import numpy as np

    from icecore.repository.missing_values import missing

    if data.dtype.kind not in "iuf" or data.size == 0:
        return {}
    data = np.asarray(data)
    gone = np.isnan(data) if is_decoded and data.dtype.kind == "f" else missing(array, data)
    finite = data[np.isfinite(data) & ~gone]
    facts: dict[str, Any] = {}
    if finite.size:
        facts = {"min": finite.min(), "max": finite.max(), "mean": finite.mean(dtype="f8")}
    left_out = int(gone.sum())
    if finite.size + left_out != data.size or not finite.size:
        facts["finite"] = int(finite.size)
    return {**facts, "missing": left_out} if left_out else facts


def _shown(name: str, value: Any, array: Array, is_decoded: bool = False) -> str:
    """Format a statistic with the precision of the dtype; the unit follows the last one."""
    from icecore.display import text

    if name in ("finite", "missing"):
        return f"{value:,}"
    if name != "mean":
        return str(value)
    shown = str(value.astype(array.dtype) if array.dtype.kind == "f" else value)
    units = array.attrs.get("units")
    is_packed = not is_decoded and {"scale_factor", "add_offset"} & array.attrs.keys()
    if not isinstance(units, str) or is_packed:
        return shown
    return f"{shown} {text.shorten(units)}"


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
