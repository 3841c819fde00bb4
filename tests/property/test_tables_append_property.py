"""A table that grows file by file is the one that is packed in one go, whatever its columns turn into."""

from __future__ import annotations

import tempfile
from pathlib import Path

import icecore
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from icecore.tables.summaries import write
from icecore.tables.text.restore import restore

COUNT = 40
#: kinds of cells: how the value number n is written
KINDS = {
    "int": lambda n: str(n),
    "padded": lambda n: f"{n:05d}",
    "long": lambda n: str(n * 10**12 + 7),
    "longer": lambda n: str(10**17 + n),
    "unsigned": lambda n: str(2**63 + n * 10**13),
    "huge": lambda n: str(10**23 + n),
    "tenths": lambda n: f"{n / 10:.1f}",
    "thousandths": lambda n: f"{n / 1000:.3f}",
    "trimmed": lambda n: f"{n / 8}",
    "power": lambda n: f"{n / 7:.3e}",
    "blank": lambda n: "",
    "word": lambda n: f"w{n}",
    "text": lambda n: f"some text {'x' * (n % 23)} {n}",
    "essay": lambda n: "é" + "x" * (n % 5 * 100),
    "quoted": lambda n: f'"{n}, and more"',
    "date": lambda n: str(np.datetime64("2020-01-01") + np.timedelta64(n, "D")),
    "second": lambda n: str(np.datetime64("2020-01-01T00:00:00") + np.timedelta64(77 * n, "s")),
    "winter": lambda n: str(np.datetime64("2020-01-01T00:00:00") + np.timedelta64(77 * n, "s")) + "+01:00",
    "summer": lambda n: str(np.datetime64("2020-06-01T00:00:00") + np.timedelta64(77 * n, "s")) + "+02:00",
    "milli": lambda n: str(np.datetime64("2020-01-01T00:00:00.000") + np.timedelta64(77 * n, "ms")),
    "nano": lambda n: str(np.datetime64("2020-01-01T00:00:00.000000000") + np.timedelta64(77 * n, "ns")),
    "old": lambda n: str(np.datetime64("0999-01-01T00:00:00") + np.timedelta64(77 * n, "s")),
    "clock": lambda n: f"{n % 24:02d}:30:00",
    "clock3": lambda n: f"{n % 24:02d}:30:00.{n % 1000:03d}",
}


@st.composite
def tables(draw: st.DrawFn) -> list[bytes]:
    """CSV files with the same two columns."""
    count = draw(st.integers(2, 4))
    columns = [[draw(st.sampled_from(sorted(KINDS))) for _ in range(count)] for _ in range(2)]
    files = []
    for kinds in zip(*columns, strict=True):
        numbers = draw(st.lists(st.integers(0, 99_999), min_size=1, max_size=12))
        rare = [draw(st.sampled_from([None, None, "", " ", "n/a", *sorted(KINDS)])) for _ in kinds]
        rows = []
        for row, n in enumerate(numbers):
            cells = [KINDS[kind](n + i) for i, kind in enumerate(kinds)]
            if row == len(numbers) - 1:
                cells = [
                    c if r is None else KINDS[r](n) if r in KINDS else r
                    for c, r in zip(cells, rare, strict=True)
                ]
            rows.append(f"{row}," + ",".join(cells) + "\n")
        files.append(("n,a,b\n" + "".join(rows)).encode())
    return files


@settings(max_examples=COUNT, deadline=None)
@given(texts=tables())
def test_appending_is_packing_in_one_go(texts: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        files = [folder / f"{i}.csv" for i in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_bytes(text)
        icecore.pack(files, into=folder / "one", group="/t", concat="rows")
        versions = []
        for i, file in enumerate(files):
            icecore.pack(file, into=folder / "steps", group="/t", concat="rows", append=i > 0)
            repo = icecore.open(folder / "steps")
            versions.append((repo.snapshot_id, {name: repo[f"/t/{name}"][...] for name in "nab"}))
        one, steps = (icecore.open(folder / name)["/t"] for name in ("one", "steps"))
        for name in "nab":
            assert steps[name].dtype == one[name].dtype, name
            np.testing.assert_array_equal(steps[name][...], one[name][...], name)
            assert steps[name].attrs == one[name].attrs
        restore(icecore.open(folder / "steps"), "/t", folder / "again")
        for file, text in zip(files, texts, strict=True):
            assert (folder / "again" / file.name).read_bytes() == text
        for version, known in versions:
            old = icecore.open(f"{folder / 'steps'}@{version}")
            for name, values in known.items():
                np.testing.assert_array_equal(old[f"/t/{name}"][...], values)


@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    kinds=st.lists(
        st.sampled_from(["int", "tenths", "thousandths", "second", "milli"]), min_size=2, max_size=3
    ),
)
def test_summaries_of_what_was_written_again(seed: int, kinds: list[str]) -> None:
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for i, kind in enumerate(kinds):
            rows = (f"{n},{KINDS[kind](int(n))}\n" for n in rng.integers(0, 10**6, 9000))
            (folder / f"{i}.csv").write_text("n,a\n" + "".join(rows), newline="")
            icecore.pack(folder / f"{i}.csv", into=folder / "r", group="/t", concat="rows", append=i > 0)
        repo = icecore.open(folder / "r")
        values = repo["/t/a"][...]
        found = write.read(repo["/t/a"])
        assert {write.state(repo[f"/t/{name}"]) for name in "na"} == {"fresh"} or values.dtype.kind == "S"
        if values.dtype.kind != "S":
            zones = np.split(values, range(4096, len(values), 4096))
            np.testing.assert_array_equal(found["max"], [zone.max() for zone in zones])
