"""Published benchmarks, reproduced by ``icecore bench NAME``: one module and one entry of `STUDIES` each."""

from __future__ import annotations

from icecore import errors
from icecore.studies.study import Study

#: name → module with the function ``run``
STUDIES = {name: f"icecore.studies.{name}" for name in ("hsds", "ligo", "pds", "pstore", "root")}


def study(name: str) -> Study:
    """Return the function that runs a study.

    Raises:
        Error: ``not-found``; the hint lists the names.
    """
    from importlib import import_module

    if name not in STUDIES:
        raise errors.make("not-found", f"unknown study {name!r}", "use one of: " + ", ".join(STUDIES))
    run: Study = import_module(STUDIES[name]).run
    return run
