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

    from icecore.analyzer.assay import assay
    from icecore.analyzer.outcome import Assay
    from icecore.array import Array
    from icecore.group import Group
    from icecore.linking import link
    from icecore.packing import pack
    from icecore.plan import Plan
    from icecore.repo import Repo, create, open
    from icecore.tables.table import Table
    from icecore.writer import Writer

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
    "link",
    "open",
    "pack",
]

_HOMES = {
    "Array": "icecore.array",
    "Assay": "icecore.analyzer.outcome",
    "Group": "icecore.group",
    "Plan": "icecore.plan",
    "Repo": "icecore.repo",
    "Table": "icecore.tables.table",
    "Writer": "icecore.writer",
    "assay": "icecore.analyzer.assay",
    "create": "icecore.repo",
    "link": "icecore.linking",
    "open": "icecore.repo",
    "pack": "icecore.packing",
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
