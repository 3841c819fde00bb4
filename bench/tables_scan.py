"""Tables: a window of longitude and a whole column, beside Polars, DuckDB and pyarrow on Parquet (zstd).

Rows lie along an orbit whose longitude jumps by 180° twice a turn, so that the minimum and maximum of a row
group say next to nothing. `python bench/tables_scan.py [ROWS] [FOLDER]`; files that are there are used again.
icecore's side is what `icecore pack --summaries` makes of the columns. All sides run in this process,
alternating, files in the page cache; the best of five runs counts, in wall time and CPU time of all threads.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import icecore
import numpy as np

WHERE = "lon between 120.0 and 120.1"
OUT = ["lat", "lon", "tb", "radiance"]
REPEAT = 5


def rows(n: int) -> dict[str, np.ndarray]:
    """Ten columns as a radiometer in a polar orbit gives them, at the precision that instruments give."""
    rng = np.random.default_rng(1)
    per_orbit = 100_000
    phase = np.arange(n) / per_orbit
    lat = np.round(np.degrees(np.arcsin(0.999 * np.sin(2 * np.pi * phase))), 5)
    half = np.floor(2 * phase + 0.5) % 2
    lon = np.round((1.07 * phase + 180 * half + 0.01 * rng.normal(size=n)) % 360, 5)
    tb = np.round(200 + 100 * np.cos(np.radians(lat)) + rng.normal(0, 2, n), 3)
    return {
        "lat": lat,
        "lon": lon,
        "time": 3.8e8 + np.arange(n) * 0.128,
        "tb": tb,
        "radiance": np.round(tb**2 * 1e-4 + rng.normal(0, 0.01, n), 4),
        "emission": np.round(90 * rng.random(n), 2),
        "channel": (np.arange(n) % 9 + 1).astype("i2"),
        "detector": (np.arange(n) % 21 + 1).astype("i2"),
        "quality": rng.integers(0, 16, n).astype("i2"),
        "orbit": phase.astype("i4"),
    }


def make(n: int, here: Path) -> tuple[Path, Path]:
    """The rows as Parquet and as a packed table with summaries."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parquet, repo, raw = (here / f"scan-{n}.{suffix}" for suffix in ("parquet", "icecore", "raw.icecore"))
    if not parquet.exists() or not repo.exists():
        here.mkdir(parents=True, exist_ok=True)
        data = rows(n)
        pq.write_table(pa.table(data), parquet, compression="zstd", row_group_size=1 << 17)
        with icecore.create(raw).writer() as w:
            for name, values in data.items():
                w.array(f"/t/{name}", values.dtype, values.shape, ("row",), codec="none")[...] = values
        del data
        began = time.perf_counter()
        icecore.pack(f"{raw}:/t", into=repo, group="/t", summaries=True)
        print(f"packed and summarised {n:,} rows in {time.perf_counter() - began:.1f} s")
        shutil.rmtree(raw)
    return parquet, repo


def sides(parquet: Path, repo: Path) -> dict[str, dict[str, Callable[[], int]]]:
    """workload → reader → what gives the number of rows."""
    import duckdb
    import polars as pl
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = icecore.open(repo).table("/t")
    low, high = 120.0, 120.1
    lazy = pl.scan_parquet(parquet)
    window = (pc.field("lon") >= low) & (pc.field("lon") <= high)
    names = ", ".join(OUT)
    sql = f"select {names} from '{parquet}' where lon between {low} and {high}"
    return {
        "window": {
            "icecore": lambda: table.scan(OUT, WHERE).read_all().num_rows,
            "icecore, no pruning": lambda: table.scan(OUT, WHERE, prune=False).read_all().num_rows,
            "polars": lambda: len(lazy.filter(pl.col("lon").is_between(low, high)).select(OUT).collect()),
            "duckdb": lambda: duckdb.sql(sql).to_arrow_table().num_rows,
            "pyarrow": lambda: pq.read_table(parquet, columns=OUT, filters=window).num_rows,
        },
        "column": {
            "icecore": lambda: table.to_numpy(["tb"])["tb"].size,
            "polars": lambda: lazy.select("tb").collect()["tb"].to_numpy().size,
            "pyarrow": lambda: pq.read_table(parquet, columns=["tb"])["tb"].to_numpy().size,
        },
    }


def main() -> int:
    """Measure and print."""
    n = int(float(sys.argv[1])) if len(sys.argv) > 1 else 20_000_000
    here = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent / "data"
    parquet, repo = make(n, here)
    stored = sum(f.stat().st_size for f in repo.rglob("*") if f.is_file())
    print(f"{n:,} rows, Parquet {parquet.stat().st_size / 1e6:.0f} MB, icecore {stored / 1e6:.0f} MB")
    for workload, readers in sides(parquet, repo).items():
        best: dict[str, tuple[float, float]] = {}
        counts = set()
        for _ in range(REPEAT):
            for name, read in readers.items():
                used, began = time.process_time(), time.perf_counter()
                counts.add(read())
                now = (time.perf_counter() - began, time.process_time() - used)
                best[name] = min(best.get(name, now)[0], now[0]), min(best.get(name, now)[1], now[1])
        assert len(counts) == 1, f"the readers disagree: {counts}"
        print(f"{workload}: {counts.pop():,} rows")
        for name, (wall, cpu) in best.items():
            walls, cpus = best["polars"][0] / wall, best["polars"][1] / cpu
            figures = f"{wall * 1e3:9.2f} ms {walls:7.2f} x polars   CPU {cpu * 1e3:9.2f} ms {cpus:7.2f} x"
            print(f"  {name.ljust(20)} {figures}")
    scan = icecore.open(repo).table("/t").scan(OUT, WHERE)
    scan.count()
    print(scan.report())
    return 0


if __name__ == "__main__":
    sys.exit(main())
