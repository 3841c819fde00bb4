"""The page in headless Chromium: what is shown has the right values, and the URL is the state."""

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

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from serving import serving

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / ".integration" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
FIELD = np.add.outer(np.arange(40.0), np.arange(30.0) / 100).astype("f4")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service of two versions of a repository."""
    place = tmp_path_factory.mktemp("page") / "demo.icecore"
    repo = icecore.create(str(place))
    rows = np.arange(50_000.0)
    series = np.zeros(400_000, "f4")
    series[123_456] = 9
    with repo.writer(message="first") as w:
        stack = w.array(
            "/w/t", "f4", (6, 40, 30), chunks=(1, 40, 30), dims=("time", "y", "x"), attrs={"units": "K"}
        )
        stack[...] = np.stack([FIELD + 1000 * k for k in range(6)])
        w.array("/series", "f4", series.shape, chunks=(50_000,))[...] = series
        w.array("/small", "i8", (3,))[...] = [1, 2, 2**60]
        packed = {"scale_factor": 0.001, "add_offset": 300.0, "_FillValue": np.int16(-32767), "units": "K"}
        w.array("/cf/t2m", "i2", (2, 3), dims=("time", "lat"), attrs=packed)[...] = [
            [-20000, -10000, 1],
            [-32767, 0, 2],
        ]
        hours = {"units": "hours since 2000-01-01"}
        w.array("/cf/time", "i4", (2,), dims=("time",), attrs=hours)[...] = [0, 36]
        north = {"units": "degrees_north"}
        w.array("/cf/lat", "f4", (3,), dims=("lat",), attrs=north)[...] = [70, 60, 50]
        for name, column in {"lon": rows / 1000, "lat": rows / 2000, "h": rows}.items():
            w.array(f"/track/{name}", "f8", rows.shape)[...] = column
    repo = repo.at("main")
    repo.tag("v1")
    with repo.writer(message="second") as w:
        w["/small"][...] = [7, 8, 9]
    with serving(place) as found:
        yield found


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


@pytest.fixture(params=["light", "dark"])
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    context = browser.new_context(color_scheme=request.param, viewport={"width": 1200, "height": 820})
    found = context.new_page()
    problems: list[str] = []
    found.on("pageerror", lambda error: problems.append(str(error)))
    found.on("console", lambda said: problems.append(said.text) if "Content Security" in said.text else None)
    yield found
    context.close()
    assert problems == []


def requests_of(page: Any) -> list[str]:
    """The requests for values that the page sends from now on."""
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if "/view/api/" in request.url else None)
    return sent


def test_from_the_list_to_a_slice(page: Any, address: str) -> None:
    page.goto(f"{address}/")
    page.get_by_role("link", name="demo.icecore").click()
    page.get_by_role("treeitem", name="w group").click()
    page.get_by_role("treeitem", name=re.compile("^t 6 ")).wait_for()
    page.wait_for_load_state("networkidle")  # what the group asks for is not counted
    sent = requests_of(page)
    page.get_by_role("treeitem", name=re.compile("^t 6 ")).click()
    page.locator("[data-domain]").wait_for()
    low, high = map(float, page.locator("[data-domain]").get_attribute("data-domain").split(","))
    assert (low, high) == (0, float(FIELD.max()))
    assert len(sent) <= 3, sent  # the node, its values and its axes
    page.get_by_label("time: index", exact=True).fill("4")
    page.locator("figure[data-selection='4,0:40,0:30'][aria-busy=false]").wait_for()
    low, high = map(float, page.locator("[data-domain]").get_attribute("data-domain").split(","))
    assert (low, high) == (4000, float((FIELD + 4000).max()))
    assert "path=/w/t" in page.url
    assert "slice=4,:,:" in page.url
    page.reload()
    page.locator("figure[data-selection='4,0:40,0:30']").wait_for()


def test_values_and_versions(page: Any, address: str) -> None:
    page.goto(f"{address}/view/?repo=demo.icecore&path=/small&view=matrix")
    page.get_by_role("cell", name="9", exact=True).wait_for()
    page.get_by_label("Version").select_option("v1")
    page.get_by_role("cell", name=str(2**60), exact=True).wait_for()
    assert "version=v1" in page.url
    page.go_back()
    page.get_by_role("cell", name="9", exact=True).wait_for()


def test_a_line_of_a_slice(page: Any, address: str) -> None:
    page.goto(f"{address}/view/?repo=demo.icecore&path=/w/t&slice=2,5,:&view=line")
    page.get_by_role("img", name="Line of t / K: 30 values, 2005 to 2005.29").wait_for()


def test_a_trend_hides_no_peak(page: Any, address: str) -> None:
    page.goto(f"{address}/view/?repo=demo.icecore&path=/series")
    page.get_by_role("img", name="Trend of series: 1000 windows from 0 to 9").wait_for()
    sent = requests_of(page)
    page.get_by_role("button", name="zoom in").click()
    page.locator("figcaption", has_text="window of 200 samples").wait_for()
    assert len([url for url in sent if "/trend?" in url]) == 1


def test_a_map_says_what_it_leaves_out(page: Any, address: str) -> None:
    page.goto(f"{address}/view/?repo=demo.icecore&path=/track")
    page.get_by_text("One of 3 rows is shown: 16,667 of 50,000.").wait_for()


def test_values_are_physical_and_axes_coordinates(page: Any, address: str) -> None:
    page.goto(f"{address}/view/?repo=demo.icecore&path=/cf/t2m&view=matrix")
    page.get_by_role("row", name="2000-01-01 280 290 300.001").wait_for()
    page.get_by_role("row", name="2000-01-02 12:00 \u2013 300 300.002").wait_for()
    page.get_by_role("columnheader", name="60", exact=True).wait_for()
    page.get_by_role("button", name="Heat map").click()
    page.get_by_role("img", name="Heat map of t2m / K: 280 to 300.002").wait_for()
    page.get_by_text("lat / degrees_north").wait_for()
    page.goto(f"{address}/view/?repo=demo.icecore&path=/cf/t2m&slice=0,:&view=line")
    page.get_by_role("img", name="Line of t2m / K: 3 values, 280 to 300.001").wait_for()
    page.get_by_text("At time 2000-01-01.").wait_for()


@pytest.mark.parametrize("missing", ["?repo=nothing.icecore", "?repo=demo.icecore&version=v9&path=/small"])
def test_what_is_missing_is_said_once(page: Any, address: str, missing: str) -> None:
    page.goto(f"{address}/view/{missing}", wait_until="networkidle")
    page.get_by_role("alert").wait_for()
    page.wait_for_timeout(500)
    assert page.get_by_role("alert").count() == 1
    assert page.locator("header").bounding_box()["height"] < 120


NARROW = ["/w/t", "/w/t&view=line", "/series", "/track", "/w/t&view=plan", "/w/t&view=storage", "/cf/t2m"]


@pytest.mark.parametrize("path", NARROW)
def test_nothing_is_wider_than_a_phone(page: Any, address: str, path: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}/view/?repo=demo.icecore&path={path}", wait_until="networkidle")
    page.locator("main h2").wait_for()
    page.wait_for_timeout(300)
    edges = "[...document.querySelectorAll('main *')].map(e => e.getBoundingClientRect().right)"
    assert page.evaluate(f"Math.max(document.documentElement.scrollWidth, ...{edges})") <= 390


def test_reports(page: Any, address: str) -> None:
    page.goto(f"{address}/view/?repo=demo.icecore&path=/w/t&slice=2,:,:&view=plan")
    page.get_by_role("row", name="bytes out 4.8 kB").wait_for()
    page.get_by_role("button", name="Storage").click()
    page.get_by_role("row", name=re.compile("in memory 28.8 kB")).wait_for()


def test_errors_are_said(page: Any, address: str) -> None:
    page.goto(f"{address}/view/?repo=demo.icecore&path=/nope")
    page.get_by_role("alert").filter(has_text="no /nope").first.wait_for()
    page.goto(f"{address}/view/?repo=demo.icecore&version=v9&path=/small")
    page.get_by_role("alert").filter(has_text="v9").first.wait_for()


def test_requests_that_nobody_waits_for_are_cancelled(page: Any, address: str) -> None:
    page.goto(f"{address}/view/?repo=demo.icecore&path=/w/t")
    page.locator("[data-domain]").wait_for()
    gone: list[str] = []
    page.on("requestfailed", lambda request: gone.append(request.url))
    page.route("**/api/values?*selection=3*", lambda route: None)  # never answered
    page.get_by_label("time: index", exact=True).fill("3")
    page.wait_for_timeout(300)
    page.get_by_label("time: index", exact=True).fill("5")
    page.locator("figure[data-selection='5,0:40,0:30'][aria-busy=false]").wait_for()
    assert len(gone) == 1
    assert "selection=3" in gone[0]


def test_keyboard(page: Any, address: str) -> None:
    page.goto(f"{address}/view/?repo=demo.icecore")
    page.get_by_role("treeitem", name="/ group").focus()
    page.get_by_role("treeitem", name=re.compile("^series")).wait_for()
    for _ in ("cf", "series", "small"):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="/small").wait_for()


SHOWN = [
    "",
    "&path=/w/t",
    "&path=/w/t&view=line",
    "&path=/series",
    "&path=/track",
    "&path=/small&view=matrix",
    "&path=/w/t&view=plan",
    "&path=/nope",
]


@pytest.mark.parametrize("shown", SHOWN)
def test_accessible(page: Any, address: str, shown: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make integration-deps TOOLS=axe")
    page.goto(f"{address}/view/{'?repo=demo.icecore' if shown else ''}{shown}")
    page.locator("main h2, [role=alert]").first.wait_for()
    page.wait_for_timeout(1000)
    page.evaluate(AXE.read_text() + "; 0")
    found = page.evaluate("axe.run()")
    assert [
        (each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found["violations"]
    ] == []


def test_the_committed_page_is_the_build_of_its_sources() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "viewer.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
