"""Wrong frame files: errors that name file and channel; the other files link. Compression mode 6."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore import errors
from icecore.samples.gwf import write_frame
from icecore.sources import open_source

T0 = 1_000_000_000
NAME = b"H1:BAD\0"
GZIP, RAW = 257, 256


def good(folder: Path, start: int = T0) -> Path:
    """A file of two channels."""
    data = np.arange(64, dtype="f4") + (start - T0) * 64
    return write_frame(folder / f"H-{start}.gwf", start, {"H1:GOOD": (data, 64.0), "H1:BAD": (data, 64.0)})


def vector(content: bytes) -> int:
    """Where u16 compress, u16 type, u64 nData, u64 nBytes of the second channel's FrVect are."""
    return content.rindex(NAME + struct.pack("<H", GZIP)) + len(NAME)


def put(content: bytes, at: int, form: str, value: float) -> bytes:
    """The bytes with one value replaced."""
    new = struct.pack(form, value)
    return content[:at] + new + content[at + len(new) :]


def step(content: bytes) -> int:
    """Where the step (dx) of the second channel's dimension is."""
    return content.rindex(struct.pack("<IQd", 1, 64, 1 / 64)) + 12


def position(content: bytes) -> int:
    """Where the table of contents says where the second channel is."""
    [at] = [
        i for i in range(len(content) - 46) if content[i : i + 8] == struct.pack("<Q", procdata(content))
    ][-1:]
    return at


def procdata(content: bytes) -> int:
    """Where the second channel's FrProcData is."""
    return content.index(struct.pack("<H", len(NAME)) + NAME) - 14


Damage = Callable[[bytes], bytes]
CASES: dict[str, tuple[Damage, set[str]]] = {
    "unknown compression": (lambda c: put(c, vector(c), "<H", 256 + 77), {"unsupported"}),
    "compression of another type": (lambda c: put(c, vector(c), "<H", 256 + 10), {"unsupported"}),
    "unknown type": (lambda c: put(c, vector(c) + 2, "<H", 99), {"corrupt"}),
    "a vector of strings": (lambda c: put(c, vector(c) + 2, "<H", 8), {"unsupported"}),
    "cut behind the header": (lambda c: c[:40], {"corrupt"}),
    "cut in the second channel": (lambda c: c[: procdata(c) + 60], {"corrupt"}),
    "cut in the data of the second channel": (lambda c: c[: vector(c) + 40], {"corrupt"}),
    "an empty file": (lambda _: b"", {"format"}),
    "a version that does not exist": (lambda c: put(c, 5, "<B", 9), {"format"}),
    "a wrong byte order mark": (lambda c: put(c, 12, "<H", 7), {"format"}),
    "no end of file": (lambda c: c[:-46], {"corrupt"}),
    "a table of contents outside": (lambda c: put(c, len(c) - 20, "<Q", 1 << 40), set()),
    "a table of contents at the start": (lambda c: put(c, len(c) - 20, "<Q", len(c) - 41), set()),
    "more samples than the bytes hold": (lambda c: put(c, vector(c) + 4, "<Q", 1 << 50), {"corrupt"}),
    "more bytes than the structure": (lambda c: put(c, vector(c) + 12, "<Q", 1 << 50), {"corrupt"}),
    "a rate that is NaN": (lambda c: put(c, step(c), "<d", np.nan), {"format"}),
    "a rate of zero": (lambda c: put(c, step(c), "<d", 0.0), {"format"}),
    "a negative step": (lambda c: put(c, step(c), "<d", -1.0), {"format"}),
    "contents that point outside": (lambda c: put(c, position(c), "<Q", 1 << 40), set()),
    "contents that point into nowhere": (lambda c: put(c, position(c), "<Q", 41), set()),
    "a structure longer than the file": (lambda c: put(c, procdata(c), "<Q", 1 << 60), {"corrupt"}),
}


@pytest.mark.parametrize("case", list(CASES))
def test_the_other_channels_and_files_link(tmp_path: Path, case: str) -> None:
    damage, kinds = CASES[case]
    files = [good(tmp_path, T0 + second) for second in range(3)]
    files[1].write_bytes(damage(files[1].read_bytes()))
    report = icecore.link(files, tmp_path / "r.icecore", keep_going=True)
    repo = icecore.open(tmp_path / "r.icecore")
    every = np.arange(192, dtype="f4")
    array = repo["/H1/BAD"]
    for second in (0, 2):
        part = array.between(T0 + second, T0 + second + 1)
        np.testing.assert_array_equal(part, every[second * 64 : (second + 1) * 64])
    found = {(note.kind, note.message) for note in [*report.failures, *report.notes]}
    named = [(kind, message) for kind, message in found if files[1].name in message or "BAD" in message]
    try:
        middle = array.between(T0 + 1, T0 + 2)
    except errors.Error as error:
        named.append((error.kind, str(error)))
    else:  # found without the table of contents
        np.testing.assert_array_equal(middle, every[64:128])
    assert not kinds or kinds & {kind for kind, _ in named}


def test_errors_name_file_channel_and_offset(tmp_path: Path) -> None:
    for case in (
        "unknown compression",
        "unknown type",
        "more samples than the bytes hold",
        "a rate that is NaN",
    ):
        content = good(tmp_path).read_bytes()
        file = tmp_path / f"{case.replace(' ', '-')}.gwf"
        file.write_bytes(CASES[case][0](content))
        arrays = open_source(file, keep_going=True)
        assert list(arrays.arrays) == ["/H1/GOOD"]
        said = [note.message for note in [*arrays.failed, *arrays.dropped]]
        named = f"{file}: H1:BAD at offset {procdata(content)}: "
        assert any(message.startswith(named) for message in said), said


def test_a_flipped_bit_anywhere_leaves_the_other_files_whole(tmp_path: Path) -> None:
    first, second = good(tmp_path), good(tmp_path, T0 + 1)
    whole, outcomes, expected = second.read_bytes(), set(), np.arange(128, dtype="f4")
    for number, at in enumerate(range(0, len(whole), 3)):
        second.write_bytes(put(whole, at, "<B", whole[at] ^ 1 << number % 8))
        repo = icecore.create("memory://")
        report = icecore.link([first, second], repo, keep_going=True)
        notes = [*report.failures, *report.notes]
        arrays = repo.at("main")
        if any(note.kind == "overlap" for note in notes):  # the flip gave the file the times of the other
            outcomes.add("overlap")
            continue
        for path in ("/H1/GOOD", "/H1/BAD"):
            np.testing.assert_array_equal(arrays[path].between(T0, T0 + 1), expected[:64])
            try:
                values = arrays[path].between(T0 + 1, T0 + 2)
            except errors.Error as error:
                outcomes.add(error.kind)
            else:
                outcomes.add("right" if np.array_equal(values, expected[64:]) else "other")
        outcomes |= {note.kind for note in notes if second.name in note.message}
    assert outcomes >= {"right", "selection", "corrupt", "format"}


def test_vectors_without_samples_are_left_out_and_listed(tmp_path: Path) -> None:
    channels = {"H1:GOOD": (np.arange(64, dtype="f4"), 64.0), "H1:NONE": (np.empty(0, "f4"), 64.0)}
    write_frame(tmp_path / "a.gwf", T0, channels)
    report = icecore.link(tmp_path / "a.gwf", tmp_path / "r.icecore")
    assert list(icecore.open(tmp_path / "r.icecore").arrays) == ["/H1/GOOD"]
    assert any("without samples" in note.message for note in report.notes)


def test_a_channel_that_is_there_twice_is_reported(tmp_path: Path) -> None:
    data = np.arange(64, dtype="f4")
    file = write_frame(tmp_path / "a.gwf", T0, {"H1:A": (data, 64.0), "H1:B": (data + 1, 64.0)})
    file.write_bytes(file.read_bytes().replace(b"H1:B\0", b"H1:A\0"))
    report = icecore.link(file, tmp_path / "r.icecore", keep_going=True)
    values = icecore.open(tmp_path / "r.icecore")["/H1/A"][:]
    assert values.tolist() in (data.tolist(), (data + 1).tolist())
    said = [note.message for note in [*report.failures, *report.notes]]
    assert any("H1:A" in message or "already" in message for message in said)


def test_mode_6_is_gzip_of_wide_numbers(tmp_path: Path) -> None:
    for kind in ("f4", "f8", "i4", "i8", "i1"):
        data = np.arange(64).astype(kind)
        file = write_frame(tmp_path / f"{kind}.gwf", T0, {"H1:BAD": (data, 64.0)})
        content = file.read_bytes()
        file.write_bytes(put(content, vector(content), "<H", 256 + 6))
        entry = open_source(file).arrays["/H1/BAD"]
        assert entry.read is not None
        np.testing.assert_array_equal(entry.read((slice(0, 64),)), data)


def test_mode_6_is_zero_suppression_of_two_byte_numbers(tmp_path: Path) -> None:
    data = np.array([5, 5, 5, 5, 6, 8, 7, 7], "i2")
    # Blocks of 4 differences: width - 1 in 4 bits, then 4 bits each (value + 7), or 3 bits (value + 3).
    bits = [
        (4, 16),
        (3, 4),
        *((x + 7, 4) for x in (5, 0, 0, 0)),
        (2, 4),
        *((x + 3, 3) for x in (1, 2, -1, 0)),
    ]
    stream, at = 0, 0
    for value, width in bits:
        stream, at = stream | value << at, at + width
    packed = stream.to_bytes(-(-at // 16) * 2, "little")
    file = write_frame(tmp_path / "a.gwf", T0, {"H1:BAD": (data, 8.0)}, gzip=False)
    content = file.read_bytes()
    start = content.rindex(NAME + struct.pack("<H", RAW)) + len(NAME)
    assert len(packed) <= data.nbytes
    content = put(content, start, "<H", 256 + 6)
    body = packed.ljust(data.nbytes, b"\0")
    content = content[: start + 20] + body + content[start + 20 + len(body) :]
    file.write_bytes(content)
    entry = open_source(file).arrays["/H1/BAD"]
    assert entry.read is not None
    np.testing.assert_array_equal(entry.read((slice(0, 8),)), data)
