"""Read only the bytes you need from HDF5, NetCDF, Zarr, ROOT, PDS and gravitational-wave frame files.

    import icecore

    repo = icecore.open("moon.icecore")
    a = repo["/wrf/t2m"]
    a[0:10, :, ::4]

`import icecore` is fast: xarray, h5py, zarr, matplotlib and the command line are imported on first use.
"""

from __future__ import annotations

from importlib import import_module

from icecore.errors import Error

# Type checkers treat this name as true. Importing typing would double the start-up time of the command line.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from icecore.analyzer.assay_result import Assay
    from icecore.frames.reframe import reframe
    from icecore.ingest.assay import assay
    from icecore.ingest.link import link
    from icecore.ingest.pack import pack
    from icecore.ingest.relink import relink
    from icecore.products.run import run
    from icecore.repository.array import Array
    from icecore.repository.group import Group
    from icecore.repository.history.copies import clone, pull, repair
    from icecore.repository.open import create, open
    from icecore.repository.read_plan import Plan
    from icecore.repository.repo import Repo
    from icecore.sources.catalogs import find
    from icecore.tables.query.table import Table
    from icecore.tables.query.union import union
    from icecore.writing.writer import Writer

__all__ = [
    "Array",
    "Assay",
    "Error",
    "Group",
    "Plan",
    "Repo",
    "Table",
    "Writer",
    "assay",
    "clone",
    "create",
    "find",
    "gwpy",
    "link",
    "open",
    "pack",
    "pull",
    "reframe",
    "relink",
    "repair",
    "run",
    "union",
]

_HOMES = {
    "Array": "icecore.repository.array",
    "Assay": "icecore.analyzer.assay_result",
    "Group": "icecore.repository.group",
    "Plan": "icecore.repository.read_plan",
    "Repo": "icecore.repository.repo",
    "Table": "icecore.tables.query.table",
    "Writer": "icecore.writing.writer",
    "assay": "icecore.ingest.assay",
    "clone": "icecore.repository.history.copies",
    "create": "icecore.repository.open",
    "find": "icecore.sources.catalogs",
    "gwpy": "icecore.integrations.gwpy",
    "link": "icecore.ingest.link",
    "open": "icecore.repository.open",
    "pack": "icecore.ingest.pack",
    "pull": "icecore.repository.history.copies",
    "reframe": "icecore.frames.reframe",
    "relink": "icecore.ingest.relink",
    "repair": "icecore.repository.history.copies",
    "run": "icecore.products.run",
    "union": "icecore.tables.query.union",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name == "__version__":
        from icecore import _icecore

        return _icecore.__version__
    if name not in _HOMES:
        raise AttributeError(f"module 'icecore' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
