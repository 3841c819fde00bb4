"""The examples in docstrings run, and ever more public functions have one."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.writing.array_writer import ArrayWriter

#: public functions and methods without an example; this number may only go down
MOST_WITHOUT = 0
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def public() -> Iterator[tuple[str, Any]]:
    """Public functions, classes and their public methods: (name, object). Properties are left out."""
    for name in icecore.__all__:
        found = getattr(icecore, name)
        yield f"icecore.{name}", found
        if inspect.isclass(found):
            for method, member in inspect.getmembers(found, inspect.isfunction):
                if not method.startswith("_") and member.__module__.startswith("icecore"):
                    yield f"icecore.{name}.{method}", member
    # of an array writer only what its users call
    for method in ("append", "resize"):
        yield f"ArrayWriter.{method}", getattr(ArrayWriter, method)
    from icecore.integrations.xarray_accessor import Accessor, TreeAccessor

    yield "Accessor.to", Accessor.to
    yield "TreeAccessor.to", TreeAccessor.to


def examples(name: str, found: Any) -> list[doctest.DocTest]:
    """The doctests in one docstring."""
    known = {"icecore": icecore, "np": np}
    found_here = doctest.DocTestParser().get_doctest(inspect.getdoc(found) or "", known, name, None, None)
    return [found_here] if found_here.examples else []


NAMES = dict(public())
WITH = {name: examples(name, found) for name, found in NAMES.items() if examples(name, found)}
FUNCTIONS = [name for name, found in NAMES.items() if not inspect.isclass(found)]


@pytest.mark.parametrize("name", sorted(WITH))
def test_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for test in WITH[name]:
        runner.run(test, out=said.append)
    assert not runner.summarize(verbose=False).failed, "".join(said)


def test_ever_more_functions_have_an_example() -> None:
    without = [name for name in FUNCTIONS if name not in WITH]
    print(f"{len(without)} of {len(FUNCTIONS)} public functions without an example: {', '.join(without)}")
    assert len(without) <= MOST_WITHOUT, f"{len(without)} without an example: {', '.join(without)}"
