"""What methods of `Repo` call in rooms above this one, by name: an import here would run upward.

`Repo` is what users hold, so it offers writing, tables and other libraries' views. Each lives in its own room
and builds on this one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: method of `Repo` → module and name of what does the work
PROVIDERS = {
    "store": ("icecore.integrations.zarr_store", "store"),
    "table": ("icecore.tables.query.table", "Table"),
    "writer": ("icecore.writing.writer", "Writer"),
}


def provider(method: str) -> Any:
    """Import and return what does the work of a method of `Repo`."""
    module, name = PROVIDERS[method]
    return getattr(import_module(module), name)
