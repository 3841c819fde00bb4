"""Write the golden repository of the current format version, with the values that it must give back.

    python tests/golden/write_golden.py   writes tests/golden/N/ for the format version N of docs/format.md

It is run once for each format version; the result is committed and never written again, so an existing
directory is an error. Sources are linked at a neutral place; the test relinks a copy of them.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import uproot
from icecore.samples import files, gwf, root

HERE = Path(__file__).resolve().parent
ROWS = 64
#: where the linked files were; nothing is there when the test runs
PLACE = Path("/tmp/icecore-golden")
#: array → codec of packed arrays, as users name them
NAMED = {
    "none": "none",
    "default": "default",
    "gzip": "gzip:5",
    "zlib": "zlib:6",
    "zstd": "zstd:3",
    "lz4": "lz4",
    "bz2": "bz2",
    "lzma": "lzma",
    "blosc": "blosc",
    "shuffle": "shuffle+zstd",
    "planes": "planes",
    "pages": "pages",
}


def digest(values: np.ndarray) -> dict[str, Any]:
    """Dtype, shape and a checksum of the elements; strings by their UTF-8 text."""
    if values.dtype.kind in "OT":
        data = "\0".join(str(item) for item in values.reshape(-1).tolist()).encode()
    else:
        data = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).tobytes()
    return {
        "dtype": values.dtype.newbyteorder("=").str if values.dtype.kind not in "OT" else "text",
        "shape": list(values.shape),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def sources(folder: Path) -> None:
    """Small files of all kinds that can be linked, and a text table."""
    rng = np.random.default_rng(1)
    with h5py.File(folder / "tracks.h5", "w") as file:
        heights = rng.normal(0, 10, (ROWS, 4)).round(2)
        file.create_dataset("height", data=heights, chunks=(16, 4), compression="gzip", shuffle=True)
        file.create_dataset("plain", data=np.arange(ROWS, dtype="i4"))
        file.create_dataset("checked", data=np.arange(ROWS, dtype="u2"), chunks=(32,), fletcher32=True)
        file.create_dataset("name", data=[f"track {n}" for n in range(8)], dtype=h5py.string_dtype())
    values = np.linspace(0, 1, ROWS).astype("f4").reshape(4, 16)
    files.write_netcdf3(
        folder / "model.nc", "time", {"time": 4, "x": 16}, {}, {"t": (("time", "x"), values, {"units": "K"})}
    )
    np.save(folder / "plain.npy", rng.integers(-1000, 1000, (ROWS, 2)).astype("i2"))
    gwf.write_frame(folder / "H-G-0-1.gwf", 0, {"H1:X": (rng.normal(0, 1, 256).astype("f4"), 256.0)})
    root.events(folder / "events.root", 40)
    with uproot.recreate(folder / "pages.root") as file:
        file.mkrntuple("Pages", {"mass": rng.normal(91, 2, ROWS).astype("f4")})
    rows = "".join(f"{n},{n / 4:.2f},name {n % 5}\n" for n in range(ROWS))
    (folder / "table.csv").write_text("id,value,name\n" + rows)


def packed(writer: icecore.Writer) -> None:
    """One array for each codec and kind of dtype."""
    rng = np.random.default_rng(2)
    field = np.cumsum(rng.normal(0, 1, (ROWS, 16)), axis=0).astype("f4")
    for name, codec in NAMED.items():
        writer.array(f"/codecs/{name}", "f4", field.shape, chunks=(16, 16), codec=codec)[...] = field
    whole = np.arange(ROWS, dtype="i8") * 1000 + 7
    for name, chain in chains().items():
        data = whole / 100 if name == "decimal" else whole
        writer.array(f"/codecs/{name}", data.dtype, whole.shape, chunks=(16,), codec=chain)[...] = data
    for dtype in ("bool", "i1", "u2", "i4", "u8", "f2", "f8", "c8", "M8[s]", "m8[ms]"):
        data = np.arange(ROWS).astype("i8").astype(dtype)
        name = re.sub(r"\W", "_", dtype)
        writer.array(f"/dtypes/{name}", dtype, (ROWS,), chunks=(32,))[...] = data
    text = np.array([f"größe {n}" for n in range(ROWS)], dtype=object)
    writer.array("/dtypes/text", "str", (ROWS,), chunks=(32,))[...] = text
    grown = writer.array("/grown", "f8", (0, 4), dims=("time", "x"))
    for step in range(3):
        grown.append(np.full((5, 4), step, "f8"))


def chains() -> dict[str, list[dict[str, Any]]]:
    """Codecs of ours that have no short name."""
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    zstd = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}

    def own(name: str, **configuration: Any) -> dict[str, Any]:
        return {"name": f"icecore.{name}", "configuration": configuration}

    return {
        "offset": [own("offset", offset=7), little, zstd],
        "fpc": [own("fpc", axis=-1)],
        "predict": [own("predict", modes=["lorenzo"])],
        "choice": [own("choice", choices=[[little], [little, zstd]])],
        "decimal": [own("decimal", scale=2, dtype="int32", escapes=["NaN"]), little, zstd],
        "pco": [{"name": "numcodecs.pcodec", "configuration": {"level": 8}}],
        "h5bitshuffle": [little, own("h5bitshuffle", itemsize=8)],
        "h5lz4": [little, own("h5lz4")],
        "h5lzf": [little, own("h5lzf")],
        "sums": [little, {"name": "numcodecs.fletcher32"}, {"name": "crc32c"}],
    }


def make(folder: Path) -> None:
    """Write sources, repository and values below ``folder``."""
    files, repo = folder / "files", folder / "golden.icecore"
    files.mkdir(parents=True)
    sources(files)
    with icecore.create(repo).writer(message="packed arrays") as writer:
        packed(writer)
    linked = ["tracks.h5", "model.nc", "plain.npy", "H-G-0-1.gwf", "events.root:Events", "pages.root:Pages"]
    for name in linked:
        icecore.link(files / name if ":" not in name else f"{files}/{name}", repo, summaries=True)
    icecore.pack(files / "table.csv", into=repo)
    icecore.open(repo).tag("first")
    opened = icecore.open(repo)
    values = {path: digest(np.asarray(array[...])) for path, array in sorted(opened.arrays.items())}
    rows = opened.table("/table").reduce("count, mean:value, min:id, max:id", where="value >= 4")
    facts = {"files": str(files), "table": [dict(row) for row in rows], "arrays": values}
    (folder / "values.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main() -> int:
    document = (HERE.parents[1] / "docs" / "format.md").read_text("utf-8")
    found = re.search(r"^Format version: \*\*(\d+)\*\*", document, re.MULTILINE)
    assert found is not None, "docs/format.md states no format version"
    place = HERE / found[1]
    if place.exists():
        print(f"{place} exists; golden repositories are never written again", file=sys.stderr)
        return 1
    shutil.rmtree(PLACE, ignore_errors=True)
    try:
        make(PLACE)
        shutil.copytree(PLACE, place)
    finally:
        shutil.rmtree(PLACE, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
