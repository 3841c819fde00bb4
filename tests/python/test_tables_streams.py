"""Files of several compressed streams: all of them, or an error."""

from __future__ import annotations

import bz2
import gzip
import lzma
import queue
import struct
import threading
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from icecore.sources.files import archives
from icecore.tables.text.text_stream import TextStream
from tables_kit import round_trip

PARTS = [b"".join(b"%d,%d.5\n" % (i, i * k) for i in range(4000)) for k in (1, 7, 9)]
WHOLE = b"".join(PARTS)
CODERS: dict[str, Callable[[bytes], bytes]] = {"bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("suffix", CODERS)
def test_streams_follow_each_other(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.csv.{suffix}"
    path.write_bytes(b"".join(CODERS[suffix](part) for part in (*PARTS[:2], b"", PARTS[2])))
    repo, _, again = round_trip(path, tmp_path)
    assert again == WHOLE
    assert len(repo.table("/t")) == 12_000


@pytest.mark.parametrize("suffix", CODERS)
def test_damage_behind_the_first_stream_is_told(tmp_path: Path, suffix: str) -> None:
    first, last = (CODERS[suffix](part) for part in PARTS[:2])
    path = tmp_path / f"t.csv.{suffix}"
    at = len(last) // 2
    flipped = last[:at] + bytes([last[at] ^ 255]) + last[at + 1 :]
    for damaged in (flipped, last[:at], last[:3], b"\xff" + last[1:], last + b"junk", last + b"\0\0\0"):
        path.write_bytes(first + damaged)
        with pytest.raises(Error) as caught:
            icecore.pack(path, into="memory://")
        assert caught.value.kind == "corrupt"


def test_padding_of_xz(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.xz"
    first, second, third = (lzma.compress(part) for part in PARTS)
    path.write_bytes(first + bytes(8) + second + bytes(1 << 19) + third + bytes(4))
    assert round_trip(path, tmp_path)[2] == WHOLE
    path.write_bytes(first + bytes(6) + second)
    with pytest.raises(Error, match="6 zeros behind a stream: not a multiple of 4"):
        icecore.pack(path, into="memory://")


@pytest.mark.parametrize("step", [1, 100, 1 << 20])
def test_reads_of_any_size(tmp_path: Path, step: int) -> None:
    path = tmp_path / "t.bz2"
    path.write_bytes(bz2.compress(PARTS[0][:2000]) + bz2.compress(PARTS[1][:3]))
    with archives.bunzip2(str(path)) as file:
        assert b"".join(iter(lambda: file.read(step), b"")) == PARTS[0][:2000] + PARTS[1][:3]


@pytest.mark.parametrize("kind", [0x50, 0x5F])
def test_zstd_that_begins_with_a_skippable_frame(tmp_path: Path, kind: int) -> None:
    zstd = pytest.importorskip("backports.zstd")
    skipped = struct.pack("<II", 0x184D2A00 + kind, 4) + b"1234"
    path = tmp_path / "t.csv.zst"
    path.write_bytes(b"".join(skipped + zstd.compress(part) for part in PARTS) + skipped)
    assert round_trip(path, tmp_path)[2] == WHOLE


@pytest.mark.parametrize("log", [27, 31])
def test_zstd_that_may_look_far_back(tmp_path: Path, log: int) -> None:
    """As `zstd --long=31` writes it: a window of 2 GiB, of which no more is used than there is."""
    zstd = pytest.importorskip("backports.zstd")
    coder = zstd.ZstdCompressor()
    frame = coder.compress(WHOLE) + coder.flush()  # which states a window, not its length
    path = tmp_path / "t.csv.zst"
    path.write_bytes(frame[:5] + bytes([(log - 10) << 3]) + frame[6:])
    assert round_trip(path, tmp_path)[2] == WHOLE


def test_what_follows_a_gzip_member_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(WHOLE) + b"junk")
    with pytest.raises(Error, match="where a gzip member should begin is b'jun'"):
        icecore.pack(path, into="memory://")


@pytest.mark.parametrize("left", [None, 0, 1])
def test_the_end_is_not_asked_for_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int | None
) -> None:
    """``left``: after so many blocks nobody wants more."""
    (tmp_path / "t").write_bytes(b"1,2\n" * 5000)
    get, waits = queue.Queue.get, []

    def watched(self: queue.Queue[object], block: bool = True, timeout: float | None = None) -> object:
        waits.append(timeout)
        return get(self, block, timeout)

    monkeypatch.setattr(queue.Queue, "get", watched)
    for _ in range(50):
        blocks = iter(TextStream("t", partial(open, tmp_path / "t", "rb"), block=4000))
        found = list(blocks) if left is None else [next(blocks) for _ in range(left)]
        assert sum(map(len, found)) == (20_000 if left is None else 4000 * left)
        blocks.close()
    assert set(waits) <= {None}
    assert not any(thread.name == "icecore-table" for thread in threading.enumerate())


@pytest.mark.parametrize("append", [False, True])
def test_joined_files_that_are_damaged_far_inside_are_left_out(tmp_path: Path, append: bool) -> None:
    """Beyond what is looked at before: the whole series was refused, by the name of its first file."""
    files, rng = [], np.random.default_rng(1)
    for i in range(5):
        lines = [b"%d,%.6f\n" % (100_000 * i + row, x) for row, x in enumerate(rng.normal(size=100_000))]
        packed = bytearray(gzip.compress(b"t,x\n" + b"".join(lines), 1))
        if i in (1, 3):
            packed[len(packed) * 3 // 4] ^= 0xFF
        files.append(tmp_path / f"{i}.csv.gz")
        files[-1].write_bytes(packed)
    into = tmp_path / "r.icecore"
    if append:
        icecore.pack(files.pop(0), into, "/t", concat="rows")
    with pytest.raises(Error, match=r"^\S*/1\.csv\.gz: ") as caught:
        icecore.pack(files, into, "/t", concat="rows", append=append)
    assert (caught.value.kind, "--keep-going" in caught.value.hint) == ("corrupt", True)
    report = icecore.pack(files, into, "/t", concat="rows", append=append, keep_going=True)
    assert [(each.kind, Path(each.name).name) for each in report.failures] == [
        ("corrupt", "1.csv.gz"),
        ("corrupt", "3.csv.gz"),
    ]
    rows = [*range(100_000), *range(200_000, 300_000), *range(400_000, 500_000)]
    assert np.array_equal(icecore.open(into).table("/t")["t"][...], rows)


def test_an_archive_one_of_whose_joined_members_is_damaged_is_left_out(tmp_path: Path) -> None:
    text = b"t,x\n" + b"".join(b"%d,%d\n" % (row, row * row % 9973) for row in range(150_000))
    for i in range(3):
        with zipfile.ZipFile(tmp_path / f"{i}.zip", "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("a.csv", text)
            file.writestr("b.csv", text)
    data = bytearray((tmp_path / "1.zip").read_bytes())
    data[len(data) * 7 // 8] ^= 0xFF
    (tmp_path / "1.zip").write_bytes(data)
    files = [tmp_path / f"{i}.zip" for i in range(3)]
    report = icecore.pack(files, tmp_path / "r.icecore", "/t", concat="rows", keep_going=True)
    assert [Path(each.name).name for each in report.failures] == ["1.zip:b.csv"]
    assert len(icecore.open(tmp_path / "r.icecore").table("/t")) == 600_000


@pytest.mark.parametrize("name", ["b.csv", "b.lbl"])
def test_a_small_member_that_is_damaged_is_left_out(tmp_path: Path, name: str) -> None:
    """As a long one is; but for a label, without which its table would be another one."""
    text = b"t,x\n" + b"".join(b"%d,%d\n" % (row, row * row % 9973) for row in range(1000))
    with zipfile.ZipFile(tmp_path / "t.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for member in ("a.csv", name, "c.csv"):
            file.writestr(member, text)
        info = file.infolist()[1]
    data = bytearray((tmp_path / "t.zip").read_bytes())
    data[info.header_offset + 30 + len(name) + info.compress_size // 2] ^= 0xFF
    (tmp_path / "t.zip").write_bytes(data)
    with pytest.raises(Error, match=rf"t\.zip:{name}: '{name}' is damaged") as caught:
        icecore.pack(tmp_path / "t.zip", tmp_path / "r.icecore")
    assert caught.value.kind == "corrupt"
    if name == "b.lbl":
        with pytest.raises(Error, match="is damaged"):
            icecore.pack(tmp_path / "t.zip", tmp_path / "r.icecore", keep_going=True)
        return
    report = icecore.pack(tmp_path / "t.zip", tmp_path / "r.icecore", keep_going=True)
    assert [each.message for each in report.failures if "b.csv' is damaged" in each.message]
    assert sorted(icecore.open(tmp_path / "r.icecore")["/t"]) == ["a", "c"]
