"""The first and last of times, and histograms, as NumPy has them: of all rows, by keys, from summaries."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.tables.summaries import write

pa = pytest.importorskip("pyarrow")

RNG = np.random.default_rng(5)
N = 20_000
KEY = RNG.integers(0, 4, N)
TIMES = {
    f"{kind}{unit}": RNG.integers(-(10**6), 10**6, N).astype(f"{kind}8[{unit}]")
    for kind in "Mm"
    for unit in ("D", "h", "s", "ms", "us")
}
for _column in TIMES.values():
    _column[::7] = "NaT"
TIMES["none"] = np.full(N, "NaT", "M8[s]")
NUMBERS = {
    "tenths": RNG.integers(-50, 51, N) / 10,  # on the edges of bins, both ends included
    "f4": RNG.normal(0, 10, N).astype("f4"),
    "gaps": np.where(RNG.random(N) < 0.3, np.nan, RNG.normal(0, 3, N)),
    "i2": RNG.integers(-300, 300, N).astype("i2"),
    "u1": RNG.integers(0, 256, N).astype("u1"),
    "huge": RNG.integers(-(2**62), 2**62, N),
    "none": np.full(N, np.nan),
}


def table(path: Path, columns: dict[str, np.ndarray]) -> icecore.Repo:
    repo = icecore.create(path)
    with repo.writer() as w:
        for name, values in {**columns, "key": KEY}.items():
            w.array(f"/t/{name}", values.dtype, values.shape, chunks=(5000,))[...] = values
    return icecore.open(path)


def same(found: object, wanted: np.generic | None) -> bool:
    return found is None if wanted is None else bool(np.array(found, wanted.dtype) == wanted)


@pytest.mark.parametrize("summarised", [False, True])
def test_first_and_last_times(tmp_path: Path, summarised: bool) -> None:
    repo = table(tmp_path / "r", TIMES)
    if summarised:
        write.write(repo, "/t")
        repo = icecore.open(tmp_path / "r")
    t = repo.table("/t")
    for name, values in TIMES.items():
        for where, kept in ((None, KEY >= 0), ("key = 2", KEY == 2)):
            there = values[kept & ~np.isnat(values)]
            low, high, count = t.reduce(f"min:{name}, max:{name}, count:{name}", where)[0].values()
            assert count == there.size
            assert same(low, there.min() if there.size else None)
            assert same(high, there.max() if there.size else None)
        for row in t.reduce(f"max:{name}, count:{name} by key"):
            there = values[(row["key"] == KEY) & ~np.isnat(values)]
            assert row[f"count:{name}"] == there.size
            assert same(row[f"max:{name}"], there.max() if there.size else None)
    with pytest.raises(icecore.Error, match="min:MD or max:MD"):
        t.reduce("mean:MD")


def test_histograms_are_numpys(tmp_path: Path) -> None:
    t = table(tmp_path / "r", NUMBERS).table("/t")
    for name, values in NUMBERS.items():
        for bins, span in ((1, None), (40, None), (7, (-5.0, 5.0)), (10, (-0.3, 0.3)), (13, (1e6, 2e6))):
            what = f"histogram:{name}:{bins}" + (f":{span[0]}:{span[1]}" if span else "")
            for where, kept in ((None, KEY >= 0), ("key > 1", KEY > 1)):
                there = values[kept & ~np.isnan(values)].astype("f8")
                counts, edges = np.histogram(there, bins, span)
                found = t.reduce(what, where)[0][what]
                assert found["counts"] == counts.tolist()
                if there.size:
                    assert (found["low"], found["high"]) == (edges[0], edges[-1])
            for row in t.reduce(f"{what} by key") if span else ():
                there = values[(row["key"] == KEY) & ~np.isnan(values)].astype("f8")
                assert row[what]["counts"] == np.histogram(there, bins, span)[0].tolist()
