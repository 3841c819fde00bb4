"""``icecore read``: a selection, to the terminal or to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from icecore import errors
from icecore.cli.console import (
    AllowLinks,
    BytesOption,
    Json,
    PathArgument,
    RepoArgument,
    RtolOption,
    SelArgument,
    StorageOption,
    emit,
    examples,
    open_repo,
    talk,
)

if TYPE_CHECKING:
    import numpy as np

    from icecore.array import Array

_MOST_JSON = 1_000_000


def read(
    repo: RepoArgument,
    path: PathArgument,
    sel: SelArgument = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write .npy, .csv, .parquet, .nc or .h5."),
    ] = None,
    rtol: RtolOption = None,
    bytes: BytesOption = None,
    json: Json = False,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Read a selection.

    Prints it, with its range, or writes it to a file.
    """
    from icecore import text
    from icecore.selection import parse

    array = open_repo(repo, storage, allow_links)._array(path)
    index = parse(sel, array.dims)
    precision: dict[str, Any] = {"rtol": rtol, "bytes": bytes}
    bound = array.bound(**precision)
    if output is None:
        data = array.read(index, **precision)
        if json and data.size > _MOST_JSON:
            raise errors.make("memory", f"{data.size:,} elements are too many for JSON", "-o out.npy")
        emit(
            _facts(array, data, bound, True) if json else None,
            json,
            "" if json else _text(array, data),
            fold=False,
        )
        _say(bound)
        return
    from icecore.export import save

    data = save(array, index, output, **precision)
    if json:
        emit({**_facts(array, data, bound, False), "file": output}, True, "")
    else:
        talk(f"{output}: {data.dtype} {data.shape}, {text.size(data.nbytes)}")
    _say(bound)


def _say(bound: float) -> None:
    """On stderr: the data may go to a file or a pipe."""
    if bound:
        typer.echo(f"every number is within a relative error of {bound:.2g}", err=True)


def _facts(array: Array, data: np.ndarray, bound: float, values: bool) -> dict[str, Any]:
    facts = {"path": array.path, "dtype": str(data.dtype), "shape": data.shape, **_range(data)}
    facts["rtol_bound"] = bound
    return {**facts, "data": _jsonable(data)} if values else facts


def _jsonable(data: np.ndarray) -> Any:
    """Nested lists; complex numbers as pairs, NaN and infinities as null, which JSON lacks."""
    import numpy as np

    from icecore.sources.attributes import text

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

    from icecore import text

    head = f"{array.path}  {array._node.dtype_label}  {data.shape}  {text.size(data.nbytes)}"
    spread = "  ".join(f"{name} {value}" for name, value in _range(data).items())
    with np.printoptions(threshold=200, edgeitems=3, linewidth=110):
        return "\n".join(line for line in (head, spread, str(data)) if line)


def _range(data: np.ndarray) -> dict[str, Any]:
    """Minimum, maximum and mean of the finite values of a numeric array."""
    import numpy as np

    if data.dtype.kind not in "iuf" or data.size == 0:
        return {}
    finite = data[np.isfinite(data)] if data.dtype.kind == "f" else data
    if finite.size == 0:
        return {"finite": 0}
    low, high, mean = finite.min().item(), finite.max().item(), float(finite.mean(dtype="f8"))
    facts: dict[str, Any] = {"min": low, "max": high, "mean": mean}
    return facts if finite.size == data.size else {**facts, "finite": int(finite.size)}


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            'icecore read icecore-demo/demo.icecore /grid/t2m "time=0:10, lat=3"',
            'icecore read icecore-demo/demo.icecore /photons/gt1l/height "::100" -o heights.npy',
        )
    )(read)
