"""What a prompt and a notebook show of each public object: short, one line a name, HTML that is whole."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import icecore
import numpy as np
import pytest

ODD = "név\n<b>&\"'\x1b[31m"


class Whole(HTMLParser):
    """Every tag is closed, and none of them is a script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert tag in ("b", "details", "div", "span", "summary", "table", "td", "tr")
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def repo(tmp_path: Path) -> icecore.Repo:
    attrs = {ODD: ODD * 500, "numbers": list(range(1000)), "nested": {"a": [1, {"b": "<script>"}]}}
    with icecore.create(tmp_path / "r").writer() as w:
        w.group(f"/{ODD}", attrs)
        w.array(f"/{ODD}/{ODD}", "f4", (3,), dims=[ODD], attrs=attrs)[...] = np.ones(3)
        w.array(f"/{ODD}/other", "M8[s]", (3,))
        w.array("/scalar", "f8", ())[...] = 1
    return icecore.open(tmp_path / "r")


def test_html_is_whole_and_escaped(repo: icecore.Repo) -> None:
    things = [repo, *repo.groups.values(), *repo.arrays.values(), repo.table(f"/{ODD}")]
    for page in (thing._repr_html_() for thing in things):  # type: ignore[attr-defined]
        Whole(page)
        assert not set(page) & set("\n\x1b")


def test_a_tree_has_a_line_for_each_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/a/b/x", "f4", (3, 2), dims=("t", None))
        w.array("/a/yy", "i8", ())
        w.group("/z")
    repo = icecore.open(tmp_path / "r")
    assert repr(repo).splitlines()[1:] == [
        "├── a/",
        "│   ├── b/",
        "│   │   └── x  float32  (t: 3, 2)",
        "│   └── yy     int64    ()",
        "└── z/",
    ]
    page = repo._repr_html_()
    assert page.count("<details open ") == 2  # /a and /z: what lies deeper is folded
    assert page.count("<details ") == 3
    assert "more</div>" not in page
    monkeypatch.setattr("icecore.display.html._LIMIT", 3)
    assert page != repo._repr_html_()
    assert "… and 3 more</div>" in repo._repr_html_()


def test_text_is_short_and_steers_nothing(repo: icecore.Repo) -> None:
    table = repo.table(f"/{ODD}")
    for thing in (repo, *repo.groups.values(), *repo.arrays.values(), table, table.scan()):
        assert "\x1b" not in repr(thing)
        assert repr(thing).startswith("<icecore.")
        assert len(repr(thing)) < 400
    assert len(repr(table).splitlines()) == 3
    with repo.writer() as w:
        assert repr(w["/scalar"]) == "<icecore.ArrayWriter /scalar float64 ()>"
        assert repr(w).startswith("<icecore.Writer ")


def test_outcomes_are_tables(tmp_path: Path) -> None:
    np.savez(tmp_path / "many.npz", **{f"a{i}": np.arange(9) for i in range(30)})
    report = icecore.link(tmp_path / "many.npz", tmp_path / "r")
    lines = repr(report).splitlines()
    assert lines[0].startswith("<icecore.Report 30 ")
    assert lines[-1] == "… and 10 arrays more"
    found = icecore.assay(tmp_path / "many.npz", seconds=0)
    assert repr(found) == str(found)
