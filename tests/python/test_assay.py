"""``icecore assay``: figures of every codec, as a value, a table and files; whole files by programs."""

from __future__ import annotations

import csv
import json
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import cli
from icecore.analyzer import external_compressors, extrapolate
from icecore.analyzer.measure import Candidate, Goal, Measurement, measure
from icecore.analyzer.sample import Kind, take

RNG = np.random.default_rng(29)


def smooth(shape: tuple[int, ...]) -> np.ndarray:
    axes = np.meshgrid(*[np.linspace(0, 3, n) for n in shape], indexing="ij")
    return (280 + 10 * np.sin(sum(axes)) + RNG.normal(0, 1e-3, shape)).astype("f4")


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("assay") / "x.npy"
    np.save(path, smooth((40, 40, 50)))
    return path


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("assay") / "x.npy"
    np.save(path, smooth((2000,)))
    return path


@pytest.fixture(scope="module")
def found(field: Path) -> icecore.Assay:
    return icecore.assay(field)


def test_figures(found: icecore.Assay) -> None:
    (array,) = found.arrays
    assert (array.path, array.dtype, array.nbytes) == ("/x", "float32", 320_000)
    assert (array.chunks, array.of, array.sampled) == (1, 1, array.nbytes), "as a pack measures it"
    labels = [c.label for c in array.candidates]
    assert len(labels) == len(set(labels)) > 30
    wanted = {"raw", "zlib-6", "gzip-6", "bzip2-9", "lzma-9", "lz4", "zstd-3", "zstd-22", "pco-8", "pco-12"}
    assert wanted | {"blosc shuffle zstd-3", "blosc bitshuffle lz4-5", "bwc+zlib-6"} <= set(labels)
    measured = [c for c in array.candidates if c.state == "measured"]
    assert all(c.ratio > 0 and c.write > 0 and c.read > 0 and c.blocks for c in measured)
    assert set(array.choices) == {"archive", "balanced", "speed"}
    front = [c for c in measured if c.frontier]
    for c in front:
        assert not any(o.ratio > c.ratio and o.read > c.read for o in measured), c.label
    for goal, choice in array.choices.items():
        picked = [c for c in array.candidates if goal in c.chosen_for]
        assert {c.label for c in picked} == set(choice.label.split(" | "))
    assert array.choices["archive"].ratio >= max(c.ratio for c in measured) * 0.999


@pytest.mark.parametrize("goal", ["archive", "speed"])
def test_a_pack_reaches_what_was_foreseen(
    found: icecore.Assay, field: Path, tmp_path: Path, goal: str
) -> None:
    choice = found.arrays[0].choices[goal]
    icecore.pack(field, tmp_path / "r.icecore", "/", codec=choice.codecs)
    array = icecore.open(tmp_path / "r.icecore")["/x"]
    assert isinstance(array, icecore.Array)
    assert array.nbytes / array.nbytes_stored == pytest.approx(choice.ratio, rel=0.03)


def test_a_part_stands_for_the_whole(tmp_path: Path) -> None:
    data = smooth((150, 100, 100))
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/x", "f4", data.shape, chunks=(5, 50, 50), codec="none")[...] = data
    repo = icecore.open(tmp_path / "r.icecore")
    found = icecore.assay(f"{tmp_path}/r.icecore:/x", seconds=1, portable=True)
    array = found.arrays[0]
    assert (array.chunk, array.of) == ((5, 50, 50), 120), "the array's own chunks"
    again = icecore.assay(repo["/x"], seconds=0, portable=True)
    assert [a.path for a in again.arrays] == ["/x"]
    choice = array.choices["balanced"]
    options = {"chunk": (5, 50, 50), "codec": choice.codecs}
    icecore.pack(f"{tmp_path}/r.icecore", tmp_path / "s.icecore", "/", **options)
    stored = icecore.open(tmp_path / "s.icecore")["/x"]
    assert isinstance(stored, icecore.Array)
    assert stored.nbytes / stored.nbytes_stored == pytest.approx(choice.ratio, rel=0.03)


def test_an_assay_in_a_hurry_measures_parts(field: Path) -> None:
    (array,) = icecore.assay(field, seconds=0, portable=True).arrays
    assert array.chunks == 3 < array.of
    assert array.sampled == 3 * np.prod(array.chunk) * 4 >= array.nbytes / 8


def test_a_pack_chooses_alike(found: icecore.Assay, field: Path, tmp_path: Path) -> None:
    """Bytes are all that counts, so that no clock takes part."""
    icecore.pack(field, tmp_path / "r.icecore", "/", goal="archive")
    kept = icecore.open(tmp_path / "r.icecore")["/x"]._node.ours["codec"]
    choice = found.arrays[0].choices["archive"]
    assert (kept["chosen"], kept["ratio"]) == (choice.label, pytest.approx(choice.ratio, abs=1e-3))


def test_what_stays_as_it_is_gains_nothing() -> None:
    assert extrapolate._scaled(1.0, 1.5, 1.8) == 1.0
    assert extrapolate._scaled(3.0, 1.5, 1.8) == pytest.approx(3.6)
    assert 1.2 < extrapolate._scaled(1.2, 1.5, 1.8) < 1.2 * 1.8 / 1.5
    assert extrapolate._scaled(1.5, 1.5, 1.8) == pytest.approx(1.8)
    assert extrapolate._scaled(2.0, 0.0, 1.8) == 2.0


def test_what_is_too_slow_for_all_is_told_by_what_is_quick() -> None:
    data = smooth((24, 60, 70))
    kind = Kind("float32", data.dtype, 0)
    whole = extrapolate.Spread(kind, data.shape, (24, 30, 35), data.__getitem__)
    part = take(kind, data.shape, (6, 15, 18), data.__getitem__, 1 << 14, 1 << 14)
    codecs = [{"name": "icecore.predict", "configuration": {"modes": ["lorenzo"]}}]

    def gain(write: float) -> float:
        quick = Candidate("quick", codecs, "measured", "", 3.0, write, 500.0, 3)
        return whole._relative(Measurement([quick], {}), part)

    default = [whole._ratio(sample, whole._codecs) for sample in (whole._wide, part)]
    assert gain(1.0) == default[0] / default[1], "none is quick: as the type's default"
    stored = [whole._ratio(sample, codecs) for sample in (whole._wide, part)]
    assert gain(100.0) == stored[0] / stored[1] > 1.05, "longer runs of neighbours"


def test_what_was_seen_is_not_measured_again() -> None:
    data = smooth((24, 60, 70))
    kind = Kind("float32", data.dtype, 0)
    whole = extrapolate.Spread(kind, data.shape, (6, 30, 35), data.__getitem__)
    seen = extrapolate._first(whole._wide, 3)
    only = [
        {"label": "quick", "codecs": [{"name": "icecore.predict", "configuration": {"modes": ["lorenzo"]}}]}
    ]
    choice = measure(kind, seen, [Goal("archive")], only=only).choices["archive"]
    rest = whole._behind(seen)
    assert [len(part.blocks) for part in (seen, rest)] == [3, 13]
    wider = whole._chosen(choice, seen, rest, seconds=0)
    assert wider.blocks in (6, 7), "three at least, two at once where there are two cores"
    both = extrapolate._first(whole._wide, wider.blocks)
    assert wider.ratio == pytest.approx(whole._ratio(both, choice.codecs) * whole._factor(both))
    other = take(kind, data.shape, (6, 15, 18), data.__getitem__, 1 << 14, 1 << 14)
    assert whole._behind(other) is whole._wide


def test_files(found: icecore.Assay, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for suffix in (".html", ".png", ".csv", ".json"):
        found.write(str(tmp_path / f"a{suffix}"))
    page = (tmp_path / "a.html").read_text()
    assert page.count("<svg") == 2
    assert "prefers-color-scheme: dark" in page
    assert "src=" not in page
    assert "href=" not in page
    labels = [c.label for c in found.arrays[0].candidates if c.blocks]
    assert all(label in page for label in labels)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["codec"] for row in rows] == [c.label for c in found.arrays[0].candidates]
    assert float(rows[0]["ratio"]) == found.arrays[0].candidates[0].ratio
    kept = json.loads((tmp_path / "a.json").read_text())
    assert kept["arrays"][0]["choices"]["archive"]["label"] == found.arrays[0].choices["archive"].label


def test_command_line(line: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.csv"
    assert cli.run(["assay", str(line), "-o", str(out), "--portable", "--bandwidth", "50MB/s"]) == 0
    printed = capsys.readouterr()
    assert "balanced at 50 MB/s" in printed.out
    assert "LZO" in printed.out
    assert "pco" not in printed.out, "not portable"
    assert f"written: {out}" in printed.err
    assert out.exists()
    assert cli.run(["assay", str(line), "--json", "--array", "x", "--seconds", "0"]) == 0
    assert json.loads(capsys.readouterr().out)["arrays"][0]["path"] == "/x"


def test_largest_arrays_by_themselves(tmp_path: Path) -> None:
    names = {f"a{i}": RNG.integers(0, 9, 20_000 + i).astype("i4") for i in range(10)}
    np.savez(tmp_path / "many.npz", little=np.arange(5), **names)
    found = icecore.assay(tmp_path / "many.npz", seconds=8, portable=True)
    assert len(found.arrays) == 8
    assert "3 smaller arrays" in found.notes[0]
    found = icecore.assay(tmp_path / "many.npz", seconds=0.01, portable=True)
    assert [a.path for a in found.arrays] == ["/a9"]
    assert "10 smaller arrays" in found.notes[0]
    assert "more --seconds" in found.notes[0]
    found = icecore.assay(tmp_path / "many.npz", ["/a1", "little"], seconds=0, portable=True)
    assert [a.path for a in found.arrays] == ["/a1", "/little"]


@pytest.mark.parametrize("rows", [100, 600])  # below and above 16 MB
def test_little_time_is_for_small_parts(tmp_path: Path, rows: int) -> None:
    field = np.cumsum(RNG.normal(size=(rows, 128, 128)), axis=0).astype("f4")
    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/x", "f4", field.shape, chunks=(50, 128, 128), codec="default")[...] = field
    (array,) = icecore.assay(tmp_path / "r", seconds=0.01, portable=True).arrays
    assert array.sampled <= 256 << 10


KINDS = {
    "zero": np.zeros((200, 300), "f8"),
    "nan": np.full((200, 300), np.nan, "f8"),
    "size 0": np.empty((0, 5), "f4"),
    "scalar": np.array(3.5),
    "bool": RNG.random((300, 400)) > 0.9,
    "int8": RNG.integers(-5, 50, (300, 400)).astype("i1"),
    "complex": (RNG.random(20_000) + 1j).astype("c8"),
    "bytes": np.array([b"ab", b"cde"] * 20_000, "S3"),
    "text": np.array(["ä", "日本語"] * 20_000, "U3"),
    "rows": np.zeros(10_000, [("a", "i4"), ("b", "f8")]),
    "strings": np.array(["some", "words", "again"] * 10_000, object),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(tmp_path: Path, kind: str) -> None:
    data = KINDS[kind]
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/x", str if data.dtype == "O" else data.dtype, data.shape)[...] = data
    found = icecore.assay(tmp_path / "r.icecore", seconds=0)
    (array,) = found.arrays
    stored = (
        bool(data.size and (data != np.zeros((), data.dtype)).any()) if data.dtype.names is None else False
    )
    assert bool(array.choices) == stored
    assert not [c for c in array.candidates if c.state == "failed"]
    assert ("nothing to choose" in str(found)) != stored


def test_unknown_types_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "z.zarr" / "x"
    folder.mkdir(parents=True)
    (tmp_path / "z.zarr" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4],
        "data_type": {"name": "float8_of_the_future"},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": [{"name": "bytes"}],
    }
    (folder / "zarr.json").write_text(json.dumps(document))
    with pytest.raises(icecore.Error):
        icecore.assay(tmp_path / "z.zarr")


def test_measured_only_is_never_chosen(line: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    better = SimpleNamespace(compress=lambda data, quality: b"?", decompress=lambda data: data)
    monkeypatch.setitem(__import__("sys").modules, "brotli", better)
    failed = [c for c in icecore.assay(line, seconds=0).arrays[0].candidates if "brotli" in c.label]
    assert {c.state for c in failed} == {"failed"}, "it does not reproduce its input"
    real = SimpleNamespace(
        compress=lambda data, quality: zlib.compress(data, quality), decompress=zlib.decompress
    )
    monkeypatch.setitem(__import__("sys").modules, "brotli", real)
    only = [c for c in icecore.assay(line, seconds=0).arrays[0].candidates if "brotli" in c.label]
    assert {(c.state, c.chosen_for, c.frontier) for c in only} == {("measured only", (), False)}


def test_whole_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = [u for u in external_compressors.UTILITIES if u.name in ("gzip", "zip", "zstd") and u.present]
    if not quick:
        pytest.skip("none of gzip, zip and zstd is installed")
    absent = external_compressors.Utility("squeeze", ("icecore-has-no-such-program",), ("cat",), ("1",))
    monkeypatch.setattr(external_compressors, "UTILITIES", (*quick, absent))
    path = tmp_path / "notes.bin"
    path.write_bytes(b"\x00some words, again and again\xff" * 3000)
    found = icecore.assay(path)
    (file,) = found.files
    assert not found.arrays
    assert file.absent == ["squeeze"]
    assert {p.program.split()[0] for p in file.programs} == {u.name for u in quick}
    assert all(p.ratio > 20 and p.pack > 0 and p.unpack > 0 for p in file.programs)
    assert "not installed here: squeeze" in str(found)
    for suffix in (".html", ".csv"):
        found.write(str(tmp_path / f"a{suffix}"))
    assert (tmp_path / "a.html").read_text().count("<svg") == 2
    with open(tmp_path / "a.csv", newline="") as rows:
        assert len(list(csv.DictReader(rows))) == len(file.programs)


def test_what_it_refuses(line: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, kind in (
        (["missing.nc"], "source-missing"),
        ([str(tmp_path)], "source-missing"),
        ([str(line), "--array", "/nope"], "not-found"),
        ([str(line), "-o", "report.pdf"], "unsupported"),
        ([str(line), "--bandwidth", "soon"], "invalid"),
    ):
        assert cli.run(["assay", *arguments]) == 2
        assert f"error[{kind}]" in capsys.readouterr().err, arguments
    nowhere: Any = tmp_path / "no" / "such" / "folder.csv"
    with pytest.raises(icecore.Error, match="folder"):
        icecore.assay(line, seconds=0, portable=True).write(str(nowhere))


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0])
def test_no_time_to_measure_in(seconds: float) -> None:
    with pytest.raises(icecore.Error, match="seconds") as caught:
        icecore.assay("x.nc", seconds=seconds)
    assert caught.value.kind == "invalid"


def test_a_broken_file_in_a_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others are measured all the same, and the status says that it is not all."""
    np.save(tmp_path / "good.npy", np.arange(20000.0))
    (tmp_path / "bad.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(range(200)))
    assert cli.run(["assay", str(tmp_path), "--seconds", "0", "--json"]) == 2
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert [array["path"] for array in found["arrays"]] == ["/good"]
    assert "bad.h5" in said.err
    assert "bad.h5" in found["failures"][0]["name"]
    (tmp_path / "good.npy").unlink()
    with pytest.raises(icecore.Error):
        icecore.assay(tmp_path)


def test_a_type_that_can_not_be_taken_is_named(tmp_path: Path) -> None:
    if np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("no longer double here")
    np.save(tmp_path / "ld.npy", np.ones(4, np.longdouble))
    with pytest.raises(icecore.Error, match=rf"ld\.npy: .*{np.dtype(np.longdouble)}") as caught:
        icecore.assay(tmp_path / "ld.npy")
    assert caught.value.kind == "dtype"
