"""Every measured claim beside its peers.

`python bench/run.py [w1|w2|w3|small|link|import|all] [--quick]`
`python bench/run.py [partial|precision|prefetch|scaling|ingest|codecs|assay|layout|pstore|peers] [--quick]`

`peers` makes .venv-bench with the pinned peers; `all` does so too if it is missing. Without that environment
the peers that this Python has take part, and the others are reported as absent.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
WORKLOADS = {
    "w1": "w1_linked",
    "w2": "w2_http",
    "w3": "w3_sharded",
    "small": "w4_small_chunks",
    "link": "w5_link",
    "import": "w6_import",
}
PSTORE = {
    "partial": "pstore_partial",
    "precision": "pstore_precision",
    "prefetch": "pstore_prefetch",
    "scaling": "pstore_scaling",
    "ingest": "pstore_ingest",
    "codecs": "pstore_codecs",
    "assay": "pstore_assay",
    "layout": "pstore_layout",
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what",
        nargs="*",
        default=["all"],
        choices=[*WORKLOADS, "all", *PSTORE, "pstore", "peers"],
        metavar="WHAT",
    )
    parser.add_argument(
        "--quick", action="store_true", help="small data, two repetitions: does it work, not how fast"
    )
    parser.add_argument(
        "--reps", type=int, help="repetitions of each side, instead of the workload's own number"
    )
    args = parser.parse_args()
    wanted = [w for w in WORKLOADS if w in args.what or "all" in args.what]
    wanted += [w for w in PSTORE if w in args.what or "pstore" in args.what]
    if "peers" in args.what or ("all" in args.what and not peers_python().exists()):
        make_peers()
    if wanted and peers_python().exists() and Path(sys.prefix) != peers_python().parents[1]:
        os.execv(
            peers_python(), [str(peers_python()), *sys.argv]
        )  # one Python for the parent and its children
    return measure(wanted, args.quick, args.reps) if wanted else 0


def peers_python() -> Path:
    return HERE.parent / ".venv-bench" / "bin" / "python"


def make_peers() -> None:
    """A virtual environment with the pinned peers. A peer that can't be installed is left out, by name."""
    home = peers_python().parents[1]
    if not peers_python().exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    pip = [str(peers_python()), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    requirements = HERE / "requirements.txt"
    if subprocess.run([*pip, "-r", str(requirements)]).returncode == 0:
        return
    for line in requirements.read_text().splitlines():
        name = line.split("#")[0].strip()
        if name and subprocess.run([*pip, name]).returncode != 0:
            print(f"not installed, will be reported as absent: {name}", file=sys.stderr)


def build_examples() -> None:
    """The HTTP store and the limit are Rust examples of the engine's crate."""
    command = ["cargo", "build", "--release", "-q", "-p", "icecore", "--examples"]
    if subprocess.run(command, cwd=HERE.parent).returncode != 0:
        print("the Rust examples could not be built: W2 and the limits stay absent", file=sys.stderr)


def measure(wanted: list[str], quick: bool, reps: int | None) -> int:
    import machine
    import report
    from harness import measure as run

    if {"w1", "w2", "prefetch"} & set(wanted) and "ICECORE_EXAMPLES" not in os.environ:
        build_examples()
    facts = machine.facts()
    wrong = 0
    for name in wanted:
        workload = import_module((WORKLOADS | PSTORE)[name])
        print(f"\n{workload.TITLE}", flush=True)
        measured = run(workload, quick, reps)
        report.keep(workload, measured, facts, quick)
        print("\n" + report.section(workload, measured) + "\n", flush=True)
        wrong += sum(bool(o.wrong or o.error) for o in measured["outcomes"])
    for title, workloads in (("", WORKLOADS), ("-pstore", PSTORE)):
        if set(wanted) & set(workloads):
            print(f"written: {report.assemble(list(workloads.values()), quick, title)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
