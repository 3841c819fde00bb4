"""The table of `sources/README.md` names the modules that exist, and all of them."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from icecore import sources
from icecore.sources.formats import FORMATS, Format

FOLDER = Path(sources.__file__).parent
TEXT = (FOLDER / "README.md").read_text("utf-8")
NAMED = re.findall(r"`([\w/]+)`", "".join(re.findall(r"^\|(.*?)\|", TEXT, re.MULTILINE)))


def test_every_module_is_in_the_table_and_no_other() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")}
    folders = {f"{path.parent.name}/" for path in FOLDER.glob("*/__init__.py")}
    assert sorted(NAMED) == sorted(files | folders)


def test_modules_named_in_the_text_exist() -> None:
    for name in re.findall(r"`(\w+/\w+)`", TEXT):
        assert (FOLDER / f"{name}.py").is_file(), name


@pytest.mark.parametrize("row", FORMATS, ids=lambda row: row.name)
def test_a_row_names_functions_that_exist(row: Format) -> None:
    if row.module.endswith("votable"):
        pytest.importorskip("astropy")
    module = import_module(row.module)
    assert callable(module.open)
    assert row.joined is None or callable(module.open_many)
    assert not row.lists or callable(module.listed)
    assert row.module.split(".")[2] + "/" in NAMED


def test_options_go_only_to_formats_that_accept_them(tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    np.save(tmp_path / "a.npy", np.arange(3))
    everything = {name: True for row in FORMATS for name in row.options if name != "wanted"}
    assert {"allow_missing", "copies", "keep_going"} <= everything.keys()
    assert list(sources.open_source(tmp_path / "a.npy", **everything).arrays) == ["/a"]
