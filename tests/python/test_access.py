"""Layouts for the reads that are named: what is understood, planned, measured and explained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from icecore.cli import table
from icecore.ingest.follow.follower import Follower
from icecore.layout import access_pattern, layout, layout_benchmark
from typer.testing import CliRunner

RNG = np.random.default_rng(23)
MAPS, SERIES = "time=1,y=all,x=all", "time=all,y=1,x=1"
DIMS = ("time", "y", "x")


@pytest.fixture
def cube(tmp_path: Path) -> str:
    """/t2m (96, 80, 100), its coordinates, and something else."""
    path = tmp_path / "cube.icecore"
    with icecore.create(path).writer() as w:
        w.array("/t2m", "f4", (96, 80, 100), DIMS)[...] = RNG.normal(size=(96, 80, 100)).astype("f4")
        w.array("/time", "f8", (96,), ("time",))[...] = np.arange(96)
        w.array("/other", "i2", (7, 9), ("a", "b"))[...] = 1
    return str(path)


def test_what_is_understood() -> None:
    maps, series = access_pattern.parse(f"{MAPS}:0.7; {SERIES}:0.3")
    assert (maps.lengths, maps.probability) == ({"time": 1, "y": None, "x": None}, 0.7)
    assert series.extent((96, 80, 100), DIMS) == [96, 1, 1]
    assert series.extent((80, 96), ("y", "time")) == [1, 96], "by name, whatever the order"
    assert access_pattern.parse("1,all,all")[0].extent((96, 80, 100), DIMS) == [1, 80, 100]
    assert [p.probability for p in access_pattern.parse(f"{MAPS}; {SERIES}")] == [0.5, 0.5]
    same = access_pattern.parse([({"time": 1, "y": None, "x": None}, 0.7), ((None, 1, 1), 0.3)])
    assert same[0] == maps
    assert same[1].extent((96, 80, 100), DIMS) == [96, 1, 1]
    assert access_pattern.parse(None) == ()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (f"{MAPS}:0.7; {SERIES}:0.2", ["0.7 + 0.2", "0.9"]),
        ("time=1:often", ["'often'", "probability"]),
        ("time=0", ["'0'", "length"]),
        ("time=1,all", ["have a name"]),
        ("", ["no reads"]),
        ([], ["no reads"]),
        ("time=1,time=2", ["time has two lengths"]),
        ("time=1:nan", ["time=1:nan", "probabilities"]),
        ("time=²", ["'²'", "length"]),
        ([({"time": 1.5}, 1)], ["1.5", "pair"]),
        ([{"time": 1}], ["pair"]),
        ([({"time": 0}, 1)], ["lengths are 1 or more"]),
        ("level=1,y=all", ["'level'", "known: a, b, time, x, y"]),
        ("time=97,y=1", ["time=97", "96", "time=all"]),
        ("1,1,1,1", ["4 axes", "1, 2, 3"]),
        ("1,81,all", ["81 along axis 1", "80"]),
    ],
)
def test_what_makes_no_sense_is_explained(cube: str, tmp_path: Path, spec: Any, words: list[str]) -> None:
    with pytest.raises(icecore.Error) as caught:
        icecore.pack(cube, tmp_path / "r.icecore", access=spec)
    assert caught.value.kind == "invalid"
    said = f"{caught.value.message} {caught.value.hint}"
    assert all(word in said for word in words), said
    assert not (tmp_path / "r.icecore").exists()


def test_chunks_follow_the_reads(cube: str, tmp_path: Path) -> None:
    shapes = {}
    for name, spec in (("maps", MAPS), ("series", SERIES)):
        icecore.pack(cube, tmp_path / name, access=spec)
        repo = icecore.open(tmp_path / name)
        chunks = repo["/t2m"].chunks
        assert chunks is not None
        shapes[name] = chunks
        assert repo["/other"].chunks == (7, 9), "nothing was said about it"
        np.testing.assert_array_equal(repo["/t2m"].read(), icecore.open(cube)["/t2m"].read())
    (few, *_), (many, *_) = shapes["maps"], shapes["series"]
    assert few < 10
    assert many == 96


def test_on_the_command_line(cube: str, tmp_path: Path) -> None:
    more = ["--access", f"{MAPS}:0.9; {SERIES}:0.1", "--measure", "--codec", "lz4", "--json"]
    done = CliRunner().invoke(table(), ["pack", cube, "--into", str(tmp_path / "r"), *more])
    assert done.exit_code == 0, done.output
    chunks = icecore.open(tmp_path / "r")["/t2m"].chunks
    assert chunks is not None
    assert chunks[0] < chunks[1], "maps are read most"


def test_an_array_that_grows(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as w:
        maps = w.array("/maps", "f4", (0, 200, 300), DIMS, access=MAPS)
        series = w.array("/series", "f4", (0, 200, 300), DIMS, access=SERIES)
        maps.append(np.zeros((2, 200, 300)))
        series.append(np.zeros((2, 200, 300)))
        with pytest.raises(icecore.Error, match="level"):
            w.array("/bad", "f4", (0, 4), ("time", "y"), access="level=1")
    repo = icecore.open(repo_path)
    maps_chunks, series_chunks = repo["/maps"].chunks, repo["/series"].chunks
    assert maps_chunks is not None
    assert series_chunks is not None
    assert (maps_chunks[0], series_chunks[0] > 100) == (1, True)


def test_measured(cube: str, tmp_path: Path) -> None:
    """The trial takes one of the planner's layouts, and data is right whichever it is."""
    spec = f"{MAPS}:0.5; {SERIES}:0.5"
    icecore.pack(cube, tmp_path / "r", access=spec, measure=True)
    array = icecore.open(tmp_path / "r")["/t2m"]
    reads = access_pattern.queries(access_pattern.parse(spec), array.shape, DIMS)
    source = icecore.open(cube)["/t2m"].chunks
    candidates = [
        layout.plan(array.shape, 4, source_chunk=source, reads=reads, inner_bytes=bounds)
        for bounds in layout_benchmark._BOUNDS
    ]
    assert layout.Layout(array.chunks or (), array.shards) in candidates
    np.testing.assert_array_equal(array.read(), icecore.open(cube)["/t2m"].read())
    with pytest.raises(icecore.Error, match="measure"):
        icecore.pack(cube, tmp_path / "s", measure=True)
    assert layout_benchmark.part((1000, 1000, 1000), 4) == [250, 250, 250]


@pytest.fixture
def steps(tmp_path: Path) -> list[Path]:
    """/t2m of one map a file, along a time that goes on."""
    paths = [tmp_path / "steps" / f"{i:02}.h5" for i in range(10)]
    paths[0].parent.mkdir()
    axes = {"time": 1, "y": 200, "x": 300}
    for i, path in enumerate(paths):
        with h5py.File(path, "w") as file:
            data = file.create_dataset("t2m", data=RNG.normal(size=(1, 200, 300)).astype("f4"))
            for axis, (name, n) in enumerate(axes.items()):
                file[name] = np.arange(n) + (i if name == "time" else 0)
                file[name].make_scale(name)
                data.dims[axis].attach_scale(file[name])
    return paths


@pytest.mark.parametrize(
    ("spec", "rows", "most"),
    [(MAPS, {1}, 200 * 300), (SERIES, {4}, 200 * 300), ("time=8,y=1,x=1", {4}, 200 * 300)],
)
@pytest.mark.parametrize("measure", [False, True])
def test_files_that_are_followed(
    steps: list[Path], repo_path: str, spec: str, rows: set[int], most: int, measure: bool
) -> None:
    """The first of them is not all that there will be."""
    follower = Follower(
        steps[0].parent, repo_path, "/g", "time", poll=0.01, access=spec, measure=measure, codec="lz4"
    )
    events = list(follower.run(until_idle=0.2))
    assert [event.failure for event in events] == [None] * len(steps)
    array = icecore.open(repo_path)["/g/t2m"]
    assert array.shape == (10, 200, 300)
    assert array.chunks is not None
    # What the clock chooses for maps may vary.
    assert array.chunks[0] in (rows if not measure or spec != MAPS else {1, 2, 4})
    assert measure or array.chunks[0] * array.chunks[1] * array.chunks[2] <= most


def test_more_rows_for_the_same_reads(steps: list[Path], repo_path: str) -> None:
    """A read may be longer than what is appended."""
    spec = "time=8,y=1,x=1"
    icecore.pack(steps[:9], repo_path, "/g", "time", access=spec)
    icecore.pack(steps[9], repo_path, "/g", "time", access=spec, append=True)
    assert icecore.open(repo_path)["/g/t2m"].shape == (10, 200, 300)


def test_a_trial_keeps_to_the_memory(cube: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    expected = layout_benchmark.expected

    def seen(entry: Any, data: np.ndarray, *others: Any) -> float:
        sizes.append(data.nbytes)
        return expected(entry, data, *others)

    monkeypatch.setattr(layout_benchmark, "expected", seen)
    icecore.pack(cube, tmp_path / "r", access=SERIES, measure=True, memory="1MB", codec="lz4")
    assert sizes
    assert max(sizes) <= 1_000_000


def test_a_trial_minds_no_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads that something else held up don't count."""

    class Slow:
        shape = (1000,)
        reads = 0

        def read(self, sel: Any) -> None:
            self.reads += 1
            now[0] += 1.0 if self.reads <= layout_benchmark._READS else 0.001

    now = [0.0]
    monkeypatch.setattr(layout_benchmark.time, "perf_counter", lambda: now[0])
    query = access_pattern.Query((10,), 1.0, "ten")
    assert layout_benchmark._seconds(Slow(), query, np.random.default_rng(0), 1e9) == pytest.approx(0.001)  # type: ignore[arg-type]


def test_explain(cube: str, tmp_path: Path) -> None:
    chunk, shard = {"time": 8, "y": 20, "x": 25}, {"time": 48, "y": 80, "x": 100}
    icecore.pack(cube, tmp_path / "r", chunk=chunk, shard=shard, codec="none")
    spec = f"{MAPS}:0.75; {SERIES}:0.25"
    done = CliRunner().invoke(table(), ["explain", str(tmp_path / "r"), "/t2m", "--access", spec, "--json"])
    assert done.exit_code == 0, done.output
    maps, series = json.loads(done.output)
    size = 8 * 20 * 25 * 4 + 4  # with its checksum
    # a map lies in one layer of 4 x 4 chunks, a series in 12 chunks of two shards
    assert (maps["chunks"], maps["bytes_fetched"], maps["expected_chunks"]) == (16, 16 * size, 16)
    assert maps["bytes_out"] == 80 * 100 * 4
    assert maps["requests"] == 1
    assert (series["chunks"], series["expected_chunks"]) == (12, 12)
    assert series["bytes_fetched"] >= 12 * size
    done = CliRunner().invoke(table(), ["explain", str(tmp_path / "r"), "/t2m", "--access", spec])
    assert done.output.splitlines()[2].split()[:3] == ["time=1,y=all,x=all", "0.75", "1.0"]
    assert done.output.splitlines()[-1].startswith("all ")
    bad = CliRunner().invoke(table(), ["explain", str(tmp_path / "r"), "/t2m", "0:1", "--access", spec])
    assert bad.exit_code == 1


def test_tables_of_text_say_what_is_not_for_them(tmp_path: Path) -> None:
    """Their columns are laid out for scans, whatever is asked for."""
    (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(f"{i},{i * 2}" for i in range(9)))
    np.save(tmp_path / "x.npy", np.arange(5))
    report = icecore.pack(tmp_path / "t.csv", tmp_path / "r", access="1:1", codec="zstd")
    (note,) = [note for note in report.notes if note.kind == "ignored"]
    assert note.name == "/t"
    assert note.message.startswith("access, codec are for arrays")
    report = icecore.pack([tmp_path / "t.csv", tmp_path / "x.npy"], tmp_path / "q", chunk=(2,))
    assert [note.message.split()[0] for note in report.notes if note.kind == "ignored"] == ["chunk"]
    assert icecore.open(tmp_path / "q")["/x/x"].chunks == (2,)
    report = icecore.pack(tmp_path / "t.csv", tmp_path / "p")
    assert not [note for note in report.notes if note.kind == "ignored"]
