"""W3: random boxes, time series and full scans of a sharded 4-D array."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fields
import numpy as np
import w3_data
from child import Absent, Meter
from harness import Outcome, Side
from report import Goal, Measure, Ratio, Results

TITLE = "W3: boxes, series and scans of a sharded array"
ABOUT = (
    "904 MB of float32 (240 x 35 x 138 x 195) in shards of 16 x 35 x 138 x 195; inner chunks of 16 x 7 x "
    "46 x 65 (1.3 MB) or 8 x 5 x 23 x 39 (144 kB). Page cache warm, caches of decoded chunks off, opened "
    "before the clock starts; before each 10 % box and scan as much memory as the array has is filled and "
    "freed. A repetition asks 24 random boxes of 1 %, 24 time series at a point, 3 boxes "
    "of 10 % and one scan; other boxes in each repetition. icecore reads what it packed; `the peers' bytes` "
    "are frames that zarr-python wrote, as tensorstore reads them."
)
REPS = 5
LABELS = {"1 % box": "1 % box", "series": "series", "10 % box": "10 % box", "scan": "scan"}
LAYOUTS = [(codec, inner) for codec in fields.CODECS for inner in fields.INNER]


#: of chunks of 144 kB icecore makes other zstd frames than zarr-python: fewer bytes, which are read faster
SAME = "a repository that icechunk and zarr-python wrote"


def sides() -> list[Side]:
    made = []
    for codec, inner in LAYOUTS:
        for reader, function, reps in (
            ("icecore", "icecore", 99),
            ("tensorstore", "tensorstore", 99),
            ("zarrs", "zarrs", 3),
            ("zarr-python", "zarr_python", 2),
        ):
            made.append(
                Side(f"{codec}, {inner}: {reader}", function, reps, args={"layout": f"{codec}, {inner}"})
            )
        if (codec, inner) == ("zstd", "144 kB"):
            made.append(Side(f"{codec}, {inner}: icecore, the peers' bytes", "icecore_same", 99, SAME))
    made.append(Side("b2nd", "b2nd", 3, "blosc2, same chunks and blocks (1.3 MB), shuffle + zstd 3"))
    made.append(Side("TileDB", "tiledb", 2, "tiles of 1.3 MB, byte shuffle + zstd 3, tile cache off"))
    made.append(Side("h5py", "h5py", 2, "chunks of 1.3 MB, shuffle + gzip 4, chunk cache off"))
    return made


SIDES = sides()


def against(reader: str, layout: str, label: str) -> Measure:
    return Ratio(f"{layout}: {reader}", f"{layout}: icecore", label)


def worst(measures: list[Measure]) -> Measure:
    def least(results: Results) -> float | None:
        values = [m(results) for m in measures]
        return None if None in values else min(v for v in values if v is not None)

    return least


def goals() -> list[Goal]:
    boxes = ("1 % box", "10 % box")
    made = [
        Goal(
            f"times faster than tensorstore: {layout}, {label}",
            against("tensorstore", layout, label),
            ">=",
            limit,
        )
        for layout, labels, limit in (
            ("zstd, 1.3 MB", boxes, 1.15),
            ("blosc, 1.3 MB", boxes, 1.3),
            ("zstd, 144 kB", (*boxes, "series"), 1.6),
            ("blosc, 144 kB", (*boxes, "series"), 1.6),
        )
        for label in labels
    ]
    made += [
        Goal(f"(the peers' bytes) {layout}, {label}", Ratio(f"{layout}: tensorstore", same, label), ">=", 1.6)
        for layout, same in (("zstd, 144 kB", "zstd, 144 kB: icecore, the peers' bytes"),)
        for label in (*boxes, "series")
    ]
    scans = [against("tensorstore", f"{codec}, {inner}", "scan") for codec, inner in LAYOUTS]
    made.append(Goal("times faster than tensorstore: scans, the worst of four", worst(scans), ">=", 1.7))
    made.append(Goal("memory above the output, MB, the worst of four", most_memory, "<=", 256))
    return made


def most_memory(results: dict[str, Outcome]) -> float | None:
    values = [results[f"{codec}, {inner}: icecore"].memory("over_mb") for codec, inner in LAYOUTS]
    known = [v for v in values if v is not None]
    return max(known) if known else None


GOALS = goals()


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    return w3_data.prepare(params["quick"], REPS)


def ask(params: dict[str, Any], meter: Meter, read: Callable[[fields.Box], Any]) -> dict[str, int]:
    """One repetition's queries; the result of each is dropped before the next."""
    quick, rep = params["quick"], params["rep"]
    read((slice(0, 1),) * 4)  # whatever a reader does only once
    crc: dict[str, int] = {}
    size = 0
    for label, selection in fields.queries(quick, rep):
        if label in ("10 % box", "scan"):
            fields.touch(quick)
        with meter(label):
            got = read(selection)
        key = f"{label} #{rep}"
        crc[key] = zlib.crc32(np.ascontiguousarray(got), crc.get(key, 0))
        size = max(size, got.nbytes)
        if label == "10 % box":
            meter.memory["boxes_mb"] = meter.memory["peak_mb"]
        del got
    meter.memory["over_mb"] = meter.memory["peak_mb"] - meter.memory["base_mb"] - size / 1e6
    return crc


def icecore(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    os.environ["ICECORE_CACHE"] = "0"
    import icecore

    repo = params["icecore"].get(params["layout"])
    if repo is None:
        raise Absent("icecore was not there when the data was made")
    array = icecore.open(repo)["/field"]
    return ask(params, meter, array.__getitem__)


def icecore_same(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    if not params.get("same"):
        raise Absent("icechunk was not there when the data was made")
    return icecore({**params, "icecore": {"": params["same"]}, "layout": ""}, meter)


def folder_of(params: dict[str, Any]) -> str:
    return str(Path(params["zarr"]) / params["layout"].replace(" ", "") / "field")


def tensorstore(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import tensorstore

    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": folder_of(params)}}
    array = tensorstore.open(spec, open=True).result()  # its cache pool holds 0 bytes unless told otherwise
    return ask(params, meter, lambda selection: array[selection].read().result())


def zarr_python(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import zarr

    return ask(params, meter, zarr.open_array(folder_of(params), mode="r").__getitem__)


def zarrs(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import zarr
    import zarrs  # noqa: F401
    from icechunk_peer import pipeline

    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    array = zarr.open_array(folder_of(params), mode="r")
    if pipeline(array) != "ZarrsCodecPipeline":
        raise Absent(f"zarr-python used {pipeline(array)}")
    return ask(params, meter, array.__getitem__)


def b2nd(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import blosc2

    return ask(params, meter, blosc2.open(params["b2nd"], mode="r").__getitem__)


def tiledb(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import tiledb

    if not params.get("tiledb"):
        raise Absent("TileDB was not there when the data was made")
    context = tiledb.Ctx(tiledb.Config({"sm.tile_cache_size": "0"}))
    with tiledb.open(params["tiledb"], attr="v", ctx=context) as array:
        return ask(params, meter, array.__getitem__)


def h5py(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import h5py

    with h5py.File(params["h5"], rdcc_nbytes=0) as file:
        return ask(params, meter, file["field"].__getitem__)
