"""Deflated members of zip archives as streams: the same bytes as `zipfile` gives, damage is told."""

import random
import zipfile
from pathlib import Path

import icecore
import pytest
from icecore.errors import Error
from icecore.sources.files.archives import deflated

TEXT = b"".join(b"%d,%f\n" % (i, random.Random(i).random()) for i in range(60_000))


def archive(folder: Path, members: dict[str, bytes]) -> Path:
    path = folder / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return path


def infos(path: Path) -> dict[str, zipfile.ZipInfo]:
    with zipfile.ZipFile(path) as found:
        return {info.filename: info for info in found.infolist()}


def test_every_member_is_what_it_was(tmp_path: Path) -> None:
    members = {"none": b"", "deep/long.csv": TEXT, "short": b"x"}
    path = archive(tmp_path, members)
    for name, info in infos(path).items():
        for step in (7_001, 1 << 20):
            with deflated(str(path), info) as stream:
                pieces = list(iter(lambda: stream.read(step), b""))  # noqa: B023
            assert b"".join(pieces) == members[name]


@pytest.mark.parametrize("what", ["crc", "size", "data", "end"])
def test_damage_is_told(what: str, tmp_path: Path) -> None:
    path = archive(tmp_path, {"a": TEXT})
    info = infos(path)["a"]
    if what == "crc":
        info.CRC ^= 1
    elif what == "size":
        info.file_size += 1
    elif what == "end":
        info.compress_size //= 2
    else:
        stored = bytearray(path.read_bytes())
        stored[len(stored) // 2] ^= 0x10
        path.write_bytes(stored)
    with deflated(str(path), info) as stream, pytest.raises(zipfile.BadZipFile, match="'a' is damaged"):
        stream.read()


def test_no_member_there(tmp_path: Path) -> None:
    path = archive(tmp_path, {"a": TEXT})
    info = infos(path)["a"]
    info.header_offset = 5
    with pytest.raises(zipfile.BadZipFile, match="no header of 'a'"):
        deflated(str(path), info)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_path_that_an_archive_holds_twice(tmp_path: Path) -> None:
    path = archive(tmp_path, {"a.csv": b"a,b\n1,2\n"})
    with zipfile.ZipFile(path, "a") as more:
        more.writestr("a.csv", b"a,b\n3,4\n")
    with pytest.raises(Error, match=r"a\.zip holds a\.csv 2 times") as refused:
        icecore.pack(path, into=tmp_path / "r")
    assert refused.value.kind == "corrupt"


def test_a_method_that_python_lacks_is_no_damage(tmp_path: Path) -> None:
    """Windows takes Deflate64 for files above 2 GB."""
    path = archive(tmp_path, {"a.csv": TEXT})
    data = bytearray(path.read_bytes())
    for place in (8, data.index(b"PK\x01\x02") + 10):  # in the member's own header, and in the directory
        data[place : place + 2] = (9).to_bytes(2, "little")
    path.write_bytes(data)
    with pytest.raises(Error, match=r"a\.csv is compressed by zip's method 9") as caught:
        icecore.pack(path, tmp_path / "r.icecore")
    assert caught.value.kind == "unsupported"
    assert "unpack" in caught.value.hint
