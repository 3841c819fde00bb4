"""Which codecs are chosen: never worse than the best candidate, and no longer searched than it can win."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import _icecore
from icecore.analyzer import choose_codec
from icecore.layout import layout
from icecore.tables.text import column_codecs

RNG = np.random.default_rng(31)
CORNERS = ((0, 0), (0, 1), (1, 1), (1, 0))


def bounds(noise: float) -> np.ndarray:
    """Corners of the cells of a curvilinear grid: each inner corner stands in four cells."""
    y, x = np.mgrid[:281, :261]
    corner = 168 * y / 280 + 3 * np.sin(x / 40) * (y / 280) ** 2 + noise * RNG.normal(size=y.shape)
    cells = [corner[dy : 280 + dy, dx : 260 + dx] for dy, dx in CORNERS]
    return np.stack(cells, -1).astype("f4")


def mask() -> np.ndarray:
    y, x = np.mgrid[:1100, :1000]
    return (np.sin(x / 90) + np.cos(y / 70) + 0.2 * np.sin(x * y / 9e4) > 0.3).astype("u1")


def blocks() -> np.ndarray:
    """Noise that comes again 600 kB later."""
    return np.tile(RNG.integers(0, 2**31, 150_000, dtype="i4"), 2)


FAMILIES: dict[str, Callable[[], np.ndarray]] = {
    "smooth bounds": lambda: bounds(0),
    "rough bounds": lambda: bounds(1e-3),
    "mask": mask,
    "repeated blocks": blocks,
    "constant": lambda: np.full((512, 600), 3.25, "f4"),
    "random": lambda: RNG.random((400, 700), "f4"),
}


def stored_by(data: np.ndarray, codec: dict[str, Any], shuffled: bool) -> int:
    """Bytes of all of an array by one compressor."""
    raw = np.ascontiguousarray(data).view("u1").reshape(-1, data.itemsize)
    raw = np.ascontiguousarray(raw.T if shuffled else raw).reshape(-1)
    return len(_icecore.Chain(f'[{{"name": "bytes"}}, {codec}]', '"uint8"').encode(raw, [raw.size]))


@pytest.mark.parametrize("family", FAMILIES)
def test_archive_is_never_worse_than_the_best_compressor(tmp_path: Path, family: str) -> None:
    data = FAMILIES[family]()
    assert data.nbytes >= 1e6
    np.save(tmp_path / "x.npy", data)
    icecore.pack(tmp_path / "x.npy", into=tmp_path / "r", group="/", goal="archive")
    array = icecore.open(tmp_path / "r")["/x"]
    assert np.array_equal(array[...], data)
    zstd = '{"name": "zstd", "configuration": {"level": 22, "checksum": false}}'
    best = min(stored_by(data, zstd, shuffled) for shuffled in (False, True))
    for shuffled in (False, True):
        raw = data.view("u1").reshape(-1, data.itemsize)
        best = min(best, len(lzma.compress((raw.T if shuffled else raw).tobytes(), preset=9)))
    assert array.nbytes_stored <= 1.005 * best + 64


def test_repeated_corners_cost_little(tmp_path: Path) -> None:
    """Four corners a cell take hardly more than one."""
    data = bounds(1e-3)
    stored = {}
    for name, part in (("all", data), ("one", np.ascontiguousarray(data[..., 0]))):
        np.save(tmp_path / f"{name}.npy", part)
        icecore.pack(tmp_path / f"{name}.npy", into=tmp_path / "r", group=f"/{name}", goal="archive")
        stored[name] = icecore.open(tmp_path / "r")[f"/{name}/{name}"].nbytes_stored
    assert stored["all"] < 1.35 * stored["one"]


def pairs(kind: str, noise: float) -> np.ndarray:
    """Bounds along one axis: the end of each cell is the start of the next."""
    edges = np.cumsum(1 + noise * RNG.random(700_001)).astype(kind)
    return np.stack([edges[:-1], edges[1:]], -1)


def unstructured(kind: str) -> np.ndarray:
    """The corners of cells in a list."""
    return np.tile(bounds(1e-3), (1, 5, 1)).astype(kind).reshape(-1, 4)


@pytest.mark.parametrize("family", ["pairs f4", "cells f4", "grid f4"])
def test_archive_of_many_chunks_is_never_worse_than_lzma_of_the_whole(tmp_path: Path, family: str) -> None:
    """Above 4 MiB, where repeats may be farther apart than a chunk is long."""
    made, kind = family.split()
    if made == "pairs":
        data = pairs(kind, 0.1)
    elif made == "cells":
        data = unstructured(kind)
    else:
        y, x = np.mgrid[:601, :501]
        corner = 168 * y / 600 + 3 * np.sin(x / 40) + 1e-3 * RNG.normal(size=y.shape)
        data = np.stack([corner[dy : 600 + dy, dx : 500 + dx] for dy, dx in CORNERS], -1).astype(kind)
    assert data.nbytes > 4 << 20
    np.save(tmp_path / "x.npy", data)
    icecore.pack(tmp_path / "x.npy", into=tmp_path / "r", group="/", goal="archive")
    array = icecore.open(tmp_path / "r")["/x"]
    assert np.array_equal(array[...], data)
    raw = data.view("u1").reshape(-1, data.itemsize)
    best = min(len(lzma.compress(part.tobytes(), preset=6)) for part in (raw, raw.T))
    assert array.nbytes_stored <= best


def test_short_last_axes_are_not_cut() -> None:
    for shape in ((330, 360, 4), (5000, 4000, 2), (40_000_000, 8), (60, 2000, 2000, 3)):
        planned = layout.plan(shape, 4)
        assert planned.chunk[-1] == shape[-1]
        assert planned.unit[-1] == shape[-1]
        assert all(u % c == 0 for u, c in zip(planned.unit, planned.chunk, strict=True))
    assert layout.plan((0, 300, 4), 8).chunk[-1] == 4


@pytest.mark.parametrize("rows", [2500, 8192, 20_000])
def test_slow_ways_see_a_part_of_a_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Counts in no order: only the first codecs gain, and the others are tried on a quarter of the rows."""
    tried: list[tuple[str, int]] = []
    stored = column_codecs._stored

    def counted(candidate: list[dict[str, Any]], sample: np.ndarray) -> int:
        tried.append((candidate[0]["name"], len(sample)))
        return stored(candidate, sample)

    monkeypatch.setattr(column_codecs, "_stored", counted)
    numbers = np.minimum(RNG.lognormal(3, 2, (rows, 10)).astype("i8"), 10**6)
    text = "\n".join(",".join(map(str, row)) for row in numbers.tolist())
    names = ",".join(f"c{i}" for i in range(10))
    (tmp_path / "counts.csv").write_text(f"{names}\n{text}\n")
    icecore.pack(tmp_path / "counts.csv", into=tmp_path / "r", group="/t")
    searches = [n for name, n in tried if name == "icecore.predict"]
    assert len(searches) == 10
    assert max(searches) <= 2048
    assert sum(n for _, n in tried) <= 10 * (6 * 8192), "those that find repeats, and the parts"
    assert np.array_equal(icecore.open(tmp_path / "r")["/t/c3"][...], numbers[:, 3])


def table(tmp_path: Path, name: str, columns: int) -> Path:
    """A table of so many columns of times, all at irregular steps and a constant apart."""
    times = np.datetime64("2004-02-06T10:22:00.123", "ms") + RNG.integers(0, 10**11, 3000)
    apart = [np.timedelta64(i * 86_400_007, "ms") for i in range(columns)]
    rows = zip(*[np.datetime_as_string(times + step) for step in apart], strict=True)
    text = "\n".join(",".join(row) for row in rows)
    path = tmp_path / f"{name}.csv"
    path.write_text(",".join(f"T{i}" for i in range(columns)) + f"\n{text}\n")
    return path


def chunks(repository: Path) -> int:
    return sum(path.stat().st_size for path in (repository / "chunks").rglob("*"))


@pytest.mark.parametrize("portable", [False, True])
def test_columns_a_constant_apart_share_their_bytes(tmp_path: Path, portable: bool) -> None:
    for name, columns in (("one", 1), ("five", 5)):
        icecore.pack(
            table(tmp_path, name, columns), into=tmp_path / f"{name}.r", group="/t", portable=portable
        )
    more = chunks(tmp_path / "five.r") / chunks(tmp_path / "one.r")
    assert (more > 3) if portable else (more < 1.2)
    repo = icecore.open(tmp_path / "five.r")
    first = repo["/t/T0"][...]
    for i in range(5):
        assert np.array_equal(repo[f"/t/T{i}"][...], first + np.timedelta64(i * 86_400_007, "ms"))
        assert np.array_equal(repo[f"/t/T{i}"][1500:1510], repo[f"/t/T{i}"][...][1500:1510])
    assert repo.verify(deep=True) == []


def test_a_shared_chunk_is_written_over_alone(tmp_path: Path) -> None:
    icecore.pack(table(tmp_path, "five", 5), into=tmp_path / "r", group="/t")
    before = {i: icecore.open(tmp_path / "r")[f"/t/T{i}"][...] for i in range(5)}
    with icecore.open(tmp_path / "r").writer("one value") as w:
        w["/t/T2"][7:8] = np.array(["1999-01-01T00:00:00"], before[2].dtype)
    before[2][7] = np.datetime64("1999-01-01T00:00:00")
    repo = icecore.open(tmp_path / "r")
    assert all(np.array_equal(repo[f"/t/T{i}"][...], before[i]) for i in range(5))


def test_speed_is_measured_beside_what_balanced_chooses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one measurement, in turn: of all that it sees, nothing that reads more slowly is chosen."""
    finals: list[tuple[Any, Any, Any]] = []
    confirmed = choose_codec.confirmed

    def noted(kind: Any, sample: Any, choice: Any, seconds: float, base: Any = None) -> Any:
        found = confirmed(kind, sample, choice, seconds, base)
        finals.append((choice.goal.name, base, found))
        return found

    monkeypatch.setattr(choose_codec, "confirmed", noted)
    y, x = np.mgrid[:700, :900]
    np.save(
        tmp_path / "x.npy", (np.sin(x / 50) + np.cos(y / 30) + 0.01 * RNG.normal(size=y.shape)).astype("f4")
    )
    icecore.pack(tmp_path / "x.npy", into=tmp_path / "r", group="/", goal="speed")
    assert [goal for goal, _, _ in finals] == ["balanced", "speed"]
    _, base, found = finals[-1]
    seen = {str(candidate.codecs): candidate for candidate in found.candidates}
    bases = [seen[str(item["codecs"])] for item in base.finalists]
    assert bases, "balanced's finalists are measured in the same rounds"
    choice = found.choices["speed"]
    assert choice.read >= min(candidate.read for candidate in bases)
    assert str(icecore.open(tmp_path / "r")["/x"].codecs).count(choice.codecs[-1]["name"])


@pytest.mark.parametrize("goal", ["archive", "balanced"])
def test_choices_by_bytes_are_repeated(tmp_path: Path, goal: str) -> None:
    """Columns of text tables are chosen by bytes under all goals, arrays under `archive`."""
    times = table(tmp_path, "times", 3)
    array = tmp_path / "x.npy"
    np.save(array, bounds(1e-3)[:100])
    chosen = []
    for name in "ab":
        sources = [times, array] if goal == "archive" else [times]
        icecore.pack(sources, into=tmp_path / name, goal=goal)
        repo = icecore.open(tmp_path / name)
        chosen.append({path: (found.codecs, found.nbytes_stored) for path, found in repo.arrays.items()})
    assert len(chosen[0]) >= 3
    assert chosen[0] == chosen[1]
