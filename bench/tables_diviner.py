"""18 Diviner tables, the rows of 0.1° of longitude with all 33 columns: beside zstd | awk, DuckDB, Polars.

`python bench/tables_diviner.py [SAMPLES] [FOLDER]`: SAMPLES of each table (189 rows each; ten minutes of the
instrument are 4688, 500 the default), made by `icecore.samples.rdr`, ten minutes apart, and packed from what
zstd made of them; files that are there are used again. Parquet (zstd, one file a table, pyarrow's row groups)
has the same columns and types. Files lie in the page cache; the best of five runs counts, in wall and CPU
time (all threads and children). "text" is bytes of text over the time: what a filter of the text would have
to reach. Bytes read are those of read calls, children's too (pipes count twice); what is mapped into memory
is not among them.
"""

from __future__ import annotations

import datetime
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import icecore
import numpy as np
from icecore.samples import rdr
from icecore.tables.text.restore import sources

FILES = 18
REPEAT = 5


def texts(samples: int, here: Path) -> list[Path]:
    """The tables, each compressed by zstd -3; the text itself is not kept, 18 full tables are 5.5 GB."""
    here.mkdir(parents=True, exist_ok=True)
    begin = datetime.datetime(2009, 8, 1)
    paths = []
    for number in range(FILES):
        path = here / f"{number:02}.tab.zst"
        if not path.exists():
            start = begin + datetime.timedelta(minutes=10 * number)
            rdr.write(path.with_suffix(""), samples, start=start.isoformat(), seed=number + 1)
            subprocess.run(["zstd", "-q", "-3", "--rm", str(path.with_suffix(""))], check=True)
        paths.append(path)
    return paths


def packed(paths: list[Path], here: Path) -> Path:
    """All of them as one packed table."""
    repo = here / "diviner.icecore"
    if not repo.exists():
        began, used = time.perf_counter(), cpu()
        icecore.pack([str(path) for path in paths], into=repo, group="/d", concat="rows")
        print(f"packed in {time.perf_counter() - began:.1f} s ({cpu() - used:.1f} s of CPU)")
    return repo


def parquet(repo: Path, here: Path) -> list[Path]:
    """The same rows and types as Parquet, one file a table."""
    import pyarrow.parquet as pq

    files = []
    for source in sources(icecore.open(repo), "/d"):
        file = here / Path(source.name).with_suffix(".parquet").name
        if not file.exists():
            rows = icecore.open(repo).table("/d").scan(source=source.name).read_all()
            pq.write_table(rows, file, compression="zstd")
        files.append(file)
    return files


def sides(here: Path, repo: Path, low: float, high: float) -> dict[str, Callable[[], int]]:
    """reader → what gives the number of rows."""
    import duckdb
    import polars as pl

    table = icecore.open(repo).table("/d")
    where = f"clon between {low} and {high}"
    lazy = pl.scan_parquet(here / "*.parquet")
    awk = f"zstd -dcq {here}/*.tab.zst | awk -F, '$26>={low} && $26<={high} {{n++}} END {{print n+0}}'"
    duckdb.sql("set enable_progress_bar = false")
    sql = f"select * from '{here}/*.parquet' where {where}"
    return {
        "icecore": lambda: table.scan(where=where).read_all().num_rows,
        "icecore, no pruning": lambda: table.scan(where=where, prune=False).read_all().num_rows,
        "icecore, opened anew": lambda: icecore.open(repo).table("/d").scan(where=where).read_all().num_rows,
        "duckdb": lambda: duckdb.sql(sql).to_arrow_table().num_rows,
        "polars": lambda: len(lazy.filter(pl.col("clon").is_between(low, high)).collect()),
        "zstd | awk": lambda: int(subprocess.run(awk, shell=True, check=True, capture_output=True).stdout),
    }


def cpu() -> float:
    """CPU seconds of this process and the children that ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def read_bytes() -> int:
    """Bytes that this process has read so far."""
    return int(Path("/proc/self/io").read_text().split()[1])


def main() -> int:
    """Measure and print."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    here = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent / "data" / f"diviner-{samples}"
    paths = texts(samples, here)
    repo = packed(paths, here)
    files = parquet(repo, here)
    text = sum(source.nbytes or 0 for source in sources(icecore.open(repo), "/d"))
    stored = sum(f.stat().st_size for f in repo.rglob("*") if f.is_file())
    clon = icecore.open(repo).table("/d").to_numpy(["clon"])["clon"]
    low = float(np.floor(10 * np.quantile(clon[clon >= 0], 1e-3)) / 10)
    print(
        f"{FILES} tables, {clon.size:,} rows, text {text / 1e6:.0f} MB, "
        f"zstd -3 {sum(path.stat().st_size for path in paths) / 1e6:.1f} MB, "
        f"Parquet {sum(f.stat().st_size for f in files) / 1e6:.1f} MB, icecore {stored / 1e6:.1f} MB"
    )
    readers = sides(here, repo, low, round(low + 0.1, 1))
    best: dict[str, tuple[float, float, int]] = {}
    counts = set()
    for _ in range(REPEAT):
        for name, reader in readers.items():
            before, used, began = read_bytes(), cpu(), time.perf_counter()
            counts.add(reader())
            now = (time.perf_counter() - began, cpu() - used, read_bytes() - before)
            best[name] = tuple(map(min, best.get(name, now), now))  # type: ignore[assignment]
    assert len(counts) == 1, f"the readers disagree: {counts}"
    print(f"clon between {low} and {low + 0.1:.1f}: {counts.pop():,} rows of all columns")
    print(f"{'':22}{'wall':>10}{'text':>12}{'CPU':>11}{'text a core':>14}{'read':>12}")
    for name, (wall, used, read) in best.items():
        speed, core = text / wall / 1e9, text / used / 1e9
        row = f"{wall * 1e3:7.1f} ms{speed:7.1f} GB/s{used * 1e3:8.1f} ms{core:9.1f} GB/s{read / 1e6:9.2f} MB"
        print(f"{name:22}{row}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
