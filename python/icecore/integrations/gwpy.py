"""gwpy's registry: the format ``icecore`` of its series, dictionaries and state vectors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial, wraps
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.integrations.gwpy_series import gwpy as gwpy
from icecore.repository.array import Array

if TYPE_CHECKING:
    from icecore.repository.repo import Repo


def read_time_series(
    source: Repo | PathLike[str], path: str, start: Any = None, end: Any = None, **options: Any
) -> Any:
    """What ``TimeSeries.read(source, CHANNEL, start, end, format="icecore")`` calls.

    Args:
        source: a repository, or its location.
        path: a channel (``H1:GDS-CALIB_STRAIN``), or the path of an array.
        start: as in :func:`gwpy`.
        end: as in :func:`gwpy`.
        **options: those of :func:`gwpy`.
    """
    options.pop("cache", None)
    array = _opened(source)[path]
    if not isinstance(array, Array):
        raise errors.make("invalid", f"{path} is a group", "name one of its arrays")
    return gwpy(array, start, end, **options)


def register() -> None:
    """Add the format ``icecore`` to gwpy's registry: ``read`` and ``write`` of its series and dictionaries.

    Raises:
        Error: ``unsupported`` without gwpy.
    """
    try:
        from gwpy.io.registry import default_registry as registry
        from gwpy.timeseries import StateVector, StateVectorDict, TimeSeries, TimeSeriesDict
    except ModuleNotFoundError:
        raise errors.needs("gw", "gwpy is not installed") from None
    readers = {
        TimeSeries: read_time_series,
        StateVector: _read_state_vector,
        TimeSeriesDict: _read_dict,
        StateVectorDict: partial(_read_dict, state=True),
    }
    _let_repositories_pass()
    for kind, reader in readers.items():
        registry.register_reader("icecore", kind, reader, force=True)
        registry.register_writer("icecore", kind, _write, force=True)
        registry.register_identifier("icecore", kind, _is_ours, force=True)


def _let_repositories_pass() -> None:
    """Make gwpy pass locations of repositories to the reader; it opens every name as a file."""
    from gwpy.io import registry

    opened = getattr(registry, "open_remote_file", None)
    if opened is None or hasattr(opened, "__wrapped__"):
        return

    @wraps(opened)
    def unless_repository(name: Any, *arguments: Any, **options: Any) -> Any:
        from icecore.ingest.plan.repository_source import is_repository

        is_local = "://" not in str(name) and is_repository(str(name))
        return nullcontext(name) if is_local else opened(name, *arguments, **options)

    registry.open_remote_file = unless_repository


def _opened(source: Repo | PathLike[str]) -> Repo:
    from icecore.repository.open import open
    from icecore.repository.repo import Repo

    return source if isinstance(source, Repo) else open(fspath(source))


def _read_state_vector(source: Any, path: str, start: Any = None, end: Any = None, **options: Any) -> Any:
    from icecore.integrations.gw_objects import state_vector

    options.pop("cache", None)
    return state_vector(_opened(source)._array(_opened(source)[path].path), start, end, **options)


def _read_dict(
    source: Any, channels: Sequence[str], start: Any = None, end: Any = None, **options: Any
) -> Any:
    from icecore.integrations.gw_objects import series_dict

    options.pop("cache", None)
    return series_dict(_opened(source), [str(name) for name in channels], start, end, **options)


def _write(series: Any, target: Any, path: str | None = None, **_options: Any) -> None:
    from icecore.integrations.gw_objects import write_series

    write_series(series, target, path)


def _is_ours(_origin: str, path: Any, file: Any, *arguments: Any, **_options: Any) -> bool:
    """Whether what is read or written is a repository: the object, or a name that ends in ``.icecore``."""
    from icecore.repository.repo import Repo

    known = [path, file, *arguments[:1]]
    return any(isinstance(each, Repo) or str(each).rstrip("/").endswith(".icecore") for each in known)
