"""ROOT files, frames and tables of text on a web server and in a bucket: as on disk, read by ranges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import errors
from icecore.samples.gwf import write_frame
from icecore.sources import open_source
from icecore.tables.text.restore import restore
from tables_kit import labelled

T0 = 1_187_008_800
BUCKET = "archive"


@pytest.fixture(params=["http", "s3"])
def place(request: pytest.FixtureRequest, site: Any) -> tuple[str, Path, dict[str, str], Any]:
    """The address of a directory on a server or in a bucket, the directory, storage options, the server."""
    folder = site.folder / BUCKET
    folder.mkdir()
    if request.param == "http":
        return f"{site.url}/{BUCKET}", folder, {}, site
    options = {"endpoint_url": site.url, "anonymous": "true", "region": "us-east-1"}
    return f"s3://{BUCKET}", folder, options, site


def test_root_files(place: Any, tmp_path: Path) -> None:
    pytest.importorskip("uproot")
    from root_kit import write

    base, folder, storage, site = place
    path = write(folder / "events.root")
    url = f"{base}/events.root"
    icecore.link(url, tmp_path / "r.icecore", group="/", storage=storage)
    icecore.link(path, tmp_path / "local.icecore", group="/")
    repo = icecore.open(tmp_path / "r.icecore", storage=storage)
    local = icecore.open(tmp_path / "local.icecore")
    ours, theirs = repo.table("/Events").arrays(), local.table("/Events").arrays()
    assert set(ours.fields) == set(theirs.fields)
    assert all(ours[name].tolist() == theirs[name].tolist() for name in theirs.fields)
    site.requests = site.sent = 0
    assert repo["/Events/met"][:3].tolist() == local["/Events/met"][:3].tolist()
    assert site.requests <= 2


def test_frames(place: Any, tmp_path: Path) -> None:
    base, folder, storage, site = place
    data = np.random.default_rng(1).normal(size=1 << 20)
    for number in range(2):
        write_frame(folder / f"{number}.gwf", T0 + number, {"H1:X": (data + number, float(1 << 20))})
    urls = [f"{base}/{number}.gwf" for number in range(2)]
    for run, name in ((icecore.link, "linked"), (icecore.pack, "packed")):
        site.requests = site.sent = 0
        run(urls, tmp_path / f"{name}.icecore", storage=storage)
        if run is icecore.link:
            assert site.sent < (folder / "0.gwf").stat().st_size  # headers alone, of both
        array = icecore.open(tmp_path / f"{name}.icecore", storage=storage)["H1:X"]
        assert np.array_equal(array[...], np.concatenate([data, data + 1]))
    (folder / "bad.gwf").write_bytes(b"IGWD" + bytes(100))
    with pytest.raises(errors.Error) as caught:
        icecore.link(f"{base}/bad.gwf", tmp_path / "bad.icecore", storage=storage)
    assert caught.value.kind in ("corrupt", "format", "unsupported")


def test_text(place: Any, tmp_path: Path) -> None:
    base, folder, storage, _ = place
    (folder / "cities.csv").write_text("name,height\nKiel,5\nBern,540\n", "utf-8")
    icecore.pack(f"{base}/cities.csv", tmp_path / "r.icecore", group="/t", storage=storage)
    table = icecore.open(tmp_path / "r.icecore").table("/t")
    assert table["height"][...].tolist() == [5, 540]
    assert table["name"][...].tolist() == [b"Kiel", b"Bern"]


def test_data_and_its_label(place: Any, tmp_path: Path) -> None:
    base, folder, storage, _ = place
    label, data, columns = labelled(folder, 300)
    for source in (label.name, next(p.name for p in folder.iterdir() if p.name != label.name)):
        into = tmp_path / f"{source}.icecore"
        icecore.pack(f"{base}/{source}", into, group="/t", storage=storage)
        repo = icecore.open(into)
        for name, values in columns.items():
            found = repo.table("/t")[name][...]
            assert found.tolist() == values.tolist()
        restore(repo, "/t", tmp_path / f"{source}.back")
        assert (tmp_path / f"{source}.back").read_bytes() == data


def test_what_is_not_there(place: Any) -> None:
    base, _, storage, _ = place
    from icecore.sources.files import object_stores

    for name in ("x.root", "x.gwf", "x.csv"):
        object_stores.remember(f"{base}/{name}", storage)
        with pytest.raises(errors.Error) as caught:
            open_source(f"{base}/{name}")
        assert caught.value.kind == "source-missing"


def test_a_root_file_that_changes_is_refused(place: Any) -> None:
    pytest.importorskip("uproot")
    from icecore.sources.files import object_stores
    from icecore.sources.files.identity import identity
    from icecore.sources.root.readers import root_file
    from root_kit import write

    base, folder, storage, site = place
    write(folder / "x.root")
    object_stores.remember(f"{base}/x.root", storage)
    before = identity(f"{base}/x.root")
    site.etag = "two"
    with pytest.raises(errors.Error) as caught:
        root_file(f"{base}/x.root", before)
    assert caught.value.kind == "source-changed"
