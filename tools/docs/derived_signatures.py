"""Griffe extension: signatures and docstrings that are derived from dataclass fields (`icecore.options`).

Griffe reads sources without running them, so it sees neither. This extension reads the imported function.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import griffe


class DerivedSignatures(griffe.Extension):
    """Describe functions that are decorated with ``accepts`` or ``accepts_method``."""

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        if not any(str(each.value).startswith("accepts") for each in func.decorators):
            return
        found: Any = import_module(func.module.path)
        for name in func.path.removeprefix(f"{func.module.path}.").split("."):
            found = getattr(found, name)
        func.docstring = griffe.Docstring(inspect.getdoc(found) or "", parent=func, lineno=func.lineno)
        func.parameters = griffe.Parameters(
            *(
                griffe.Parameter(
                    each.name,
                    annotation=None if each.annotation is each.empty else str(each.annotation),
                    kind=griffe.ParameterKind(each.kind.description),
                    default=None if each.default is each.empty else repr(each.default),
                )
                for each in inspect.signature(found).parameters.values()
            )
        )
