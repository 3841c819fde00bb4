"""Runs the sides of a workload beside each other: fresh processes in turns, medians, checked results.

Standard library only: the peers live in the Python of the children.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from child import MARK

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
TIMEOUT_S = 1800


@dataclass(frozen=True)
class Side:
    """One competitor: a function of the workload's module. `reps` caps the repetitions of a slow one."""

    name: str
    function: str
    reps: int = 99
    config: str = ""
    args: dict[str, Any] = field(default_factory=dict)


@dataclass
class Outcome:
    """All repetitions of one side, or why there are none."""

    side: Side
    runs: list[dict[str, Any]] = field(default_factory=list)
    absent: str = ""
    error: str = ""
    wrong: list[str] = field(default_factory=list)

    def seconds(self, label: str, what: str = "wall") -> float | None:
        """Median over the repetitions; of many blocks with one label, their median wall and mean CPU time."""
        column = 0 if what == "wall" else 1
        reduce = statistics.median if what == "wall" else statistics.fmean
        per_run = [
            reduce([t[column] for t in run["times"][label]]) for run in self.runs if label in run["times"]
        ]
        return statistics.median(per_run) if per_run else None

    def memory(self, name: str) -> float | None:
        values = [run["memory"][name] for run in self.runs if name in run["memory"]]
        return statistics.median(values) if values else None

    def extra(self, label: str, name: str) -> float | None:
        values = [run["extra"][label][name] for run in self.runs if name in run["extra"].get(label, {})]
        return statistics.median(values) if values else None


def python() -> str:
    """The interpreter of the children: the peers' environment where it exists, else this one."""
    return str(PEERS_PYTHON) if PEERS_PYTHON.exists() else sys.executable


def spawn(module: str, function: str, params: dict[str, Any]) -> dict[str, Any]:
    """Run one function in a fresh process; its result, or `{"error": …}`.

    `others`: how many cores everyone but us kept busy meanwhile; the process `params["server"]` is us.
    """
    command = [python(), str(HERE / "child.py"), module, function, json.dumps(params)]
    ours = params.get("server")
    before, own = busy(ours), os.times()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment())
    except subprocess.TimeoutExpired:
        return {"error": f"no result within {TIMEOUT_S} s"}
    result = next((line for line in reversed(done.stdout.splitlines()) if line.startswith(MARK)), None)
    if result is None:
        return {"error": f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"}
    parsed: dict[str, Any] = json.loads(result.removeprefix(MARK))
    if "error" in parsed:
        print(done.stderr.strip()[-3000:], file=sys.stderr)
    after = os.times()
    mine = sum(after[i] - own[i] for i in range(4))
    parsed["others"] = max(0.0, busy(ours) - before - mine) / max(1e-3, after.elapsed - own.elapsed)
    return parsed


def environment() -> dict[str, str]:
    """The children see this checkout's package where their own environment has none."""
    found = list((ROOT / "python" / "icecore").glob("_icecore*.so"))
    path = [str(ROOT / "python")] if found and not installed() else []
    path += [p for p in [os.environ.get("PYTHONPATH")] if p]
    # Without compiled modules every import would be measured as compilation.
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPATH": os.pathsep.join(path)}


def installed() -> bool:
    """Is icecore a package of the children's environment?"""
    site = Path(python()).parent.parent / "lib"
    return any(site.glob("python3*/site-packages/icecore*"))


def busy(but: int | None) -> float:
    """CPU seconds used by the whole machine since it started, without those of one process."""
    with open("/proc/stat") as stat:
        user, nice, system, _idle, _wait, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    ticks = user + nice + system + irq + softirq + steal
    if but is not None:
        fields = Path(f"/proc/{but}/stat").read_text().rpartition(")")[2].split()
        ticks -= int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def touch_memory(gigabytes: float) -> None:
    """Makes the host back that much memory, so that no side pays for pages never handed out before."""
    code = f"b = bytearray({int(gigabytes * 1e9)}); b[::4096] = b'x' * len(b[::4096])"
    subprocess.run([sys.executable, "-c", code], check=False)


def read_files(paths: list[str]) -> None:
    """Brings files and folders into the page cache."""
    for top in map(Path, paths):
        for path in [top] if top.is_file() else sorted(p for p in top.rglob("*") if p.is_file()):
            with open(path, "rb", buffering=0) as file:
                while file.read(1 << 24):
                    pass


@contextmanager
def no_world(params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Most workloads need nothing running beside them."""
    yield params


def measure(workload: ModuleType, quick: bool, wanted: int | None = None) -> dict[str, Any]:
    """Prepare one workload's data and run its sides in turns: parameters and outcomes, for `report`."""
    prepared = spawn(workload.__name__, "prepare", {"quick": quick})
    if "checks" not in prepared:
        raise SystemExit(f"{workload.__name__}: the data could not be made: {prepared}")
    params: dict[str, Any] = {"quick": quick, **prepared["checks"]}
    outcomes = [Outcome(side) for side in workload.SIDES]
    with getattr(workload, "world", no_world)(params) as params:
        touch_memory(params.get("touch_gb", 1.0))
        read_files(params.get("warm", []))
        reps = wanted or (min(2, workload.REPS) if quick else workload.REPS)
        for rep in range(reps):
            for outcome in outcomes:
                if rep < outcome.side.reps and not outcome.absent and not outcome.error:
                    one(workload, outcome, {**params, **outcome.side.args, "rep": rep})
    check(outcomes, params.get("expect", {}))
    return {"params": params, "outcomes": outcomes}


def one(workload: ModuleType, outcome: Outcome, params: dict[str, Any]) -> None:
    result = spawn(workload.__name__, outcome.side.function, params)
    outcome.absent, outcome.error = result.get("absent", ""), result.get("error", "")
    if "times" in result:
        outcome.runs.append({**result, "rep": params["rep"]})
    shown = outcome.absent or outcome.error
    shown = shown or ", ".join(f"{label} {summary(times)}" for label, times in result["times"].items())
    print(f"  {workload.__name__} #{params['rep'] + 1} {outcome.side.name}: {shown}", flush=True)


def summary(times: list[list[float]]) -> str:
    wall = statistics.median(t[0] for t in times)
    return f"{wall * 1e3:.1f} ms/{statistics.fmean(t[1] for t in times) * 1e3:.1f}"


def check(outcomes: list[Outcome], expect: dict[str, Any]) -> None:
    """Every side must have read what the generator wrote.

    Where the generator left no checksum, all sides must agree.
    """
    agreed: dict[str, Any] = dict(expect)
    for outcome in outcomes:
        for run in outcome.runs:
            for key, value in (run["checks"] or {}).items():
                if agreed.setdefault(key, value) != value and key not in outcome.wrong:
                    outcome.wrong.append(key)
