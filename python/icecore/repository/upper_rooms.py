"""Late imports for methods of `Repo`, `Group` and `Array` that other packages implement.

Writing, tables and the views for other libraries build on this package, so it must not import them: they are
imported by name on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from icecore import errors

#: method → (module, function or class) that implements it
PROVIDERS = {
    "batches": ("icecore.integrations.batches", "Batches"),
    "between": ("icecore.timeseries.stretch", "between"),
    "compact": ("icecore.writing.compaction", "compact"),
    "merge_parts": ("icecore.writing.parts", "merge"),
    "parts": ("icecore.writing.parts", "parts_of"),
    "renew_trends": ("icecore.ingest.write.write_trends", "renew"),
    "segments": ("icecore.timeseries.stretch", "segments"),
    "store": ("icecore.integrations.zarr_store", "store"),
    "table": ("icecore.tables.query.table", "Table"),
    "to_dask": ("icecore.integrations.dask", "to_dask"),
    "table_to_dask": ("icecore.integrations.dask", "table_to_dask"),
    "table_to_dask_awkward": ("icecore.integrations.dask_awkward", "table_to_dask_awkward"),
    "table_to_nanoevents": ("icecore.integrations.nanoevents", "nanoevents"),
    "to_xarray": ("icecore.integrations.xarray", "to_xarray"),
    "trend": ("icecore.timeseries.trend", "trend"),
    "view": ("icecore.service.view_in_notebook", "view"),
    "writable_store": ("icecore.integrations.writable_store", "WritableStore"),
    "writer": ("icecore.writing.writer", "Writer"),
}


def provider(method: str) -> Any:
    """Import and return the implementation of a method.

    Raises:
        Error: ``unsupported`` if a package of an extra is not installed.
    """
    module, name = PROVIDERS[method]
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "icecore"):
            raise
        raise errors.needs(errors.extra_of(missing), f"{method} needs {missing}") from None
