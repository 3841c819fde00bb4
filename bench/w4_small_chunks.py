"""W4: 1e6 elements in inner chunks of 100, all in one shard: what a chunk costs apart from its bytes."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from child import Absent, Meter, touch
from data import built, folder
from harness import Side
from report import Goal, Ratio

TITLE = "W4: 1e6 elements in 100-element inner chunks in one shard"
ABOUT = (
    "float32, 10,000 inner chunks, stored as they are or each under zstd 3. Opened before the clock "
    "starts; `first` is the first read of the whole array in a process, `again` the median of nine more. "
    "Caches of decoded chunks off."
)
VERSION = "1"
REPS = 5
#: more than what any side needs for the first read
NEEDED_MB = 128
LENGTH = 1_000_000
LABELS = {"first": "first", "again": "again"}
CODECS: dict[str, list[dict[str, Any]]] = {
    "raw": [],
    "zstd": [{"name": "zstd", "configuration": {"level": 3, "checksum": False}}],
}
READERS = {
    "icecore": ("icecore", 99),
    "tensorstore": ("tensorstore", 99),
    "zarrs": ("zarrs", 99),
    "zarr-python": ("zarr_python", 2),
}
SIDES = [
    Side(f"{codec}: {reader}", function, reps, args={"codec": codec})
    for codec in CODECS
    for reader, (function, reps) in READERS.items()
]
GOALS = [
    Goal(text, measure, relation, limit)
    for codec in CODECS
    for text, measure, relation, limit in (
        (
            f"{codec}: first read, ms",
            lambda r, c=codec: milliseconds(r[f"{c}: icecore"].seconds("first")),
            "<=",
            40,
        ),
        (
            f"{codec}: read again, ms",
            lambda r, c=codec: milliseconds(r[f"{c}: icecore"].seconds("again")),
            "<=",
            40,
        ),
        (
            f"{codec}: times faster than tensorstore, first",
            Ratio(f"{codec}: tensorstore", f"{codec}: icecore", "first"),
            ">=",
            3,
        ),
        (
            f"{codec}: times faster than tensorstore, again",
            Ratio(f"{codec}: tensorstore", f"{codec}: icecore", "again"),
            ">=",
            3,
        ),
    )
]


def milliseconds(value: float | None) -> float | None:
    return None if value is None else value * 1e3


def values() -> np.ndarray:
    """A drifting sensor, to a hundredth."""
    steps = np.random.default_rng(5).normal(0, 0.05, LENGTH)
    return np.round(np.cumsum(steps), 2).astype("f4")


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    here = folder(params["quick"])
    raw = values()
    stores, repos = {}, {}
    for codec in CODECS:
        store = here / f"small-{codec}"
        built(store, VERSION, lambda path, codec=codec: zarr_store(path, raw, codec))
        stores[codec] = str(store)
        repos[codec] = pack(store, here / f"small-{codec}-icecore", codec)
    return {
        "zarr": stores,
        "icecore": repos,
        "expect": {"all": zlib.crc32(raw)},
        "warm": list(stores.values()),
    }


def zarr_store(path: Path, raw: np.ndarray, codec: str) -> dict[str, Any]:
    import zarr

    root = zarr.create_group(str(path))
    options = {"shape": raw.shape, "dtype": raw.dtype, "chunks": (100,), "shards": raw.shape}
    root.create_array("x", **options, compressors=CODECS[codec], dimension_names=("i",))[:] = raw
    return {}


def pack(source: Path, repo: Path, codec: str) -> str:
    """The same layout as icecore packs it; "" where icecore is not installed."""
    try:
        import icecore
        import icecore._icecore as engine
    except ImportError:
        return ""
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, *CODECS[codec]]

    def make(path: Path) -> dict[str, Any]:
        icecore.pack([str(source)], into=str(path), group="/", chunk=(100,), shard=(LENGTH,), codec=codecs)
        return {}

    built(repo, f"{VERSION} {Path(engine.__file__).stat().st_mtime_ns}", make)
    return str(repo)


def ask(meter: Meter, read: Callable[[], Any]) -> dict[str, int]:
    touch(NEEDED_MB)
    with meter("first"):
        got = read()
    first = zlib.crc32(np.ascontiguousarray(got))
    for _ in range(9):
        with meter("again"):
            got = read()
    meter.memory["over_mb"] = meter.memory["peak_mb"] - meter.memory["base_mb"] - got.nbytes / 1e6
    again = zlib.crc32(np.ascontiguousarray(got))
    return {"all": first} if first == again else {"all": -1}


def icecore(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    os.environ["ICECORE_CACHE"] = "0"
    import icecore

    if not params["icecore"][params["codec"]]:
        raise Absent("icecore was not there when the data was made")
    array = icecore.open(params["icecore"][params["codec"]])["/x"]
    return ask(meter, lambda: array[:])


def folder_of(params: dict[str, Any]) -> str:
    return str(Path(params["zarr"][params["codec"]]) / "x")


def tensorstore(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import tensorstore

    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": folder_of(params)}}
    array = tensorstore.open(spec, open=True).result()
    return ask(meter, lambda: array[:].read().result())


def zarr_python(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import zarr

    array = zarr.open_array(folder_of(params), mode="r")
    return ask(meter, lambda: array[:])


def zarrs(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import zarr
    import zarrs  # noqa: F401
    from icechunk_peer import pipeline

    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    array = zarr.open_array(folder_of(params), mode="r")
    if pipeline(array) != "ZarrsCodecPipeline":
        raise Absent(f"zarr-python used {pipeline(array)}")
    return ask(meter, lambda: array[:])
