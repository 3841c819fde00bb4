"""The hs tools of h5pyd against ``icecore serve --writable``: load a file, list it, get it back, compare."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from test_h5pyd_writes import launch

pytest.importorskip("h5pyd")
pytestmark = pytest.mark.integration


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "served"
    folder.mkdir()
    process, endpoint = launch(folder)
    yield endpoint
    process.terminate()
    assert process.wait(20) == 0


def tool(endpoint: str, name: str, *arguments: str | Path) -> str:
    """Run a tool, and return what it printed."""
    script = f"import sys; from h5pyd._apps.{name} import main; sys.exit(main())"
    command = [sys.executable, "-c", script, "-e", endpoint, *map(str, arguments)]
    environment = {**os.environ, "HS_ENDPOINT": endpoint, "HS_USERNAME": "", "HS_PASSWORD": ""}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
    return done.stdout


def granule(path: Path) -> None:
    random = np.random.default_rng(7)
    with h5py.File(path, "w") as file:
        file.attrs["n"] = np.int32(3)
        file.attrs["list"] = np.arange(3.0)
        file.attrs["title"] = "round trip"
        for name, values in {"time": np.arange(20.0), "x": np.arange(10, dtype="<i2")}.items():
            file.create_dataset(name, data=values).make_scale(name)
        data = file.create_dataset(
            "g/data", data=random.normal(size=(20, 10)), chunks=(7, 4), compression="gzip", fillvalue=-1.0
        )
        data.dims[0].attach_scale(file["time"])
        data.dims[1].attach_scale(file["x"])
        file.create_dataset("texts", data=["ab", "", "é"], dtype=h5py.string_dtype())
        file.create_dataset("fixed", data=np.array([b"ab", b"c"], "S3"))
        record = np.array([(1, 0.5, b"xy"), (2, 1.5, b"z")], [("i", "<i4"), ("x", "<f8"), ("s", "S2")])
        file.create_dataset("records", data=record)
        file.create_dataset("big", data=np.arange(5, dtype=">i4"))
        file.create_dataset("flags", data=np.array([True, False]))
        colours = h5py.enum_dtype({"RED": 0, "BLUE": 1}, "i1")
        file.create_dataset("enum", data=np.array([0, 1, 1], "i1"), dtype=colours)
        file.create_dataset("complex", data=np.array([1 + 2j, 3 - 1j]))
        references = file.create_dataset("references", (2,), dtype=h5py.ref_dtype)
        references[0], references[1] = file["g"].ref, data.ref
        file["soft"] = h5py.SoftLink("/g/data")
        file["external"] = h5py.ExternalLink("other.h5", "/a")
        file["named"] = np.dtype("<f4")


def dumped(program: str, path: Path) -> list[str]:
    """Lines of h5dump, without addresses and the padding of strings: the client pads all with zeros."""
    done = subprocess.run([program, path.name], cwd=path.parent, capture_output=True, text=True, check=True)
    text = re.sub(r"DATASET \d+ ", "DATASET ", done.stdout.replace(path.name, "FILE"))
    return [line for line in text.splitlines() if "STRSIZE" not in line and "STRPAD" not in line]


def names(file: h5py.File) -> dict[str, str]:
    found: dict[str, str] = {}

    def walk(group: h5py.Group, prefix: str) -> None:
        for name in group:
            link = group.get(name, getlink=True)
            if not isinstance(link, h5py.HardLink):
                found[prefix + name] = f"{type(link).__name__} {link.path}"
                continue
            found[prefix + name] = type(group[name]).__name__
            if isinstance(group[name], h5py.Group):
                walk(group[name], f"{prefix}{name}/")

    walk(file, "/")
    return found


def test_h5dump_shows_the_same_before_and_after(endpoint: str, tmp_path: Path) -> None:
    program = os.environ.get("H5DUMP") or shutil.which("h5dump")
    if program is None:
        pytest.skip("h5dump is not installed: hdf5-tools, or its path in H5DUMP")
    granule(tmp_path / "a.h5")
    tool(endpoint, "hsload", tmp_path / "a.h5", "/a.h5")
    tool(endpoint, "hsget", "/a.h5", tmp_path / "b.h5")
    before, after = (dumped(program, tmp_path / name) for name in ("a.h5", "b.h5"))
    assert len(before) > 250
    assert before == after


def test_a_file_is_loaded_listed_and_got_back(endpoint: str, tmp_path: Path) -> None:
    granule(tmp_path / "a.h5")
    tool(endpoint, "hstouch", "/folder/")
    tool(endpoint, "hsload", tmp_path / "a.h5", "/folder/a.h5")
    assert "/folder/a.h5" in tool(endpoint, "hsls", "/folder/")
    listed = tool(endpoint, "hsls", "-r", "/folder/a.h5")
    assert "/g/data Dataset {20, 10}" in listed
    assert "SoftLink" in listed
    assert "icecore" in tool(endpoint, "hsinfo")
    assert "num objects" in tool(endpoint, "hsstat", "/folder/a.h5")
    assert "True" in tool(endpoint, "hsacl", "/folder/a.h5")
    tool(endpoint, "hsget", "/folder/a.h5", tmp_path / "b.h5")
    with h5py.File(tmp_path / "a.h5") as sent, h5py.File(tmp_path / "b.h5") as got:
        assert names(sent) == names(got)
        for name, kind in names(sent).items():
            if kind != "Dataset":
                continue
            mine, theirs = sent[name], got[name]
            assert (mine.dtype, mine.shape, mine.maxshape) == (theirs.dtype, theirs.shape, theirs.maxshape), (
                name
            )
            if h5py.check_ref_dtype(mine.dtype):
                assert [sent[each].name for each in mine[:]] == [got[each].name for each in theirs[:]]
            else:
                np.testing.assert_array_equal(mine[()], theirs[()], err_msg=name)
            assert set(mine.attrs) == set(theirs.attrs), name
        for name in ("n", "list", "title"):
            np.testing.assert_array_equal(sent.attrs[name], got.attrs[name])
        # hsget writes the attributes of dimension scales, whose references name the same datasets.
        scales = [got[axis[0]].name for axis in got["g/data"].attrs["DIMENSION_LIST"]]
        assert scales == ["/time", "/x"]
        assert got[got["time"].attrs["REFERENCE_LIST"][0][0]].name == "/g/data"
        assert bytes(got["time"].attrs["CLASS"]) == b"DIMENSION_SCALE"


def test_hsdiff_finds_equal_and_unequal_values(endpoint: str, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=np.arange(30.0).reshape(5, 6), chunks=(2, 3))
        file.attrs["n"] = 3
    tool(endpoint, "hsload", tmp_path / "a.h5", "/a.h5")
    tool(endpoint, "hsdiff", tmp_path / "a.h5", "/a.h5")
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["a"][4, 5] = -1
    with pytest.raises(AssertionError, match="differ"):
        tool(endpoint, "hsdiff", tmp_path / "a.h5", "/a.h5")
