"""The studies that icecore started from, measured again: ``icecore bench NAME``. A file and a row each."""

from __future__ import annotations

from icecore import errors
from icecore.studies.study import Study

#: name → module with ``run``
STUDIES = {"pds": "icecore.studies.pds", "pstore": "icecore.studies.pstore"}


def study(name: str) -> Study:
    """The function that runs a study.

    Raises:
        Error: ``not-found`` with the names there are.
    """
    from importlib import import_module

    if name not in STUDIES:
        raise errors.make("not-found", f"there is no study {name!r}", "one of: " + ", ".join(STUDIES))
    run: Study = import_module(STUDIES[name]).run
    return run
