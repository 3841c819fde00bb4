"""``icecore view --static``: the folder, its manifest and what it says can't be shown."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from icecore.service import static_page

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def repo(tmp_path: Path) -> icecore.Repo:
    made = icecore.create(str(tmp_path / "demo.icecore"))
    with made.writer() as w:
        packed = {"scale_factor": 0.5, "add_offset": 10.0, "_FillValue": np.int16(-1)}
        w.array("/g/t", "i2", (3, 4), dims=("time", "x"), attrs=packed)[...] = np.arange(12).reshape(3, 4)
        hours = {"units": "hours since 2000-01-01"}
        w.array("/g/time", "i4", (3,), dims=("time",), attrs=hours)[...] = [0, 24, 36]
        w.array("/f", "f4", (5,), attrs={"_FillValue": np.float32(0)})[...] = np.arange(5)
        w.array("/bz", "i8", (5,), codec="bz2")[...] = np.arange(5)
    return icecore.open(str(tmp_path / "demo.icecore"))


def test_the_manifest(repo: icecore.Repo, tmp_path: Path) -> None:
    reasons = static_page.write(repo, str(tmp_path / "site"), "demo")
    found = json.loads((tmp_path / "site" / "icecore.json").read_text())
    assert found["repository"] == "../demo.icecore"
    assert found["snapshot"] == repo.snapshot_id
    assert set(found["nodes"]) == {"/", "/g", "/g/t", "/g/time", "/f", "/bz"}
    assert found["nodes"]["/g/t"]["decode"] == {
        "unsigned": "",
        "scale": 0.5,
        "offset": 10.0,
        "missing": ["ffff"],
    }
    assert found["nodes"]["/g/t"]["along"] == ["/g/time", None]
    assert found["axes"]["/g/time"]["is_date"]
    assert found["axes"]["/g/time"]["values"] == [10957, 10958, 10958.5]
    assert found["nodes"]["/f"]["decode"]["missing"] == ["00000000", "00000080"]
    assert dict(reasons) == {"use bz2, which has no decoder in the browser": 1}
    index = (tmp_path / "site" / "index.html").read_text()
    assert index.index("static.js") < index.index("./assets/")


def test_an_existing_folder_is_kept(repo: icecore.Repo, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "mine").write_text("")
    with pytest.raises(icecore.Error) as caught:
        static_page.write(repo, str(tmp_path / "site"), "demo")
    assert caught.value.kind == "exists"
    assert [each.name for each in (tmp_path / "site").iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("repository", "expected"),
    [
        ("https://x.org/a.icecore", "https://x.org/a.icecore"),
        ("s3://bucket/p/a.icecore", "https://bucket.s3.amazonaws.com/p/a.icecore"),
        ("gs://bucket/p/a.icecore", "https://storage.googleapis.com/bucket/p/a.icecore"),
    ],
)
def test_repositories_elsewhere(repository: str, expected: str) -> None:
    assert static_page.location(repository, "site") == expected


def test_the_command_names_what_is_linked(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a"] = np.arange(6)
    icecore.link(str(tmp_path / "a.h5"), str(tmp_path / "linked.icecore"))
    site = tmp_path / "site"
    command = [sys.executable, "-m", "icecore", "view", str(tmp_path / "linked.icecore")]
    done = subprocess.run([*command, "--static", str(site)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "1 array can't be shown: they are linked to files" in done.stderr
    assert (site / "static.js").stat().st_size < 400_000
    refused = [*command[:-1], str(tmp_path / "a.h5"), "--static", str(tmp_path / "other")]
    done = subprocess.run(refused, capture_output=True, text=True)
    assert done.returncode != 0
    assert "--static needs a repository" in done.stderr
    assert not (tmp_path / "other").exists()


def test_the_bundle_is_the_build_of_its_sources() -> None:
    if not (ROOT / "codecs-js").is_dir():
        pytest.skip("the sources are not part of a wheel")
    tool = [sys.executable, str(ROOT / "tools" / "static_page.py"), "--check"]
    done = subprocess.run(tool, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("place", ["https://h.example/r?token=abc", "https://me:abc@h.example/r"])
def test_the_page_publishes_no_secret(place: str) -> None:
    with pytest.raises(icecore.Error, match="publish") as caught:
        static_page.location(place, "page")
    assert "abc" not in str(caught.value)
