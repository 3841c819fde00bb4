"""What methods of `Repo`, `Group` and `Array` call in rooms above this one, by name: an import here would
run upward.

These are what users hold, so they offer writing, tables and other libraries' views. Each lives in its own
room and builds on this one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from icecore import errors

#: method → module and name of what does the work
PROVIDERS = {
    "store": ("icecore.integrations.zarr_store", "store"),
    "table": ("icecore.tables.query.table", "Table"),
    "to_dask": ("icecore.integrations.dask", "to_dask"),
    "to_xarray": ("icecore.integrations.xarray", "to_xarray"),
    "writable_store": ("icecore.integrations.writable_store", "WritableStore"),
    "writer": ("icecore.writing.writer", "Writer"),
}


def provider(method: str) -> Any:
    """Import and return what does the work of a method.

    Raises:
        Error: ``unsupported`` if a package of an extra is missing.
    """
    module, name = PROVIDERS[method]
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "icecore"):
            raise
        raise errors.make(
            "unsupported", f"{method} needs {missing}", f"pip install 'icecore[{missing}]'"
        ) from None
