"""Demonstration run: link and pack sample files, and compare all values with those of field libraries."""

from __future__ import annotations

import datetime
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

from icecore import errors
from icecore.demo import events, frames
from icecore.demo.outcome import Check, Outcome, check, counts
from icecore.filesystem.atomic_output import room
from icecore.ingest.link import link
from icecore.ingest.pack import pack
from icecore.ingest.plan.repository_source import is_repository
from icecore.repository.open import open
from icecore.repository.repo import Repo
from icecore.samples import files as samples
from icecore.tables.text.restore import restore

REPO = "demo.icecore"
#: space in bytes for the sample files and the repository, with a reserve
_SIZE = 45_000_000
#: names that may remain of a repository after an interrupted removal; the list of versions is gone
_PARTS = {".icecore.lock", "chunks", "manifests", "overwritten", "seals", "snapshots", "transactions"}
#: group of the repository → sample file, and the method (linked or packed)
_PLAN = {
    "/photons": ("photons.h5", "linked"),
    "/grid": ("grid.nc", "packed"),
    "/stations": ("stations.nc", "linked"),
    "/terrain": ("terrain.npy", "packed"),
    "/diviner": ("diviner.tab", "packed"),
}
#: group of a section with figures → its files
_MORE = {frames.GROUP: frames.FOLDER, events.GROUP: events.FILE}


def run(folder: Path) -> Outcome:
    """Run the demonstration in ``folder``, which is new, empty, or holds an earlier demonstration.

    Raises:
        Error: ``exists`` if the directory holds anything else.
    """
    _prepare(folder)
    outcome = Outcome(folder)
    samples.make(folder)
    into = str(folder / REPO)
    for group, (name, how) in _PLAN.items():
        source = folder / name
        report = (link if how == "linked" else pack)([source], into, group)
        if group == "/photons":
            open(into).tag("linked")
        outcome.rows.append(
            {
                "file": name,
                "arrays": counts(report),
                "bytes_file": source.stat().st_size,
                "bytes_raw": report.bytes_raw,
                "bytes_stored": report.bytes_stored,
                "seconds_write": report.seconds,
            }
        )
    repo = open(into)
    for (group, (name, _)), row in zip(_PLAN.items(), outcome.rows, strict=True):
        _compare(repo, group, folder / name, row, outcome.checks)
    frames.show(folder, into, outcome)
    events.show(folder, into, outcome)
    outcome.snapshot = open(into).snapshot_id
    return outcome


def _prepare(folder: Path) -> None:
    inside = next(
        (place for place in (folder, *folder.absolute().parents) if is_repository(str(place))), None
    )
    if inside is not None:
        raise errors.make("exists", f"{inside} is a repository", "name another folder: icecore demo DIR")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{folder} can't be made: {error.strerror}"
        kind = "permission" if isinstance(error, PermissionError) else "io"
        raise errors.make(kind, message, "name another folder: icecore demo DIR") from None
    room(str(folder / REPO), _SIZE)
    repo = folder / REPO
    if repo.exists():
        _forget(repo)
        return
    names = [*(name for name, _ in _PLAN.values()), *_MORE.values()]
    found = next((name for name in names if (folder / name).exists()), None)
    if found is not None:
        raise _foreign(f"{folder} holds {found}")


def _forget(place: Path) -> None:
    """Remove the repository of an earlier demonstration, or what an interrupted removal left of it.

    Raises:
        Error: ``exists`` if it is anything else.
    """
    try:
        repo = open(place)
    except errors.Error:
        if not place.is_dir() or not {path.name for path in place.iterdir()} <= _PARTS:
            raise _foreign(str(place)) from None
        shutil.rmtree(place, ignore_errors=True)
        return
    if others := {f"/{path.split('/')[1]}" for path in repo} - _PLAN.keys() - _MORE.keys():
        raise _foreign(f"{place} holds {', '.join(sorted(others)[:3])}")
    repo._native.remove(only_if_bare=False)


def _foreign(what: str) -> errors.Error:
    return errors.make(
        "exists", f"{what}, which no demonstration made", "name another folder: icecore demo DIR"
    )


def _compare(repo: Repo, group: str, source: Path, row: dict[str, object], checks: list[Check]) -> None:
    began = time.perf_counter()
    paths = [path for path in repo.arrays if path.startswith(group + "/")]
    ours = repo.read(dict.fromkeys(paths))
    row["seconds_read"] = time.perf_counter() - began
    began = time.perf_counter()
    theirs = dict(_reference(source))
    row["seconds_reference"] = time.perf_counter() - began
    for path in sorted({*ours, *(group + inside for inside in theirs)}):
        checks.append(check(path, ours.get(path), theirs.get(path[len(group) :])))
    if source.suffix == ".tab":
        checks.append(_restored(repo, group, source))


def _restored(repo: Repo, table: str, source: Path) -> Check:
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, source.name)
        restore(repo, table, str(text))
        same = text.read_bytes() == source.read_bytes()
    return Check(table, same, "" if same else "its text comes out differently")


def _reference(source: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yield path → values, read with h5py or NumPy instead of icecore. For netCDF-3, the known layout is
    used.
    """
    if source.suffix == ".npy":
        yield f"/{source.stem}", np.load(source)
    elif source.name == "stations.nc":
        yield from _classic(source)
    elif source.suffix == ".tab":
        yield from _columns(source)
    else:
        found: list[tuple[str, np.ndarray]] = []

        def visit(name: str, node: object) -> None:
            if isinstance(node, h5py.Dataset):
                found.append((f"/{name}", node[...]))

        with h5py.File(source) as file:
            file.visititems(visit)
        yield from found


def _classic(source: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays of the stations file by its layout: the fixed variable, then one record per day."""
    record = np.dtype([("time", ">f8"), ("rain", ">f4", (samples.STATIONS,))])
    tail = source.read_bytes()[-(samples.STATIONS * 4 + samples.DAYS * record.itemsize) :]
    yield "/station", np.frombuffer(tail, ">i4", samples.STATIONS)
    records = np.frombuffer(tail, record, samples.DAYS, samples.STATIONS * 4)
    yield "/time", np.ascontiguousarray(records["time"])
    yield "/rain", np.ascontiguousarray(records["rain"])


def _columns(source: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the columns of the table: a date, a time of day, numbers."""
    with source.open(encoding="ascii") as file:
        header = [next(file) for _ in range(4)][-1]
    cells = np.char.strip(np.loadtxt(source, str, delimiter=","), ' "')
    for name, column in zip(header.strip("# \n").split(","), cells.T, strict=True):
        match name.strip():
            case "date":
                days = [datetime.datetime.strptime(cell, "%d-%b-%Y").date() for cell in column]
                values = np.array(days, "M8[D]")
            case "utc":
                values = np.char.add("1970-01-01T", column).astype("M8[ms]").astype("m8[ms]")
            case _:
                values = column.astype("f8" if "." in column[0] else "i8")
        yield f"/{name.strip()}", values
