"""Cut exactly the part you need out of an archive of any size.

    import icecore

    repo = icecore.open("moon.icecore")
    a = repo["/wrf/t2m"]
    a[0:10, :, ::4]

Nothing heavy is imported here: xarray, h5py, zarr, matplotlib and the command line come in when
they are used.
"""

from __future__ import annotations

from importlib import import_module

from icecore.errors import Error

# As type checkers know it: to import typing would double the time until the command line minds Ctrl-C.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from icecore.analyzer.assay_result import Assay
    from icecore.ingest.assay import assay
    from icecore.ingest.link import link
    from icecore.ingest.pack import pack
    from icecore.repository.array import Array
    from icecore.repository.group import Group
    from icecore.repository.open import create, open
    from icecore.repository.read_plan import Plan
    from icecore.repository.repo import Repo
    from icecore.tables.query.table import Table
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
    "create",
    "gwpy",
    "link",
    "open",
    "pack",
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
    "create": "icecore.repository.open",
    "gwpy": "icecore.integrations.gwpy",
    "link": "icecore.ingest.link",
    "open": "icecore.repository.open",
    "pack": "icecore.ingest.pack",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name == "__version__":
        from icecore import _icecore

        return _icecore.__version__
    if name not in _HOMES:
        raise AttributeError(f"module 'icecore' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
