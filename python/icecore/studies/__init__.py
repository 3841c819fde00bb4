"""Published benchmarks, reproduced by ``icecore bench NAME``: one module and one entry of `STUDIES` each."""

from __future__ import annotations

from icecore import errors
from icecore.studies.study import Study

#: name → module with the function ``run``
STUDIES = {"pds": "icecore.studies.pds", "pstore": "icecore.studies.pstore", "root": "icecore.studies.root"}
#: studies with a quick form
QUICK = ("root",)


def study(name: str, quick: bool = False) -> Study:
    """Return the function that runs a study, ``quick`` with less data.

    Raises:
        Error: ``not-found``; the hint lists the names. ``invalid`` for a study without a quick form.
    """
    from functools import partial
    from importlib import import_module

    if name not in STUDIES:
        raise errors.make("not-found", f"unknown study {name!r}", "use one of: " + ", ".join(STUDIES))
    run: Study = import_module(STUDIES[name]).run
    if quick and name not in QUICK:
        raise errors.make("invalid", f"study {name} has no quick form", f"--quick is for {', '.join(QUICK)}")
    return partial(run, quick=True) if quick else run  # type: ignore[call-arg]
