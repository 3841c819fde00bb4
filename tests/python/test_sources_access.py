"""Files that name other files: a restricted process opens only what it may, in every format and way."""

from __future__ import annotations

import http.server
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from icecore.errors import Error
from icecore.ingest.follow.file_indexes import Indexes
from icecore.sources.files import access

SECRET = b"TOPSECRET-0123456789"
REFUSALS = ("link-not-allowed", "unsupported", "format", "not-found", "permission", "source-missing")
#: (directory of the served file, path or URL of the target, file to write) → nothing
Maker = Callable[[Path, str], Path]


def _external(folder: Path, target: str) -> Path:
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("a", (20,), "u1", external=[(target, 0, 20)])
    return folder / "x.h5"


def _link(folder: Path, target: str) -> Path:
    with h5py.File(folder / "x.h5", "w") as file:
        file["a"] = h5py.ExternalLink(target + ".h5", "/s")
    return folder / "x.h5"


def _soft_through_link(folder: Path, target: str) -> Path:
    with h5py.File(folder / "x.h5", "w") as file:
        file["outer"] = h5py.ExternalLink(target + ".h5", "/")
        file["a"] = h5py.SoftLink("/outer/s")
    return folder / "x.h5"


def _link_of_a_link(folder: Path, target: str) -> Path:
    with h5py.File(folder / "between.h5", "w") as file:
        file["a"] = h5py.ExternalLink(target + ".h5", "/s")
    with h5py.File(folder / "x.h5", "w") as file:
        file["a"] = h5py.ExternalLink("between.h5", "/a")
    return folder / "x.h5"


def _virtual(folder: Path, target: str) -> Path:
    layout = h5py.VirtualLayout((20,), "u1")
    layout[:] = h5py.VirtualSource(target + ".h5", "s", shape=(20,))
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_virtual_dataset("a", layout)
    return folder / "x.h5"


def _virtual_pattern(folder: Path, target: str) -> Path:
    space = h5py.h5s.create_simple((20,), (h5py.h5s.UNLIMITED,))
    source = h5py.h5s.create_simple((20,))
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    first = h5py.h5s.create_simple((20,), (h5py.h5s.UNLIMITED,))
    first.select_hyperslab((0,), (h5py.h5s.UNLIMITED,), stride=(20,), block=(20,))
    plist.set_virtual(first, os.fsencode(target.replace("secret", "secre%b") + ".h5"), b"s", source)
    with h5py.File(folder / "x.h5", "w") as file:
        h5py.h5d.create(file.id, b"a", h5py.h5t.STD_U8LE, space, plist)
    return folder / "x.h5"


def _virtual_over_external(folder: Path, target: str) -> Path:
    with h5py.File(folder / "between.h5", "w") as file:
        file.create_dataset("a", (20,), "u1", external=[(target, 0, 20)])
    layout = h5py.VirtualLayout((20,), "u1")
    layout[:] = h5py.VirtualSource("between.h5", "a", shape=(20,))
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_virtual_dataset("a", layout)
    return folder / "x.h5"


def _kerchunk(folder: Path, target: str) -> Path:
    array = {"zarr_format": 2, "shape": [20], "chunks": [20], "dtype": "|u1", "compressor": None}
    array |= {"fill_value": 0, "filters": None, "order": "C"}
    references = {".zgroup": '{"zarr_format": 2}', "a/.zarray": json.dumps(array), "a/0": [target, 0, 20]}
    (folder / "x.h5").write_text(json.dumps({"version": 1, "refs": references}))
    return folder / "x.h5"


def _dmrpp(folder: Path, target: str) -> Path:
    (folder / "x.h5").write_text(
        '<?xml version="1.0"?><Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" '
        'xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" name="x" '
        f'dmrpp:href="{target}"><Dimension name="n" size="20"/><Byte name="a"><Dim name="/n"/>'
        '<dmrpp:chunks><dmrpp:chunk offset="0" nBytes="20"/></dmrpp:chunks></Byte></Dataset>'
    )
    return folder / "x.h5"


def _votable(folder: Path, target: str) -> Path:
    url = target if "://" in target else f"file://{target}"
    (folder / "x.h5").write_text(
        '<?xml version="1.0"?><VOTABLE version="1.3" xmlns="http://www.ivoa.net/xml/VOTable/v1.3"><RESOURCE><TABLE>'
        '<FIELD name="a" datatype="unsignedByte"/><DATA><BINARY>'
        f'<STREAM href="{url}"/></BINARY></DATA></TABLE></RESOURCE></VOTABLE>'
    )
    return folder / "x.h5"


def _pds3(folder: Path, target: str) -> Path:
    (folder / "x.lbl").write_text(
        "PDS_VERSION_ID = PDS3\r\nRECORD_TYPE = FIXED_LENGTH\r\nRECORD_BYTES = 20\r\nFILE_RECORDS = 1\r\n"
        f'^TABLE = "{target}"\r\nOBJECT = TABLE\r\n  INTERCHANGE_FORMAT = BINARY\r\n  ROWS = 20\r\n'
        "  COLUMNS = 1\r\n  ROW_BYTES = 1\r\n  OBJECT = COLUMN\r\n    NAME = A\r\n"
        "    DATA_TYPE = LSB_UNSIGNED_INTEGER\r\n    START_BYTE = 1\r\n"
        "    BYTES = 1\r\n  END_OBJECT = COLUMN\r\nEND_OBJECT = TABLE\r\nEND\r\n"
    )
    return folder / "x.lbl"


def _symlink(folder: Path, target: str) -> Path:
    (folder / "x.h5").symlink_to(target + ".h5")
    return folder / "x.h5"


WAYS: dict[str, Maker] = {
    "external storage": _external,
    "external link": _link,
    "soft link through an external link": _soft_through_link,
    "external link to an external link": _link_of_a_link,
    "virtual dataset": _virtual,
    "virtual dataset with a pattern": _virtual_pattern,
    "virtual dataset over external storage": _virtual_over_external,
    "kerchunk": _kerchunk,
    "DMR++": _dmrpp,
    "VOTable": _votable,
    "PDS3 label": _pds3,
    "symbolic link": _symlink,
}
TARGETS = ("absolute", "upwards", "through a symbolic link")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file outside, and the same bytes as an HDF5 dataset ``s`` beside it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(SECRET)
    with h5py.File(outside / "secret.h5", "w") as file:
        file["s"] = np.frombuffer(SECRET, "u1")
    return outside / "secret"


def _served(file: Path, cache: Path, *allowed: Path) -> dict[str, bytes]:
    """Return the bytes of all arrays of a file, as a service would read them; none if it is refused."""
    with access.only(allowed):
        try:
            repo = icecore.open(Indexes(cache).of(str(file)))
        except Error as error:
            return _refused(error)
        found = {}
        for path, array in repo.arrays.items():
            try:
                found[path] = np.asarray(array[...]).tobytes()
            except Error as error:
                _refused(error)
        return found


def _refused(error: Error) -> dict[str, bytes]:
    if error.kind not in REFUSALS:
        raise error
    return {}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_outside_is_sent(way: str, target: str, tmp_path: Path, secret: Path) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "inside").symlink_to(secret.parent)
    places = {
        "absolute": str(secret),
        "upwards": "../outside/secret",
        "through a symbolic link": "inside/secret",
    }
    file = WAYS[way](folder, places[target])
    found = _served(file, tmp_path / "cache", folder)
    assert not [path for path, data in found.items() if SECRET in data]


@pytest.mark.parametrize("way", ["external storage", "external link", "virtual dataset", "kerchunk"])
def test_what_the_operator_allows_is_sent(way: str, tmp_path: Path, secret: Path) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    file = WAYS[way](folder, str(secret))
    found = _served(file, tmp_path / "cache", folder, secret.parent)
    assert [data for data in found.values() if SECRET in data]


def test_an_index_with_more_files_is_not_used_under_stricter_rules(tmp_path: Path, secret: Path) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    file = _virtual(folder, str(secret))
    assert SECRET in _served(file, tmp_path / "cache", folder, secret.parent)["/a"]
    assert not _served(file, tmp_path / "cache", folder)
    assert SECRET in _served(file, tmp_path / "cache", folder, secret.parent)["/a"]


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """The address of a server, and the requests that it got."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/secret", asked
        server.shutdown()


@pytest.mark.parametrize("way", ["kerchunk", "DMR++", "VOTable"])
def test_no_address_is_asked(way: str, tmp_path: Path, listener: tuple[str, list[str]]) -> None:
    url, asked = listener
    folder = tmp_path / "served"
    folder.mkdir()
    assert not _served(WAYS[way](folder, url), tmp_path / "cache", folder)
    assert asked == []


@pytest.mark.parametrize("text", ["", "<!DOCTYPE VOTABLE [<!ATTLIST STREAM href CDATA '{}'>]>"])
def test_a_votable_never_names_files(text: str, tmp_path: Path, secret: Path) -> None:
    file = _votable(tmp_path, str(secret))
    if text:
        body = file.read_text().replace(f' href="file://{secret}"', "")
        file.write_text(body.replace("<VOTABLE", text.format(f"file://{secret}") + "<VOTABLE"))
    with pytest.raises(Error) as caught:
        icecore.pack(file, tmp_path / "r.icecore")
    assert caught.value.kind in ("unsupported", "format")


def test_places(tmp_path: Path) -> None:
    with access.only([tmp_path, "https://host/a/", "s3://bucket"]):
        for place in (tmp_path, tmp_path / "x", f"file://{tmp_path}/x", "https://HOST/a/b", "s3://bucket/x"):
            assert access.is_allowed(place), place
        for place in (
            tmp_path.parent,
            f"{tmp_path}x",
            f"{tmp_path}/../x",
            "https://host/b",
            "https://host/a/../b",
            "https://host/a/%2e%2e/b",
            "https://host@evil/a/b",
            "https://host.evil/a/b",
            "http://host/a/b",
            "s3://bucket2/x",
            "/x\0",
        ):
            assert not access.is_allowed(place), place
    assert access.places() is None
