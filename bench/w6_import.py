"""W6: what `import icecore` costs in a fresh interpreter, with NumPy inside."""

from __future__ import annotations

import contextlib
import sys
from importlib import import_module
from typing import Any

from child import Meter
from harness import Side
from report import Goal

TITLE = "W6: import"
ABOUT = (
    "In a fresh interpreter whose compiled modules are in the page cache; NumPy's own import is part of "
    "each. `import icecore` loads its parts when they are used: the second icecore row has the native "
    "module and the reader loaded too."
)
REPS = 9
LABELS = {"import": "import"}
PACKAGES = ["numpy", "h5py", "zarr", "icechunk", "tensorstore", "virtualizarr", "hidefix"]
SIDES = [
    Side("icecore", "load", args={"modules": ["icecore"]}),
    Side(
        "icecore, ready to open",
        "load",
        args={"modules": ["icecore", "icecore.repository.repo", "icecore._icecore"]},
    ),
    *(Side(name, "load", 5, args={"modules": [name]}) for name in PACKAGES),
]
GOALS = [
    Goal("import icecore, s", lambda r: r["icecore"].seconds("import"), "<=", 0.15),
    Goal("import, ready to open, s", lambda r: r["icecore, ready to open"].seconds("import"), "<=", 0.15),
]


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """Imports everything once, so that compiled modules are on disk and in the page cache."""
    for name in ["icecore.repository.repo", "icecore._icecore", *PACKAGES]:
        with contextlib.suppress(ImportError):
            import_module(name)
    return {}


def load(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    if "numpy" in sys.modules:
        raise RuntimeError("something has imported NumPy before the clock started")
    for name in params["modules"]:
        find(name)
    with meter("import"):
        for name in params["modules"]:
            import_module(name)
    return {}


def find(name: str) -> None:
    """Raises ImportError where the package is not installed, without running it."""
    from importlib.util import find_spec

    if find_spec(name.split(".")[0]) is None:
        raise ImportError(f"no {name}")
