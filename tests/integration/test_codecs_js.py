"""codecs-js in Node and in headless Chromium: vectors, the golden repository, and the static page."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.service import static_page

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from plain_server import plain_server

pytestmark = pytest.mark.integration
CODECS = Path(__file__).resolve().parents[2] / "codecs-js"
FIELD = np.add.outer(np.arange(40.0), np.arange(30.0) / 100).astype("f4")


def test_in_node() -> None:
    if shutil.which("node") is None or not (CODECS / "node_modules").is_dir():
        pytest.skip("codecs-js is not installed: make integration-deps TOOLS=codecs_js")
    done = subprocess.run(["npm", "test"], cwd=CODECS, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"^# pass (\d+)", done.stdout, re.MULTILINE)[1]) > 150  # type: ignore[index]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    """A server of a packed repository and of its page, without a service."""
    place = tmp_path_factory.mktemp("static")
    repo = icecore.create(str(place / "demo.icecore"))
    with repo.writer() as w:
        stack = w.array("/w/t", "f4", (6, 40, 30), chunks=(1, 40, 30), dims=("time", "y", "x"))
        stack[...] = np.stack([FIELD + 1000 * k for k in range(6)])
        w.array("/w/auto", "f4", (6, 40, 30), codec="auto")[...] = np.stack([FIELD] * 6)
        series = np.zeros(40_000, "f4")
        series[12_345] = 9
        w.array("/series", "f4", series.shape, chunks=(5_000,))[...] = series
        packed = {"scale_factor": 0.001, "add_offset": 300.0, "_FillValue": np.int16(-32767), "units": "K"}
        w.array("/cf/t2m", "i2", (2, 3), dims=("time", "lat"), attrs=packed)[...] = [
            [-20000, -10000, 1],
            [-32767, 0, 2],
        ]
        hours = {"units": "hours since 2000-01-01"}
        w.array("/cf/time", "i4", (2,), dims=("time",), attrs=hours)[...] = [0, 36]
        w.array("/cf/lat", "f4", (3,), dims=("lat",))[...] = [70, 60, 50]
        w.array("/small", "i8", (3,))[...] = [1, 2, 2**60]
        rows = np.arange(3_000.0)
        for name, column in {"lon": rows / 1000, "lat": rows / 2000, "h": rows}.items():
            w.array(f"/track/{name}", "f8", rows.shape)[...] = column
    static_page.write(icecore.open(str(place / "demo.icecore")), str(place / "page"), "demo.icecore")
    with plain_server(place) as (address, asked):
        yield f"{address}/page/", asked


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="make integration-deps TOOLS=chromium")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with api.sync_playwright() as playwright:
        if program is None and not Path(playwright.chromium.executable_path).exists():
            pytest.skip("chromium is not installed: make integration-deps TOOLS=chromium")
        arguments = [
            "--no-sandbox",
            "--use-gl=angle",
            "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader",
        ]
        opened = playwright.chromium.launch(executable_path=program, args=arguments)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1200, "height": 820})
    found = context.new_page()
    problems: list[str] = []
    found.on("pageerror", lambda error: problems.append(str(error)))
    yield found
    context.close()
    assert problems == []


def test_a_slice_of_the_static_page(page: Any, site: tuple[str, list[str]]) -> None:
    address, asked = site
    page.goto(address)
    page.get_by_role("treeitem", name="w group").click()
    page.get_by_role("treeitem", name=re.compile("^t 6 ")).wait_for()
    asked.clear()
    page.get_by_role("treeitem", name=re.compile("^t 6 ")).click()
    page.locator("[data-domain]").wait_for()
    low, high = map(float, page.locator("[data-domain]").get_attribute("data-domain").split(","))
    assert (low, high) == (0, float(FIELD.max()))
    chunks = [path for path in asked if "/chunks/" in path]
    assert len(chunks) == 2, asked  # the index of the shard, and one chunk of the six
    page.get_by_label("time: index", exact=True).fill("4")
    page.locator("figure[data-selection='4,0:40,0:30'][aria-busy=false]").wait_for()
    low, high = map(float, page.locator("[data-domain]").get_attribute("data-domain").split(","))
    assert (low, high) == (4000, float((FIELD + 4000).max()))


def test_own_codecs_in_the_browser(page: Any, site: tuple[str, list[str]]) -> None:
    page.goto(f"{site[0]}?path=/w/auto&slice=2,:,:")
    page.locator("[data-domain]").wait_for()
    low, high = map(float, page.locator("[data-domain]").get_attribute("data-domain").split(","))
    assert (low, high) == (0, float(FIELD.max()))


def test_physical_values_coordinates_and_integers(page: Any, site: tuple[str, list[str]]) -> None:
    page.goto(f"{site[0]}?path=/cf/t2m&view=matrix")
    page.get_by_role("row", name="2000-01-01 280 290 300.001").wait_for()
    page.get_by_role("row", name="2000-01-02 12:00 \u2013 300 300.002").wait_for()
    page.goto(f"{site[0]}?path=/small&view=matrix")
    page.get_by_role("cell", name=str(2**60), exact=True).wait_for()


def test_trend_map_and_what_needs_a_service(page: Any, site: tuple[str, list[str]]) -> None:
    page.goto(f"{site[0]}?path=/series")
    page.get_by_role("img", name="Trend of series: 1000 windows from 0 to 9").wait_for()
    page.goto(f"{site[0]}?path=/track")
    page.get_by_text("All 3,000 rows.").wait_for()
    page.goto(f"{site[0]}?path=/w/t&view=storage")
    page.get_by_role("alert").filter(has_text="icecore serve").wait_for()
    page.goto(f"{site[0]}?path=/nope")
    page.get_by_role("alert").filter(has_text="no /nope").first.wait_for()
