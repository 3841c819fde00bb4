"""No regular expression of the package may hang on a crafted text: all of them are analysed as automata."""

from __future__ import annotations

import ast
import importlib
import pathlib
import pkgutil
import re
from collections.abc import Iterator

import icecore
import pytest
from regex_automaton import growth

ROOT = pathlib.Path(icecore.__file__).parent
_METHODS = {"search", "finditer", "findall", "sub", "subn", "split", "match", "fullmatch"}
#: patterns from a variable: what they come from is tested below
_DYNAMIC = {
    "tables/text/row_parsers.py",  # a ruler, escaped
    "tables/query/event_columns.py",  # the user's own
    "tables/query/event_names.py",  # filter_name, the same
    "sources/files/object_stores.py",  # a glob
    "sources/tables/text_kinds.py",  # in a tuple, where they are found
}


def modules() -> Iterator[tuple[str, object]]:
    for found in pkgutil.walk_packages([str(ROOT)], "icecore."):
        if ".studies" in found.name or found.name.endswith("__main__") or found.name == "icecore._icecore":
            continue
        try:
            yield found.name, importlib.import_module(found.name)
        except ModuleNotFoundError as error:  # an optional package
            if (error.name or "").startswith("icecore"):
                raise
        except icecore.Error as error:  # an optional package that no extra installs
            if error.kind != "unsupported":
                raise


def _inside(value: object) -> Iterator[re.Pattern]:
    """The patterns in tuples of a module."""
    for each in value if isinstance(value, tuple) else ():
        yield from [each] if isinstance(each, re.Pattern) else _inside(each)


def uses() -> Iterator[tuple[str, re.Pattern, str]]:
    """Every pattern of the package: its place, itself, and the method that it is used with."""
    for _, module in modules():
        path = pathlib.Path(module.__file__)
        where = str(path.relative_to(ROOT))
        known = {key: value for key, value in vars(module).items() if isinstance(value, re.Pattern)}
        used: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner, method = node.value.id, node.attr
                if owner in known and method in _METHODS:
                    used.add(owner)
                    yield f"{where}:{node.lineno} {owner}.{method}", known[owner], method
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if (
                isinstance(node.func.value, ast.Name)
                and node.func.value.id == "re"
                and node.func.attr in {*_METHODS, "compile"}
            ):
                try:
                    text = eval(compile(ast.Expression(node.args[0]), where, "eval"), dict(vars(module)))
                except NameError:
                    assert where in _DYNAMIC, (
                        f"{where}:{node.lineno}: the pattern of a variable is not analysed"
                    )
                    continue
                pattern = text if isinstance(text, re.Pattern) else re.compile(text)
                if node.func.attr != "compile":
                    yield f"{where}:{node.lineno} re.{node.func.attr}", pattern, node.func.attr
        for value in vars(module).values():
            yield from ((f"{where} {pattern.pattern!r:.40}", pattern, "match") for pattern in _inside(value))
        for owner in known.keys() - used:
            yield from ((f"{where} {owner}", known[owner], use) for use in ("match", "fullmatch"))


def test_no_pattern_takes_more_than_linear_time():
    found = list(uses())
    assert len(found) > 100
    known: dict[tuple[object, int, str], str] = {}
    bad = []
    for where, pattern, use in found:
        key = (pattern.pattern, pattern.flags, use)
        if key not in known:
            known[key] = growth(pattern, use)
        if known[key] != "linear":
            bad.append(f"{known[key]}: {where}: {pattern.pattern!r}")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (rb"\d+[-/:.]\d+([-/:.,TZ +]+\d*)*", "exponential"),
        (r"(a*)*b", "exponential"),
        (r"(a|a)*b", "exponential"),
        (r"(?:x?y?)*z", "exponential"),
        (r"a*a*b", "polynomial"),
        (r"(.+?)\s*$", "polynomial"),
        (r"(a|b)*c", "linear"),
        (r"\d+(?:[.,]\d{3})*(?:[.,]\d*)?", "linear"),
    ],
)
def test_the_analysis_finds_what_hangs(pattern, expected):
    assert growth(re.compile(pattern)) == expected
