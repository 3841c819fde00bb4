"""What is linked or packed is readable by every Zarr reader that knows the named codecs: zarr-python over
Icechunk's own store gives what h5py or netCDF4 reads of the original.
"""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.sources import format_of, open_source
from icecore.sources.source_list import expand
from sources_kit import DATA, everything, needs_data, same

pytestmark = needs_data
zarr = pytest.importorskip("zarr")
pytest.importorskip("icechunk", minversion="2")

#: larger files take too long; arrays beyond are compared in part
_MOST, _PART = 700_000, 1_000_000
FILES = [
    Path(path)
    for folder in ("hdf5", "climate")
    if (DATA / folder).is_dir()
    for path in expand(DATA / folder)
    if Path(path).stat().st_size <= _MOST and "table" not in format_of(path).name
]


def cut(shape, itemsize):
    """A region of at most ``_PART`` bytes from the beginning of an array."""
    rows = max(_PART // max(int(np.prod(shape[1:])) * itemsize, 1), 1) if shape else 0
    return (slice(0, min(shape[0], rows)), *(slice(0, n) for n in shape[1:])) if shape else ()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("verb", [icecore.link, icecore.pack], ids=["link", "pack"])
def test_zarr_python_reads_what_the_original_holds(tmp_path, path, verb):
    report = verb(
        path, tmp_path / "r.icecore", group="/g", **({"codec": "default"} if verb is icecore.pack else {})
    )
    repo = icecore.open(tmp_path / "r.icecore")
    root = zarr.open_group(repo.store("icechunk"), mode="r")
    source = open_source(path)
    seen, noted = 0, {note.name for note in report.notes}
    for where, entry in source.arrays.items():
        if f"/g{where}" not in repo:
            assert f"{path}:{where}" in noted, where
            continue
        region = cut(entry.shape, max(entry.dtype.itemsize, 1))
        wanted = entry.read(region if region else everything(entry))
        assert same(np.asarray(root[f"g{where}"][region]), wanted), where
        assert same(repo[f"/g{where}"][region], wanted), where
        seen += 1
    assert seen == len(source.arrays)


def test_files_are_there():
    assert len(FILES) > 5
