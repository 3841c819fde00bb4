"""Files joined along a dimension, at once or by appending: their values in a row, or refused."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
import zoo
from hypothesis import given, note
from hypothesis import strategies as st
from strategies import examples, numpy_selections

netCDF4 = pytest.importorskip("netCDF4")
WIDTH = 6


@st.composite
def pieces(draw: Any) -> list[dict[str, Any]]:
    """Files with one variable over (time, x): how long, how chunked, how compressed, how it is meant."""
    alike = draw(st.booleans())
    common = draw(_storage())
    meaning = draw(_meaning())
    made = []
    for _ in range(draw(st.integers(2, 4))):
        piece = {"rows": draw(st.integers(0, 9)), **(common if alike else draw(_storage())), **meaning}
        if draw(st.integers(0, 9)) == 0:
            piece |= draw(_meaning())
        made.append(piece)
    return made


@st.composite
def _storage(draw: Any) -> dict[str, Any]:
    return {
        "chunk": draw(st.none() | st.tuples(st.integers(1, 6), st.integers(1, WIDTH))),
        "zlib": draw(st.booleans()),
        "shuffle": draw(st.booleans()),
        "fletcher32": draw(st.booleans()),
        "endian": draw(st.sampled_from(["little", "big"])),
        "unlimited": draw(st.booleans()),
    }


@st.composite
def _meaning(draw: Any) -> dict[str, Any]:
    return {
        "scale": draw(st.sampled_from([None, None, 0.5, 0.25])),
        "fill": draw(st.sampled_from([None, None, -999, 7])),
        "units": draw(st.sampled_from(["K", "K", "degC"])),
        "dtype": draw(st.sampled_from(["i2", "i2", "i4"])),
    }


def write(path: Path, piece: dict[str, Any], seed: int) -> np.ndarray:
    order = {"little": "<", "big": ">"}[piece["endian"]]
    data = zoo.values("i2", (piece["rows"], WIDTH), seed).astype(order + piece["dtype"])
    with netCDF4.Dataset(path, "w") as file:
        file.set_auto_mask(False)
        file.createDimension("time", None if piece["unlimited"] else piece["rows"])
        file.createDimension("x", WIDTH)
        chunk = piece["chunk"]
        options: dict[str, Any] = {"endian": piece["endian"], "fill_value": piece["fill"]}
        if chunk is not None and (piece["rows"] or piece["unlimited"]):
            rows = chunk[0] if piece["unlimited"] else min(chunk[0], max(piece["rows"], 1))
            options |= {"chunksizes": (rows, chunk[1]), "zlib": piece["zlib"]}
            options |= {"shuffle": piece["shuffle"], "fletcher32": piece["fletcher32"]}
        variable = file.createVariable("v", data.dtype, ("time", "x"), **options)
        variable.set_auto_maskandscale(False)
        if piece["scale"] is not None:
            variable.scale_factor = piece["scale"]
        variable.units = piece["units"]
        if piece["rows"]:
            variable[...] = data
    return data


def mean_the_same(pieces: list[dict[str, Any]]) -> bool:
    """Whether a number stands for the same in all files."""
    return len({(p["scale"], p["fill"], p["units"]) for p in pieces}) == 1


def stand_for_floats(pieces: list[dict[str, Any]]) -> bool:
    """Whether numbers have unlike scales (and fill values), and nothing else is unlike."""
    return len({p["scale"] for p in pieces}) > 1 and len({p["units"] for p in pieces}) == 1


def unpacked(piece: dict[str, Any], data: np.ndarray) -> np.ndarray:
    """What the numbers of a file stand for, as xarray has it."""
    wide = piece["scale"] is not None or piece["dtype"] == "i4"
    values = data.astype("f8" if wide else "f4") * (piece["scale"] or 1)
    values[data == piece["fill"]] = np.nan
    return values


def join(verb: Any, groups: list[list[Path]], repo: str) -> tuple[int, icecore.Error | None]:
    """Join group after group; how many files that took in, and the refusal, if there was one."""
    done = 0
    for group in groups:
        try:
            verb(group, repo, group="/g", concat="time", append=done > 0)
        except icecore.Error as error:
            note(str(error))
            return done, error
        done += len(group)
    return done, None


@examples(120)
@given(pieces(), st.data())
@pytest.mark.parametrize("verb", [icecore.link, icecore.pack], ids=["link", "pack"])
@pytest.mark.parametrize("how", ["at once", "appended"])
def test_files_in_a_row(verb: Any, how: str, pieces: list[dict[str, Any]], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"f{i}.nc" for i in range(len(pieces))]
        parts = [write(path, piece, i) for i, (path, piece) in enumerate(zip(files, pieces, strict=True))]
        repo = f"{folder}/r.icecore"
        as_floats = verb is icecore.pack and how == "at once" and stand_for_floats(pieces)
        done, refusal = join(verb, [files] if how == "at once" else [[path] for path in files], repo)
        if refusal is None:
            assert mean_the_same(pieces) or as_floats
        else:
            assert not as_floats
            # integers that fit into the others' type are no reason to refuse, the other way round they are
            assert not mean_the_same(pieces) or len({piece["dtype"] for piece in pieces}) > 1
            assert refusal.kind == "mismatch"
            assert "/v" in refusal.message
        if done:
            if as_floats:
                parts = [unpacked(piece, part) for piece, part in zip(pieces, parts, strict=True)]
            expected = np.concatenate(parts[:done])
            array = icecore.open(repo)["/g/v"]
            assert zoo.same(array.read(), expected), zoo.difference(array.read(), expected)
            sel = data.draw(numpy_selections(expected.shape))
            note(f"{sel!r}")
            assert zoo.same(array[sel], expected[sel])
            assert icecore.open(repo).verify(deep=True) == []
