"""SlideRule's study (Swinski 2020): 72 datasets through HDF's REST service, against a local file.

The study measured HSDS at 990 s (linked) and 60 s (ingested) where a local file took 10 s. This module
generates a granule and reads it with h5py, with the library, and with h5pyd from ``icecore serve`` and HSDS.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import icecore
from icecore import errors

from icecore_bench.hsds import granule, product, servers
from icecore_bench.hsds.servers import Running
from icecore_bench.study import Outcome, Table

Say = Callable[[str], None]
#: bytes of a granule's values, and runs of each reader
FULL, QUICK = (700 << 20, 5), (20 << 20, 2)


@dataclass
class Reads:
    """Runs of one reader; ``server`` are CPU seconds of the server in each run."""

    name: str
    runs: list[dict[str, Any]] = field(default_factory=list)
    server: list[float] = field(default_factory=list)
    requests: int | None = None

    def row(self, local: float) -> list[Any]:
        """Return the row of the table; ``local`` is the wall time of h5py."""
        wall, cpu, opening = (median(run[key] for run in self.runs) for key in ("wall_s", "cpu_s", "open_s"))
        server = median(self.server) if self.server else None
        return [self.name, wall, wall / local, cpu, server, opening, self.requests]


def run(folder: Path, source: str | None, say: Say, quick: bool = False) -> Outcome:
    """Generate a granule, read it in all ways and return the table.

    Args:
        folder: unused: there are no figures.
        source: a granule to read instead (HDF5).
        say: called with progress messages.
        quick: 20 MB instead of 700 MB, two runs.

    Raises:
        Error: ``corrupt`` if a reader finds other values than h5py.
    """
    size, runs = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="icecore-hsds-") as temporary:
        work = Path(temporary)
        os.environ["ICECORE_CACHE_DIR"] = str(work / "cache")
        served = work / "served"
        served.mkdir()
        path = served / "granule.h5"
        if source is None:
            say(f"generating {size >> 20} MiB")
            granule.write(path, size)
        else:
            path.symlink_to(Path(source).resolve())
        return _measured(path, work, runs, say)


def _measured(path: Path, work: Path, runs: int, say: Say) -> Outcome:
    say("linking and packing")
    icecore.link(path, path.parent / "linked")
    icecore.pack(path, path.parent / "packed")
    notes = [f"Medians of {runs} runs, each reader in a process of its own, from the page cache."]
    found = [_local(name, kind, place, runs, say) for name, kind, place in _local_readers(path)]
    streamed = None
    if find_spec("h5pyd") is None:
        notes.append("h5pyd is not installed: the services were not read (pip install h5pyd).")
    else:
        with servers.icecore_server(path.parent, "--cache", str(work / "index")) as server:
            for name in ("granule.h5", "linked", "packed"):
                found.append(_remote(f"icecore serve, {name}", f"/{name}", server, runs, say))
            streamed = _streamed(server)
        found += _hsds(path, work, runs, notes, say)
    _check(found)
    local = median(run["wall_s"] for run in found[0].runs)
    heads = ("reader", "wall s", "/ h5py", "client CPU s", "server CPU s", "open and walk s", "requests")
    first = found[0].runs[0]
    stored = path.stat().st_size / 1e6
    title = f"{first['datasets']} datasets, {first['bytes'] / 1e6:.0f} MB of values in {stored:.0f} MB"
    outcome = Outcome("hsds", [Table(title, heads, [reads.row(local) for reads in found])], notes=notes)
    outcome.tables += product.tables(path, work / "index", runs, say)
    if streamed:
        outcome.notes.append(streamed)
    return outcome


def _local_readers(path: Path) -> list[tuple[str, str, str]]:
    return [
        ("h5py", "h5py", str(path)),
        ("icecore, linked", "icecore", str(path.parent / "linked")),
        ("icecore, packed", "icecore", str(path.parent / "packed")),
    ]


def _reader(kind: str, place: str, endpoint: str = "", **environment: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "icecore_bench.hsds.reader", kind, place, endpoint]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        raise errors.make("internal", f"the reader {kind} of {place} failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _local(name: str, kind: str, place: str, runs: int, say: Say) -> Reads:
    say(name)
    return Reads(name, [_reader(kind, place) for _ in range(runs)])


def _remote(name: str, domain: str, server: Running, runs: int, say: Say, **environment: str) -> Reads:
    say(name)
    reads = Reads(name)
    _reader("h5pyd", domain, server.endpoint, **environment)  # indexes a file, and warms up
    for _ in range(runs):
        before, requests = server.cpu(), server.requests()
        reads.runs.append(_reader("h5pyd", domain, server.endpoint, **environment))
        reads.server.append(server.cpu() - before)
        after = server.requests()
        reads.requests = None if after is None or requests is None else after - requests
    return reads


def _streamed(server: Running) -> str:
    """Read the largest dataset as one value, and tell the server's memory."""
    address = f"{server.endpoint}/?domain=/packed&getobjs=1"
    with urllib.request.urlopen(address) as reply:
        objects = json.load(reply)["domain_objs"]
    sizes = {key: o["shape"]["dims"][0] for key, o in objects.items() if o.get("shape", {}).get("dims")}
    largest = max(sizes, key=lambda key: sizes[key])
    request = urllib.request.Request(
        f"{server.endpoint}/datasets/{largest}/value?domain=/packed",
        headers={"Accept": "application/octet-stream"},
    )
    total = 0
    with urllib.request.urlopen(request) as reply:
        while part := reply.read(1 << 20):
            total += len(part)
    memory = server.peak() / 1e6
    return f"Memory of icecore serve after all reads: {memory:.0f} MB (a value of {total / 1e6:.0f} MB last)."


def _hsds(path: Path, work: Path, runs: int, notes: list[str], say: Say) -> list[Reads]:
    program = servers.hsds_program()
    if program is None:
        notes.append("HSDS is not installed: name its program in HSDS_PROGRAM (pip install hsds).")
        return []
    account = {"HS_USERNAME": servers.USER, "HS_PASSWORD": servers.PASSWORD}
    with servers.hsds_server(program, work / "hsds") as server:
        say("loading into HSDS")
        for tool, words, user in (
            ("hstouch", ["/home/"], "admin"),
            ("hstouch", ["-o", servers.USER, f"/home/{servers.USER}/"], "admin"),
            ("hsload", [str(path), f"/home/{servers.USER}/granule.h5"], servers.USER),
        ):
            script = f"import sys; from h5pyd._apps.{tool} import main; sys.exit(main())"
            password = "admin" if user == "admin" else servers.PASSWORD
            login = ["-e", server.endpoint, "-u", user, "-p", password]
            done = subprocess.run(
                [sys.executable, "-c", script, *login, *words], capture_output=True, text=True
            )
            # Folders may exist already.
            if done.returncode and tool == "hsload":
                notes.append(f"HSDS was not read: {tool} failed: {(done.stdout + done.stderr)[-300:]}")
                return []
        reads = [_remote("HSDS, loaded", f"/home/{servers.USER}/granule.h5", server, runs, say, **account)]
        if _hsds_linked(path, work / "hsds", server, notes, say):
            domain = f"/home/{servers.USER}/linked.h5"
            reads.append(_remote("HSDS, linked", domain, server, runs, say, **account))
    return reads


def _hsds_linked(path: Path, folder: Path, server: Running, notes: list[str], say: Say) -> bool:
    """Link the granule into HSDS with the program HSLOAD_PROGRAM; returns whether that succeeded."""
    program = os.environ.get("HSLOAD_PROGRAM")
    if program is None:
        notes.append(
            "HSDS with links is left out: hsload --link of h5pyd 1.0.0 fails with HSDS 1.0.2; name that of"
            " h5pyd 0.24 in HSLOAD_PROGRAM."
        )
        return False
    say("linking into HSDS")
    copy = folder / servers.BUCKET / path.name
    shutil.copy(path, copy)
    source = f"{servers.BUCKET}/{path.name}"
    login = ["-e", server.endpoint, "-u", servers.USER, "-p", servers.PASSWORD]
    words = ["--link", "--linkpath", source, source, f"/home/{servers.USER}/linked.h5"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [program, *login, *words], cwd=folder, capture_output=True, text=True, env=environment
    )
    if done.returncode:
        notes.append(f"HSDS with links was not read: hsload failed: {(done.stdout + done.stderr)[-300:]}")
    return done.returncode == 0


def _check(found: list[Reads]) -> None:
    expected = found[0].runs[0]
    for reads in found:
        for each in reads.runs:
            if any(each[key] != expected[key] for key in ("datasets", "bytes", "checksum")):
                raise errors.make("corrupt", f"{reads.name} read other values than h5py")
