"""Ratio and speed of the analyzer's choices on real fields, beside the codecs that others use."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pstore_fields
from child import Meter
from harness import Outcome, Side
from report import Goal, number, table

TITLE = "PStore: lossless codecs on real fields"
ABOUT = (
    "Every float field of the sample archive (climate models and gravitational-wave strain; 64 KiB or more, "
    "the first 2 MiB) and a made one, cut into the chunks that `icecore pack` plans. Each codec gets the "
    "same chunks and must give every bit back. Ratios of icecore include checksums and the index, where "
    "there are any, the peers' are their bytes alone. Speeds: MB of raw data a second, CPU time of one "
    "thread, median over the fields. Temperatures are there once more as archives of 16-bit integers give "
    "them back (`scale_factor`, `add_offset`). On a lattice: all values are multiples of one step, none of "
    "them 2^23 steps from zero. The shuffles and planes of the peers are NumPy's, which costs them "
    "speed but no ratio. `quick`: the smallest of what the analyzer measured that decodes at 1.2 GB/s."
)
REPS = 1
LABELS: dict[str, str] = {}
PEERS = [
    "zlib 6",
    "bzip2 9",
    "lzma 6",
    "brotli 9",
    "lz4 1",
    "zstd 3",
    "zstd 19",
    "shuffle+zlib 6",
    "shuffle+zstd 19",
    "shuffle+lzma 6",
    "blosc2 shuffle lz4 5",
    "blosc2 shuffle zstd 9",
    "blosc2 bitshuffle zstd 9",
    "pco 8",
    "pco 12",
    "fpzip lossless",
    "bwc+zlib 6",
]
GOALS_OF = ("archive", "balanced", "speed")
#: MB/s that a core must decode to be quick
QUICK = 1200
OURS = (*GOALS_OF, "quick")
SIDES = [Side("icecore", "ours"), *(Side(name, "peer", args={"codec": name}) for name in PEERS)]
#: a fill value that no field holds, so that every chunk is stored
_FILL = {"float32": "0x7fc0beef", "float64": "0x7ff80000deadbeef"}

#: codec → field → figures
Figures = dict[str, dict[str, dict[str, float]]]


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """The fields as files."""
    path, fields = pstore_fields.kept(params["quick"])
    return {"path": path, "fields": fields, "touch_gb": 0.2}


def ours(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """The choice for each goal, measured on every chunk."""
    from icecore.analyzer.measure import Goal as Wanted
    from icecore.analyzer.measure import measure
    from icecore.analyzer.sample import Kind, take

    wanted = [Wanted.of(goal) for goal in GOALS_OF]
    for field in params["fields"]:
        values = np.load(f"{params['path']}/{field['file']}")
        kind = Kind(field["dtype"], values.dtype, _FILL[field["dtype"]])
        sample = take(kind, values.shape, field["chunk"], values.__getitem__, 1 << 40, 1 << 40)
        extra = meter.extra.setdefault(field["name"], {})
        found = measure(kind, sample, wanted, alone=sample.of == 1)
        measured = [c for c in found.candidates if c.state == "measured"]
        # Where the machine is too slow for any of them: the fastest, whose speed is told as it is.
        quick = [c for c in measured if c.read >= QUICK] or [max(measured, key=lambda c: c.read)]
        chosen = {**found.choices, "quick": max(quick, key=lambda c: c.ratio)}
        for goal, choice in chosen.items():
            figures = {"ratio": choice.ratio, "write": choice.write, "read": choice.read}
            extra.update({f"{goal} {what}": value for what, value in figures.items()})
            meter.notes.append(f"{goal} {field['name']}: {choice.label}")
    return {}


def peer(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """One codec on every chunk of every field."""
    from pstore_peers import make

    pack, unpack = make(params["codec"])
    for field in params["fields"]:
        blocks = list(pstore_fields.blocks(params["path"], field))
        stored, encode = timed(lambda blocks=blocks: [pack(block) for block in blocks])
        for parts, block in zip(stored, blocks, strict=True):
            assert unpack(parts, block) == block.tobytes(), f"{params['codec']} loses bits of {field['name']}"
        pairs = list(zip(stored, blocks, strict=True))
        _, decode = timed(lambda pairs=pairs: [unpack(parts, block) for parts, block in pairs])
        nbytes = sum(len(part) for parts in stored for part in parts)
        mega = field["nbytes"] / 1e6
        meter.extra[field["name"]] = {
            "ratio": field["nbytes"] / nbytes,
            "write": mega / encode,
            "read": mega / decode,
        }
    return {}


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` gives, and its CPU seconds on this thread."""
    began = time.thread_time()
    result = work()
    return result, max(time.thread_time() - began, 1e-9)


def figures_of(results: dict[str, Outcome]) -> Figures:
    """Codec (or goal of icecore) → field → ratio, write, read; without the sides that did not run."""
    found: Figures = {}
    for name, outcome in results.items():
        if not outcome.runs:
            continue
        extra = outcome.runs[0]["extra"]
        if name == "icecore":
            for goal in OURS:
                found[f"icecore {goal}"] = {
                    field: {what: e[f"{goal} {what}"] for what in ("ratio", "write", "read")}
                    for field, e in extra.items()
                }
        else:
            found[name] = extra
    return found


def best_peer(figures: Figures) -> dict[str, tuple[float, str]]:
    """Field → the best ratio of any peer, and whose."""
    best: dict[str, tuple[float, str]] = {}
    for name in [name for name in PEERS if name in figures]:
        for field, e in figures[name].items():
            best[field] = max(best.get(field, (0.0, "")), (e["ratio"], name))
    return best


def gains(results: dict[str, Outcome], side: str | None = None) -> dict[str, float]:
    """For each field: the archive's ratio over the best peer's, or over that of `side`."""
    figures = figures_of(results)
    best = {field: ratio for field, (ratio, _) in best_peer(figures).items()}
    if side is not None:
        best = {field: e["ratio"] for field, e in figures.get(side, {}).items()}
    archive = figures.get("icecore archive", {})
    return {field: e["ratio"] / best[field] for field, e in archive.items() if field in best}


def among(names: set[str], side: str | None = None) -> Callable[[dict[str, Outcome]], float | None]:
    """The median gain of these fields."""

    def middle(results: dict[str, Outcome]) -> float | None:
        found = [gain for field, gain in gains(results, side).items() if field in names]
        return statistics.median(found) if found else None

    return middle


def over(
    side: str, simulated: set[str], goal: str = "archive"
) -> Callable[[dict[str, Outcome]], float | None]:
    """Harmonic mean of a goal's ratio over simulation fields, over the same of a peer."""

    def gain(results: dict[str, Outcome]) -> float | None:
        figures = figures_of(results)
        ours, theirs = figures.get(f"icecore {goal}", {}), figures.get(side, {})
        names = [name for name in ours if name in theirs and name in simulated]
        if not names:
            return None
        means = [statistics.harmonic_mean([of[n]["ratio"] for n in names]) for of in (ours, theirs)]
        return means[0] / means[1]

    return gain


def goals(fields: list[dict[str, Any]]) -> list[Goal]:
    def those(what: str) -> set[str]:
        return {field["name"] for field in fields if field[what]}

    def least(results: dict[str, Outcome]) -> float | None:
        return min(gains(results).values(), default=None)

    simulated = those("simulated")

    def reading(goal: str) -> Callable[[dict[str, Outcome]], float | None]:
        def speed(results: dict[str, Outcome]) -> float | None:
            chosen = figures_of(results).get(f"icecore {goal}", {})
            speeds = [e["read"] for name, e in chosen.items() if name in simulated]
            return statistics.median(speeds) / 1e3 if speeds else None

        return speed

    return [
        Goal("archive over the best peer, the worst field", least, ">=", 1.0),
        Goal("archive over the best peer, median", among(those("name")), ">=", 1.03),
        Goal(
            "archive over pco 12, harmonic means of simulation fields", over("pco 12", simulated), ">=", 1.10
        ),
        Goal("archive over bwc+zlib, the same", over("bwc+zlib 6", simulated), ">=", 1.25),
        Goal("archive over pco 12, LIGO strain, median", among(those("strain"), "pco 12"), ">=", 1.08),
        Goal(
            "archive over the best peer, lattices and unpacked int16, median",
            among(those("lattice") | those("unpacked")),
            ">=",
            1.3,
        ),
        Goal("of these, lattices", among(those("lattice")), ">=", 1.3),
        Goal("of these, unpacked int16", among(those("unpacked")), ">=", 1.3),
        Goal("GB/s that a core decodes of balanced, median of the same", reading("balanced"), ">=", 1.2),
        Goal("GB/s that a core decodes of quick, the same", reading("quick"), ">=", 1.2),
        Goal("quick over fpzip, harmonic means", over("fpzip lossless", simulated, "quick"), ">=", 1.0),
        Goal("GB/s that a core decodes of speed, median", reading("speed"), ">=", 2.5),
        Goal(
            "speed over shuffle+zlib 6, harmonic means", over("shuffle+zlib 6", simulated, "speed"), ">=", 1.0
        ),
    ]


GOALS: list[Goal] = []


def section(measured: dict[str, Any]) -> str:
    """The workload's part of the results: a row a field, a row a codec, the goals."""
    fields = measured["params"]["fields"]
    results = {o.side.name: o for o in measured["outcomes"]}
    simulated = {field["name"] for field in fields if field["simulated"]}
    asked = [goal.row(results)[:-1] for goal in goals(fields)]
    parts = [
        f"## {TITLE}",
        ABOUT,
        table(["goal of icecore", "asked", "measured", ""], asked),
        by_codec(results, simulated),
        by_kind(results, fields),
        by_field(results, fields),
    ]
    absent = [f"- **{o.side.name}**: {o.absent or o.error}" for o in measured["outcomes"] if not o.runs]
    parts = [part for part in parts if part]
    return "\n\n".join(parts + (["Not in the table:\n\n" + "\n".join(absent)] if absent else []))


def by_codec(results: dict[str, Outcome], simulated: set[str]) -> str:
    rows = []
    for name, fields in figures_of(results).items():
        mean = statistics.harmonic_mean([e["ratio"] for field, e in fields.items() if field in simulated])
        middle = [statistics.median(e[what] for e in fields.values()) for what in ("ratio", "write", "read")]
        rows.append([name, f"{mean:.3f}", f"{middle[0]:.3f}", number(middle[1]), number(middle[2])])
    rows.sort(key=lambda row: -float(row[1]))
    first = f"codec, {len(simulated)} simulation fields"
    return table([first, "harmonic mean", "median of all", "write MB/s", "read MB/s"], rows)


def by_kind(results: dict[str, Outcome], fields: list[dict[str, Any]]) -> str:
    """The fields that have a goal of their own, each with its figures."""
    figures = figures_of(results)
    best, archive, pco = best_peer(figures), gains(results), gains(results, "pco 12")
    rows = []
    for field in fields:
        name = field["name"]
        kinds = {"LIGO strain": field["strain"], "unpacked int16": field["unpacked"]}
        kinds[f"lattice of {field['lattice']}"] = field["lattice"]
        kind = next((kind for kind, is_one in kinds.items() if is_one), None)
        if name in archive and kind is not None:
            ratio = figures["icecore archive"][name]["ratio"]
            over = [f"{gain[name]:.3f}" if name in gain else "-" for gain in (pco, archive)]
            rows.append([name, kind, f"{ratio:.3f}", *over, f"{best[name][0]:.3f} ({best[name][1]})"])
    head = ["field", "kind", "archive", "over pco 12", "over the best peer", "which"]
    return table(head, rows) if rows else ""


def by_field(results: dict[str, Outcome], fields: list[dict[str, Any]]) -> str:
    figures = figures_of(results)
    best, archive = best_peer(figures), figures.get("icecore archive", {})
    runs = results["icecore"].runs
    chosen = dict(note.rsplit(": ", 1) for note in runs[0]["notes"]) if runs else {}

    def ratio(side: str, name: str) -> str:
        return f"{figures[side][name]['ratio']:.3f}" if side in figures else "-"

    rows = []
    for field in fields:
        name = field["name"]
        if name not in best or name not in archive:
            continue
        cells = [name, field["dtype"], f"{field['nbytes'] / 1e6:.2f}", " ".join(map(str, field["chunk"]))]
        cells += [ratio("pco 12", name), ratio("fpzip lossless", name)]
        cells += [f"{best[name][0]:.3f} ({best[name][1]})", ratio("icecore archive", name)]
        cells.append(chosen.get(f"archive {name}", ""))
        for goal in ("quick", "balanced", "speed"):
            cells += [ratio(f"icecore {goal}", name), chosen.get(f"{goal} {name}", "")]
            cells.append(f"{figures[f'icecore {goal}'][name]['read'] / 1e3:.1f}")
        rows.append(
            [cell.replace("|", " or ").replace("  ", " ") for cell in cells]
            + [f"{archive[name]['ratio'] / best[name][0]:.3f}"]
        )
    first = ["field", "type", "MB", "chunk", "pco 12", "fpzip", "best peer"]
    ours = [cell for goal in ("quick", "balanced", "speed") for cell in (goal, "by", "GB/s")]
    return table([*first, "archive", "by", *ours, "archive / best peer"], rows)
