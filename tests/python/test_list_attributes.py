"""Attributes of users that are called as ours: groups stay groups, and nothing is hidden."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from icecore.cli import run


@pytest.mark.parametrize("value", [5, 2.5, "yes", '{"offsets": "x"}', "", [1, 2], {"a": 1}])
@pytest.mark.parametrize("name", ["jagged", "projected", "tuple", "optional"])
def test_groups_with_such_an_attribute_hide_no_array(
    tmp_path: Path, capsys: Any, name: str, value: Any
) -> None:
    stored = str(value) if isinstance(value, dict) else value
    with h5py.File(tmp_path / "a.h5", "w") as file:
        group = file.create_group("g")
        group.attrs[name] = stored
        group["x"] = np.arange(4)
        group["sub/y"] = np.arange(3)
    for verb in (icecore.link, icecore.pack):
        verb(tmp_path / "a.h5", tmp_path / verb.__name__, group="/")
        repo = icecore.open(tmp_path / verb.__name__)
        assert set(repo.arrays) == {"/g/x", "/g/sub/y"}
        assert "x" in repr(repo["/g"].arrays)
        assert np.array_equal(repo["/g"].attrs[name], stored)
        for place in (tmp_path / verb.__name__, tmp_path / "a.h5"):
            assert run(["ls", str(place)]) == 0
            shown = capsys.readouterr().out
            assert all(word in shown for word in ("x ", "y ", "int64")), shown
            assert "unreadable" not in shown


@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"offsets": "o"},
        {"offsets": 1, "content": 2},
        {"offsets": "o", "content": "."},
        {"offsets": "o", "content": ".."},
        {"offsets": "o", "content": "content"},
    ],
)
def test_lists_that_are_damaged_are_named(tmp_path: Path, capsys: Any, stated: dict[str, Any]) -> None:
    with icecore.create(tmp_path / "r").writer() as writer:
        writer.group("/t/lists", {"jagged": stated})
        writer.array("/t/lists/o", "i8", (3,))[...] = [0, 1, 2]
        writer.array("/t/flat", "i8", (2,))[...] = [0, 1]
    assert run(["ls", str(tmp_path / "r")]) == 0
    assert re.search(r"lists +unreadable \(format\)", capsys.readouterr().out)
    table = icecore.open(tmp_path / "r").table("/t")
    with pytest.raises(icecore.Error, match="lists can't be read beside the other columns"):
        table.arrays(["lists"])
    assert table.arrays(["flat"])["flat"].tolist() == [0, 1]
