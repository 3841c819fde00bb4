"""``icecore demo``, and every example that a help text gives, run as it stands."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import icecore
import pytest
from icecore import cli
from icecore.demo import run as demo_run
from icecore.samples import files as samples

VERBS = [
    "demo",
    "link",
    "pack",
    "relink",
    "ls",
    "info",
    "read",
    "query",
    "run",
    "restore",
    "export",
    "assay",
    "explain",
    "plot",
    "trend",
    "log",
    "diff",
    "tag",
    "branch",
    "gc",
    "verify",
]

HAS_UPROOT = importlib.util.find_spec("uproot") is not None
#: arrays and tables of the demonstration; branches of the tree and its cut need uproot
CHECKS = 80 + 5 * HAS_UPROOT
PICTURES = ["strain-trend.png", *["mass.png"] * HAS_UPROOT]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demonstration has run."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, "-m", "icecore", "demo"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert f"{CHECKS} of {CHECKS} arrays and tables are the same" in done.stdout
    assert "trend of H1:DEMO-STRAIN over 100 s" in done.stdout
    for picture in PICTURES:
        assert (folder / "icecore-demo" / picture).read_bytes().startswith(b"\x89PNG"), picture
    assert max(map(len, done.stdout.splitlines())) <= 80
    return folder


def test_json_and_running_twice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["demo", str(folder / "icecore-demo"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["passed"] is True
    assert len(facts["checks"]) == CHECKS
    frames = next(sample for sample in facts["samples"] if sample["file"] == "100 frames")
    assert frames["arrays"] == "1 linked"
    assert frames["bytes_raw"] == 100 * 1024 * 4
    assert icecore.open(facts["repository"]).verify(deep=True) == []


def test_without_uproot_and_pillow_the_report_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in ("uproot", "PIL"):
        monkeypatch.setitem(sys.modules, package, None)
    assert cli.run(["demo", str(tmp_path / "d")]) == 0
    said = capsys.readouterr().out
    assert "no ROOT file: writing one needs uproot: pip install 'icecore-archive[root]'" in said
    assert "no picture of H1:DEMO-STRAIN: figures need Pillow: pip install 'icecore-archive[plot]'" in said
    assert "80 of 80 arrays" in said


def test_a_wrong_element_fails_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = demo_run._reference

    def wrong(source: Path) -> object:
        for path, values in original(source):
            if path == "/u10":
                values = values.copy()
                values[3, 4, 5] += 1
            yield path, values

    monkeypatch.setattr(demo_run, "_reference", wrong)
    outcome = demo_run.run(tmp_path / "d")
    assert not outcome.passed
    assert [check.path for check in outcome.checks if not check.same] == ["/grid/u10"]
    assert "1 of" in next(check.detail for check in outcome.checks if not check.same)
    assert cli.run(["demo", str(tmp_path / "d")]) == 1


def test_it_touches_nothing_of_yours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "grid.nc").write_text("mine")
    assert cli.run(["demo", str(tmp_path)]) == 2
    assert "error[exists]" in capsys.readouterr().err
    assert (tmp_path / "grid.nc").read_text() == "mine"


def test_it_removes_no_repository_but_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with icecore.create(tmp_path / demo_run.REPO).writer() as w:
        w.array("/mine", "i4", (3,))[...] = [1, 2, 3]
    for folder in (tmp_path, tmp_path / demo_run.REPO, tmp_path / demo_run.REPO / "sub"):
        assert cli.run(["demo", str(folder)]) == 2
        assert "error[exists]" in capsys.readouterr().err
    assert list(icecore.open(tmp_path / demo_run.REPO)["/mine"]) == [1, 2, 3]
    other = tmp_path / "other" / demo_run.REPO
    other.mkdir(parents=True)
    (other / "thesis.tex").write_text("mine")
    assert cli.run(["demo", str(other.parent)]) == 2
    assert (other / "thesis.tex").read_text() == "mine"


def test_a_folder_that_it_may_not_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def barred(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", barred)
    with pytest.raises(icecore.Error, match="d can't be made: Permission denied") as caught:
        demo_run.run(tmp_path / "d")
    assert caught.value.kind == "permission"


def test_samples_are_what_their_libraries_take_them_for(tmp_path: Path) -> None:
    netCDF4 = pytest.importorskip("netCDF4")
    samples.make(tmp_path)
    with netCDF4.Dataset(tmp_path / "grid.nc") as nc:
        assert nc.data_model == "NETCDF4"
        assert nc["t2m"].dimensions == ("time", "lat", "lon")
        assert nc.dimensions["time"].isunlimited()
        assert 200 < nc["t2m"][0].mean() < 320
    with netCDF4.Dataset(tmp_path / "stations.nc") as nc:
        assert nc.data_model == "NETCDF3_CLASSIC"
        assert nc["rain"].shape == (samples.DAYS, samples.STATIONS)
        assert nc["time"][-1] == samples.DAYS - 1
        assert nc.dimensions["time"].isunlimited()
    assert {name for name, _ in demo_run._PLAN.values()} == {path.name for path in tmp_path.iterdir()}


def examples(verb: str) -> list[str]:
    """The commands at the end of a verb's help."""
    command = [sys.executable, "-m", "icecore", verb, "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.findall(r"^\s+(icecore .*)$", text[text.index("Examples") :], re.MULTILINE)


@pytest.mark.parametrize("verb", VERBS)
def test_examples_work_as_they_stand(folder: Path, verb: str) -> None:
    if verb == "plot":
        pytest.importorskip("matplotlib")
    found = examples(verb)
    assert len(found) in (2, 3)
    for example in found:
        words = shlex.split(example)
        assert words[:2] == ["icecore", verb]
        command = [sys.executable, "-m", "icecore", *words[1:]]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"{example}\n{done.stderr}"
