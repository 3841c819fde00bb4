"""Link, pack and compare every file of any collection, each in a process with limits.

Usage: python tools/corpus DIRECTORY... [--out REPORT.json] [--jobs 2] [--seconds 120] [--memory 6]
`make corpus` takes the directories from ICECORE_CORPUS (separated by colons).

Each file is judged by its format's own library: h5py, netCDF4, NumPy, zarr-python, uproot, gwframe; text
tables by their restored bytes and Python's csv module. Prints a table of outcomes by suffix, and each fault.
Exits with 1 if a value is wrong or a process crashed or hung.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from outcome import FAULTS, WORDS, Outcome

CHILD = Path(__file__).with_name("child.py")
_ZARR = ("zarr.json", ".zgroup", ".zarray")


def sources(place: Path) -> list[Path]:
    """Files at or below a place; a Zarr folder counts as one file."""
    if place.is_file():
        return [place]
    if any((place / name).is_file() for name in _ZARR):
        return [place]
    found: list[Path] = []
    for each in sorted(place.iterdir()):
        if not each.name.startswith(".") and (each.is_dir() or each.is_file()):
            found += sources(each)
    return found


def judged(path: Path, seconds: float, memory: int) -> list[Outcome]:
    """Outcomes of a file by a process with limits: seconds of CPU (ten times that by the clock), GiB."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory << 30, memory << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 5))

    command = [sys.executable, str(CHILD), str(path)]
    environment = {**os.environ, "RUST_LOG": "error", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=10 * seconds, preexec_fn=limited, env=environment
        )
    except subprocess.TimeoutExpired:
        return [Outcome("hung", "file", f"more than {10 * seconds:g} s")]
    outcomes = [Outcome(**json.loads(line)) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode == -signal.SIGXCPU:
        outcomes.append(Outcome("hung", "file", f"more than {seconds:g} CPU seconds"))
    elif done.returncode:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        outcomes.append(Outcome("crashed", "file", f"status {done.returncode}: {lines[-1][:250]}"))
    return outcomes


def worst(outcomes: list[Outcome]) -> str:
    """The worst word of a file's outcomes; a refusal of a whole file counts only where nothing was read."""
    words = {outcome.word for outcome in outcomes}
    for word in reversed(FAULTS):
        if word in words:
            return word
    return next((word for word in WORDS if word in words), "no judge")


def table(found: dict[str, list[Outcome]]) -> str:
    """Objects by outcome for each suffix, and the sums."""
    rows: dict[str, Counter[str]] = {}
    for name, outcomes in found.items():
        counts = rows.setdefault(Path(name).suffix.lower() or "(none)", Counter())
        counts["files"] += 1
        counts.update(outcome.word for outcome in outcomes)
    rows["all"] = sum(rows.values(), Counter())
    columns = ("files", *WORDS)
    lines = ["suffix".ljust(10) + "".join(column.rjust(10) for column in columns)]
    lines += [
        suffix[:9].ljust(10) + "".join(f"{counts[c]:,}".rjust(10) for c in columns)
        for suffix, counts in rows.items()
    ]
    return "\n".join(lines)


def main() -> int:
    """Judge all files; print the faults as they are found and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("places", nargs="*", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--memory", type=int, default=6)
    asked = parser.parse_args()
    places = asked.places or [Path(p) for p in os.environ.get("ICECORE_CORPUS", "").split(":") if p]
    if not places:
        parser.error("name directories, or set ICECORE_CORPUS")
    paths = [path for place in places for path in sources(place)]
    found: dict[str, list[Outcome]] = {}
    with ThreadPoolExecutor(asked.jobs) as pool:
        results = pool.map(lambda path: judged(path, asked.seconds, asked.memory), paths)
        for number, (path, outcomes) in enumerate(zip(paths, results, strict=True), 1):
            found[str(path)] = outcomes
            print(f"[{number}/{len(paths)}] {path.name}: {worst(outcomes)}", file=sys.stderr, flush=True)
            for outcome in outcomes:
                if outcome.word in FAULTS:
                    print(f"{outcome.word.upper()} {path}: {outcome.name}: {outcome.detail}", flush=True)
    print(table(found))
    if asked.out is not None:
        report = {name: [json.loads(o.line()) for o in outcomes] for name, outcomes in found.items()}
        asked.out.write_text(json.dumps(report, indent=1))
    return int(any(outcome.word in FAULTS for outcomes in found.values() for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
