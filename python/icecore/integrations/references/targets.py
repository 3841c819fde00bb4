"""Formats of references, by the end of the output's name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from icecore import errors

if TYPE_CHECKING:
    from icecore.integrations.references.inventory import Exported
    from icecore.repository.repo import Repo

#: end of the name → module in this folder
TARGETS = {
    ".json": "kerchunk_json",
    ".parquet": "kerchunk_parquet",
    ".parq": "kerchunk_parquet",
    ".icechunk": "icechunk_repository",
    ".dmrpp": "dmrpp",
}


def writer(output: str) -> Callable[[Repo, str, str], Exported]:
    """Return the function that writes the references of a group to an output of this name.

    Raises:
        Error: ``invalid`` for another end of the name; ``unsupported`` if a package is missing.
    """
    suffix = next((end for end in TARGETS if output.rstrip("/").lower().endswith(end)), None)
    if suffix is None:
        known = ", ".join(f"*{end}" for end in TARGETS)
        raise errors.make("invalid", f"export writes {known} (got {output or 'no -o'})", "-o refs.json")
    try:
        made: Callable[[Repo, str, str], Exported] = import_module(f"{__package__}.{TARGETS[suffix]}").write
    except ModuleNotFoundError as error:
        raise errors.needs("zarr", f"export needs {error.name}") from None
    return made
