"""Damaged frame files: errors with a kind, and a scan where the table of contents is gone."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from icecore import _icecore, errors
from icecore.samples.gwf import write_frame
from icecore.sources import open_source
from icecore.sources.mapping.array_map import ArrayMap
from sources_kit import DATA, everything, needs_data

T0 = 1_000_000_000
REAL = [
    "F-TEST-600000000-60_v6_big_endian.gwf",
    "H-CAL_FAC-600000000-6000.gwf",
    "H-H1_O2_llhoft-1216577976-4.gwf",
    "HLV-HW100916-968654552-1.gwf",
    "cbc-mbta_events_only.gwf",
]


def values(arrays: ArrayMap) -> dict[str, np.ndarray]:
    """Every channel's samples; a channel that can't be decoded is left out."""
    found = {}
    for path, entry in arrays.arrays.items():
        assert entry.read is not None
        try:
            found[path] = entry.read(everything(entry))
        except (errors.StorageError, errors.UnsupportedError):
            continue
    return found


def small(path: Path) -> Path:
    """A file of four channels in several types."""
    data = np.arange(64)
    channels = {f"X1:{kind}": (data.astype(kind), 64.0) for kind in ("f4", "f8", "i2", "c8")}
    return write_frame(path, T0, channels)


def test_bit_flips_give_errors_or_values_never_panics(tmp_path: Path) -> None:
    whole = small(tmp_path / "whole.gwf").read_bytes()
    chance, path, outcomes = random.Random(5), tmp_path / "flipped.gwf", set()
    for _ in range(1500):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            arrays = open_source(path, keep_going=True)
        except errors.Error as error:
            outcomes.add(error.kind)
            continue
        outcomes.add("values" if len(values(arrays)) == 4 else "some")
    assert outcomes >= {"values", "some", "format"}


def test_every_truncation_is_an_error_or_keeps_what_is_whole(tmp_path: Path) -> None:
    whole = small(tmp_path / "whole.gwf")
    expected, content = values(open_source(whole)), whole.read_bytes()
    path, complete = tmp_path / "cut.gwf", 0
    for length in range(0, len(content), 23):
        path.write_bytes(content[:length])
        try:
            arrays = open_source(path, keep_going=True)
        except (errors.InvalidValue, errors.StorageError):
            continue
        for name, data in values(arrays).items():
            np.testing.assert_array_equal(data, expected[name])
            complete += 1
    assert complete > 0


@needs_data
@pytest.mark.parametrize("name", REAL)
def test_without_its_table_of_contents_a_file_is_scanned(tmp_path: Path, name: str) -> None:
    source = DATA / "frames" / name
    expected = open_source(source, keep_going=True)
    path = tmp_path / name
    path.write_bytes(source.read_bytes()[:-46] + bytes(46))
    [indexed] = _icecore.gwf_index([str(path)], 0, 1)
    assert not indexed["from_toc"]
    assert next(problem[0] for problem in indexed["problems"]) == "format"
    scanned = open_source(path, keep_going=True)
    assert scanned.arrays.keys() == expected.arrays.keys()
    for channel, data in values(expected).items():
        np.testing.assert_array_equal(values(scanned)[channel], data)


@needs_data
@pytest.mark.parametrize("name", [REAL[0], *REAL[2:4]])
def test_checksums_show_a_changed_byte(tmp_path: Path, name: str) -> None:
    source = DATA / "frames" / name
    before = _icecore.gwf_verify(str(source))
    content = bytearray(source.read_bytes())
    content[len(content) // 2] ^= 1
    path = tmp_path / name
    path.write_bytes(content)
    assert len(_icecore.gwf_verify(str(path))) > len(before)


@needs_data
def test_checksums_of_real_files_are_judged_as_lalfr_cksum_does() -> None:
    """H-CAL_FAC-600000000-6000.gwf is wrong itself: LALFrame computes 0x856b642 too, no change of one byte
    gives the stored sum, and neither does a header whose 8-byte example is complete.
    """
    wrong = {
        file.name: [message for _, _, _, message in problems]
        for file in sorted((DATA / "frames").glob("*.gwf"))
        if (problems := _icecore.gwf_verify(str(file)))
    }
    said = "checksum of the file is 0x856b642, stored 0xec418a37 (big-endian)"
    assert wrong == {"H-CAL_FAC-600000000-6000.gwf": [said]}
