"""Float fields for the codecs' table, as chunks: those of ../shared/data where it exists, and a made one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pstore_data
from data import built, folder
from pstore_lattice import lattice, unpacked

REAL = Path(__file__).resolve().parents[2] / "shared" / "data"
FOLDERS = ("climate", "frames")
VERSION = "6"
#: bytes: fields below are too small to say anything; of those above, so much is taken, from the first row on
LEAST, MOST = 1 << 16, 2 << 20
#: what is no quantity of a simulation: coordinates, bounds of cells, clocks
GRID = ("lat", "lon", "bounds", "bnds", "time")
#: fields that are also made as archives of 16-bit integers give them back
TEMPERATURES = ("air_temperature_2m", "TREFHT", "T2", "ta")


def kept(quick: bool) -> tuple[str, list[dict[str, Any]]]:
    """The folder of the fields, and for each its name, chunk shape, and what it is (see `_keep`)."""
    path = folder(quick) / "pstore-fields"
    facts = built(path, f"{VERSION} {sorted(map(str, _sources()))}", lambda new: _write(new, quick))
    return str(path), facts["fields"]


def blocks(path: str, field: dict[str, Any]) -> Iterator[np.ndarray]:
    """The field's chunks, each contiguous; those at the edge as short as they are."""
    values = np.load(Path(path) / field["file"])
    counts = [-(-n // c) for n, c in zip(values.shape, field["chunk"], strict=True)]
    for index in np.ndindex(*counts):
        part = tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, field["chunk"], strict=True))
        yield np.ascontiguousarray(values[part])


def _sources() -> list[Path]:
    return sorted(p for name in FOLDERS for p in (REAL / name).glob("*") if p.is_file())


def _write(path: Path, quick: bool) -> dict[str, Any]:
    path.mkdir()
    fields = [_keep(path, "made: waves and noise", pstore_data.slab(0), "made", None)]
    for source in _sources():
        fields += _of(path, source)
    if quick:
        fields = fields[:: max(len(fields) // 6, 1)]
    return json.loads(json.dumps({"fields": fields}))


def _of(path: Path, source: Path) -> list[dict[str, Any]]:
    from icecore.ingest.plan.resolve_sources import gather
    from icecore.ingest.write.linked_read import linked_readers

    good = gather(str(source)).indexed
    entries = [e for s in good for e in s.arrays.arrays.values() if e.dtype.kind == "f" and e.nbytes >= LEAST]
    found = []
    for entry, read in zip(entries, linked_readers(entries), strict=True):
        values = np.ascontiguousarray(read(tuple(slice(0, n) for n in entry.shape)))
        # The end tells cycles and releases apart.
        stem = source.stem if len(source.stem) <= 24 else f"{source.stem[:14]}…{source.stem[-11:]}"
        name = f"{stem} {entry.path}"
        chunks = entry.chunks if isinstance(entry.chunks, tuple) else None
        found.append(_keep(path, name, values, source.parent.name, chunks))
        if entry.path.rsplit("/", 1)[-1] in TEMPERATURES:
            values = values[: max(MOST // max(values[:1].nbytes, 1), 1)]
            found.append(_keep(path, f"{name}, from int16", unpacked(values), "unpacked", chunks))
    return found


def _keep(
    path: Path, name: str, values: np.ndarray, kind: str, chunks: tuple[int, ...] | None
) -> dict[str, Any]:
    """A file of the field. `simulated`: a quantity of a simulation; `lattice`: the step of one whose values
    are multiples of it; `unpacked`: made from 16-bit integers; `strain`: of a detector.
    """
    from icecore.layout import layout

    row = values[:1].nbytes
    values = values[: max(MOST // max(row, 1), 1)]
    file = f"{len(list(path.iterdir()))}.npy"
    np.save(path / file, values)
    last = name.rsplit("/")[-1].lower()
    simulated = kind in ("climate", "made") and not any(word in last for word in GRID)
    chunk = layout.plan(values.shape, values.itemsize, source_chunk=chunks).chunk
    return {
        "name": name,
        "file": file,
        "chunk": list(chunk),
        "dtype": str(values.dtype),
        "nbytes": values.nbytes,
        "simulated": simulated,
        "lattice": lattice(values) if simulated else None,
        "unpacked": kind == "unpacked",
        "strain": kind == "frames" and ("strain" in last or last.endswith("hz")),
    }
