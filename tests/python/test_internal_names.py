"""Folders of the package use each other's private names only as docs/seams.md lists them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import icecore
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(icecore.__file__).parent
#: private names of other packages: of os, sys, concurrent.futures, xarray and coffea
FOREIGN = {"_exit", "_getframe", "_run_exitfuncs", "_maybe_create_default_indexes", "_data", "_in_memory"}
FOREIGN |= {"_from_mapping", "_extract_base_form"}


def folder(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def defined(tree: ast.AST) -> set[str]:
    """Names of functions, classes and attributes that a module defines."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def used(tree: ast.AST) -> set[str]:
    """Private attributes of other objects than ``self``, the class and modules of the native code."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and re.match(r"_[a-z]", node.attr)
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "icecore"))
    }


def test_folders_use_only_the_names_that_are_listed() -> None:
    if not (ROOT / "docs/seams.md").exists():
        pytest.skip("no documentation beside the tests")
    section = (ROOT / "docs/seams.md").read_text("utf-8").partition("## Between the folders")[2]
    rows = re.findall(r"^\| (`_.*?) \|", section, re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert "_native" in listed
    trees = {path: ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
    own: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees.items():
        own[folder(path)] |= defined(tree)
    from_elsewhere = {name for path, tree in trees.items() for name in used(tree) - own[folder(path)]}
    from_elsewhere -= FOREIGN
    assert from_elsewhere <= listed, "names of other folders: make them public, or list them in docs/seams.md"
    every = set.union(*own.values())
    assert listed <= every, "listed names exist"
