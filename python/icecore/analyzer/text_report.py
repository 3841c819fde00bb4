"""Text tables and flat rows of an assay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from icecore.analyzer.measure import Candidate, Choice
from icecore.display import text

if TYPE_CHECKING:
    from icecore.analyzer.assay_result import ArrayAssay, Assay, FileAssay

HEADS = ("codec", "ratio", "write MB/s", "read MB/s", "frontier", "chosen for")
#: column heads for a terminal
_NARROW = ("codec", "ratio", "write", "read", "*", "chosen for")
PROGRAM_HEADS = ("program", "bytes", "ratio", "pack s", "unpack s")


def as_text(assay: Assay) -> str:
    """Return the tables that the command prints."""
    parts = [_array(array) for array in assay.arrays] + [_file(file) for file in assay.files]
    return "\n\n".join([*parts, "\n".join(f"note: {note}" for note in assay.notes)]).strip()


def title(array: ArrayAssay) -> str:
    """Return one line that names the array and what was measured."""
    chunk = f" of shape {array.chunk}" if array.chunk else ""
    return (
        f"{array.path}: {array.dtype} {array.shape}, {text.size(array.nbytes)}; "
        f"{array.chunks:,} of {text.plural(array.of, 'chunk')}{chunk} measured in {array.seconds:.1f} s"
    )


def shown(array: ArrayAssay) -> list[Candidate]:
    """Return the candidates that have measurements."""
    return [c for c in array.candidates if c.blocks and c.state != "failed"]


def cells(candidate: Candidate) -> tuple[str, ...]:
    """Return a table row with the columns of ``HEADS``."""
    label = candidate.label + (" (measured only)" if candidate.state == "measured only" else "")
    # A pruned candidate was not measured on all blocks; its ratio is extrapolated.
    about = "~" if candidate.state == "pruned" else ""
    return (
        label,
        f"{about}{candidate.ratio:.3f}",
        speed(candidate.write),
        speed(candidate.read),
        "*" if candidate.frontier else "",
        ", ".join(candidate.chosen_for),
    )


def choice(found: Choice) -> str:
    """Return a line about a goal's choice, without the goal."""
    codecs = found.label if " | " not in found.label else f"{found.label} (each chunk takes the shortest)"
    return f"{codecs}: ratio {found.ratio:.3f}, writes {speed(found.write)}, reads {speed(found.read)} MB/s"


def speed(value: float) -> str:
    """Format MB/s with at least two digits."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def goal(found: Choice) -> str:
    """Return the goal's name, with the bandwidth for ``balanced``."""
    wanted = found.goal
    return f"{wanted.name} at {text.size(wanted.bandwidth)}/s" if wanted.name == "balanced" else wanted.name


def asides(array: ArrayAssay) -> list[str]:
    """Return lines about candidates without measurements, with the reason."""
    lines = []
    early = [c.label for c in array.candidates if c.state == "pruned" and not c.blocks]
    if early:
        lines.append(f"left out as hopeless: {', '.join(early)}")
    lines += [f"failed: {c.label} ({c.why})" for c in array.candidates if c.state == "failed"]
    if not array.choices:
        lines.append("nothing to choose: it holds text, or nothing but the fill value")
    return lines


def summary(file: FileAssay) -> str:
    """Return one line that names the file and the packed part."""
    part = "" if file.measured == file.nbytes else f" ({text.size(file.measured)} from its middle)"
    return f"{file.name}: no arrays; {text.size(file.nbytes)}{part}, packed as a whole by programs"


def program_cells(file: FileAssay) -> list[tuple[str, ...]]:
    """Return table rows with the columns of ``PROGRAM_HEADS``."""
    return [
        (p.program, f"{p.nbytes:,}", f"{p.ratio:.3f}", f"{p.pack:.3f}", f"{p.unpack:.3f}")
        for p in file.programs
    ]


def records(assay: Assay) -> list[dict[str, Any]]:
    """Return a flat row for every candidate of every array, or every program: the rows of a CSV file."""
    rows: list[dict[str, Any]] = []
    for array in assay.arrays:
        for c in array.candidates:
            figures = {"ratio": c.ratio, "write_mb_s": c.write, "read_mb_s": c.read, "blocks": c.blocks}
            where = {"source": assay.source, "array": array.path, "codec": c.label, "state": c.state}
            goals = " ".join(c.chosen_for)
            rows.append({**where, **figures, "frontier": int(c.frontier), "chosen_for": goals})
    for file in assay.files:
        for p in file.programs:
            figures = {"bytes": p.nbytes, "ratio": p.ratio, "pack_s": p.pack, "unpack_s": p.unpack}
            rows.append({"source": file.name, "program": p.program, **figures})
    return rows


def _array(array: ArrayAssay) -> str:
    table = text.table(_NARROW, [cells(c) for c in shown(array)], (1, 2, 3))
    goals = text.pairs((goal(found), choice(found)) for found in array.choices.values())
    return "\n\n".join(part for part in (title(array), table, goals, "\n".join(asides(array))) if part)


def _file(file: FileAssay) -> str:
    table = text.table(PROGRAM_HEADS, program_cells(file), (1, 2, 3, 4))
    absent = f"not installed here: {', '.join(file.absent)}" if file.absent else ""
    return "\n\n".join(part for part in (summary(file), table, absent) if part)
