"""Options are declared once: signatures, docstrings and the command line are derived from the fields."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

import icecore
import pytest
import typer
from icecore.cli import table
from icecore.ingest.options import AssayOptions, LinkOptions, PackOptions, RelinkOptions
from icecore.options import accepts, described, option
from icecore.tables.query.scan_options import ArraysOptions, IterateOptions, ScanOptions

PACKAGE = Path(icecore.__file__).parent
FUNCTIONS = {
    "link": (icecore.link, LinkOptions),
    "pack": (icecore.pack, PackOptions),
    "relink": (icecore.relink, RelinkOptions),
    "assay": (icecore.assay, AssayOptions),
    "query": (icecore.Table.scan, ScanOptions),
}
METHODS = {
    "arrays": (icecore.Table.arrays, ArraysOptions),
    "iterate": (icecore.Table.iterate, IterateOptions),
}


@pytest.mark.parametrize("verb", [*FUNCTIONS, *METHODS])
def test_signature_and_docstring_list_every_option(verb: str) -> None:
    function, options = (FUNCTIONS | METHODS)[verb]
    parameters = dict(inspect.signature(function).parameters)
    parameters.pop("self", None)
    assert list(parameters) == [field.name for field in dataclasses.fields(options)]
    assert list(parameters) == list(described(options)), "every field has a description"
    doc = inspect.getdoc(function) or ""
    listed = re.findall(r"^    (\w+): ", doc.partition("Args:\n")[2].partition("\n\n")[0], re.MULTILINE)
    assert listed == list(parameters)
    assert max(map(len, doc.splitlines())) <= 110
    assert "Returns:" in doc
    assert doc.index("Args:") < doc.index("Returns:")


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_the_command_line_has_the_options_and_their_defaults(verb: str) -> None:
    command: Any = typer.main.get_command(table([verb]))
    command = getattr(command, "commands", {verb: command})[verb]
    known = {each.name: each for each in command.params}
    for name, (field, each) in described(FUNCTIONS[verb][1]).items():
        if each.help is None:
            assert name not in known
            continue
        there = known[name]
        assert each.help in (getattr(there, "help", None) or "")
        if field.default is True:
            assert there.opts == [f"--no-{name}"]
            assert there.default is False
        elif field.default is not dataclasses.MISSING:
            assert there.default in (field.default, []) or there.default is None


def test_a_wrong_name_names_the_function_that_rejects_it() -> None:
    with pytest.raises(TypeError, match=r"pack\(\).*'chunks'"):
        icecore.pack("a.npy", "b", chunks=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"link\(\).*'into'"):
        icecore.link("a.npy")  # type: ignore[call-arg]


def test_an_option_needs_one_declaration() -> None:
    @dataclasses.dataclass(frozen=True)
    class Thin:
        step: float = option(20.0, "distance between rows, in m.", help="Distance between rows.")
        deep: bool = option(False, "read everything.")

    @accepts(Thin)
    def thin(options: Thin) -> Any:
        """Select rows at regular distances.

        Returns:
            The options.
        """
        return options

    assert thin(step=3.0) == Thin(step=3.0)
    assert str(inspect.signature(thin)) == "(*, step: 'float' = 20.0, deep: 'bool' = False) -> 'Any'"
    listed = "    step: distance between rows, in m.\n    deep: read everything.\n\nReturns:"
    assert listed in str(thin.__doc__)


def test_no_function_passes_its_locals() -> None:
    """``locals()`` hides which names are passed on, and passes new ones by accident."""
    calls = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "locals"
    ]
    assert not calls
