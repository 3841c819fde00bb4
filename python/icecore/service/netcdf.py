"""A selection of a group as a netCDF-4 file over HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.display import text as text_of
from icecore.export.group_plan import Select, Storage, variables
from icecore.export.save_group import save_group
from icecore.repository.array import Array
from icecore.repository.cf_coordinates import companions
from icecore.repository.group import Group
from icecore.service.tables import repository

if TYPE_CHECKING:
    from icecore.service.delegate import Reply

#: size of a block in bytes
_BLOCK = 1 << 20
#: largest selection in bytes: its file is made on the disk of the service, which keeps files of this size
MOST = 256 << 20
_TYPE = "application/x-netcdf"
#: parameters of a URL that are not dimensions
_OWN = ("var", "bbox")
#: units of longitudes and latitudes, as CF spells them
_DEGREES = {
    "lon": {"degrees_east", "degree_east", "degree_e", "degrees_e", "degreee", "degreese"},
    "lat": {"degrees_north", "degree_north", "degree_n", "degrees_n", "degreen", "degreesn"},
}

#: returns the selection of an array from a group and the text of a selection
Selector = Callable[[Group, "str | None"], Select]


def netcdf(request: Mapping[str, Any], selector: Selector) -> Reply:
    """Answer ``/nc/REPO/GROUP.nc?var=t2m,u10&time=2020-01-01..2020-01-31&bbox=west,south,east,north``.

    Args:
        request: the request of the native server.
        selector: parses a selection as the command line does.

    Parameters: ``var`` names variables (their coordinates come with them); ``bbox`` cuts along longitude and
    latitude; every other one is a dimension with its part, as on the command line.

    Raises:
        Error: ``invalid`` for a wrong parameter, ``not-found`` for an unknown variable, and those of a
            selection; ``memory`` for a selection of more than :data:`MOST` bytes.
    """
    (node,) = request["located"]
    group = repository(node)[node["path"]]
    assert isinstance(group, Group)
    given = dict(request["params"])
    arrays = [Array(group.repo, each) for each in group.repo._below(group.path) if each.is_array]
    parts = _parts(arrays, given)
    if "bbox" in given:
        parts |= _box(arrays, given["bbox"])
    text = ", ".join(f"{name}={value}" for name, value in parts.items())
    select = selector(group, text or None)
    chosen = _only(group, arrays, given.get("var"), select)
    if (size := sum(each.nbytes for each in variables(group, chosen, Storage()))) > MOST:
        message = f"{group.path}: a selection of {text_of.size(size)}; files of {text_of.size(MOST)} are made"
        hint = "select less, or read it as it streams: nccopy http://HOST/dap/REPO"
        raise errors.make("memory", message, hint)
    return _TYPE, _blocks(group, chosen)


def _parts(arrays: list[Array], given: Mapping[str, str]) -> dict[str, str]:
    """Return dimension → its part. Names of parameters arrive in lower case."""
    dims = {name.lower(): name for array in arrays for name in array.dims if name}
    parts = {}
    for name, value in given.items():
        if name in _OWN:
            continue
        if "," in value.partition("[")[0] or "=" in value:
            raise errors.make("invalid", f"{name}={value}: one part for a dimension", "time=0:10&lat=45.0")
        parts[dims.get(name, name)] = value
    return parts


def _box(arrays: list[Array], text: str) -> dict[str, str]:
    """Return the parts along longitude and latitude of ``west,south,east,north`` in degrees."""
    hint = "bbox=west,south,east,north, in degrees"
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        raise errors.make("invalid", f"bbox={text} is not four numbers", hint) from None
    if not (west <= east and south <= north):
        raise errors.make("invalid", f"bbox={text}: west ≤ east and south ≤ north are needed", hint)
    lon, lat = (_coordinate(arrays, kind) for kind in ("lon", "lat"))
    values = lon.read()
    if west < 0 and len(values) and values.min() >= 0:
        # Longitudes from 0 to 360: the box is moved by a turn.
        if east >= 0:
            message = f"bbox={text} crosses the first meridian of {lon.path}, which counts from 0 to 360"
            raise errors.make("selection", message, "ask for the two sides separately")
        west, east = west + 360, east + 360
    return {lon.dims[0]: f"{west!r}..{east!r}", lat.dims[0]: f"{south!r}..{north!r}"}  # type: ignore[dict-item]


def _coordinate(arrays: list[Array], kind: str) -> Array:
    for array in arrays:
        units = str(array.attrs.get("units", "")).lower()
        if array.ndim == 1 and array.dims[0] == array.path.rpartition("/")[2] and units in _DEGREES[kind]:
            return array
    name = {"lon": "longitude", "lat": "latitude"}[kind]
    message = f"bbox: the group has no 1-D coordinate of {name}"
    raise errors.make("selection", message, f"its units are {min(_DEGREES[kind])}s; select by dimensions")


def _only(group: Group, arrays: list[Array], names: str | None, select: Select) -> Select:
    """Return the selection of some variables and their coordinates; of all without names."""
    if names is None:
        return select
    prefix = group.path.rstrip("/")
    known = {array.path.removeprefix(prefix).lstrip("/"): array for array in arrays}
    wanted: dict[str, tuple[Any, ...]] = {}
    for name in filter(None, (part.strip().lstrip("/") for part in names.split(","))):
        if name not in known:
            shown = ", ".join(sorted(known)[:20])
            raise errors.make("not-found", f"{group.path} has no variable {name}", f"it has {shown}")
        array = known[name]
        index = select(array)
        assert index is not None
        wanted[array.path] = index
        for each, part in companions(array, index):
            wanted.setdefault(each.path, part)
    return lambda array: wanted.get(array.path)


def _blocks(group: Group, select: Select) -> Iterator[bytes]:
    with tempfile.TemporaryDirectory(prefix="icecore-nc-") as folder:
        path = Path(folder) / "selection.nc"
        save_group(group, select, str(path), Storage(), 3, lambda *_: None)
        file = path.open("rb")
    with file:
        while block := file.read(_BLOCK):
            yield block
