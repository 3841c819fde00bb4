"""Format numbers, sizes and tables as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from icecore import errors

_STEP = 1000.0
_UNITS = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t":
          10**12, "tb": 10**12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}  # fmt: skip
_SECONDS = {"": 1, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
#: largest accepted size in bytes; sums of a few such sizes do not overflow in the engine
_MOST = 1 << 60


def size(nbytes: float) -> str:
    """Format a number of bytes in decimal units: ``1.3 MB``."""
    value = float(nbytes)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        # Compare after rounding: 999,600 bytes are 1 MB, not 1000 kB.
        shown = f"{value:.0f}" if unit == "B" else f"{value:.3g}"
        if abs(float(shown)) < _STEP:
            return f"{shown} {unit}"
        value /= _STEP
    return f"{significant(value)} PB"


def significant(value: float, digits: int = 3) -> str:
    """Format a number with ``digits`` significant digits: ``0.52``, ``3.14``, ``12,346``.

    Numbers of at least 0.0001 have no exponent.
    """
    shown = f"{value:.{digits}g}"
    return f"{value:,.0f}" if abs(float(shown)) >= 10**digits else shown


def parse_size(text: str | int) -> int:
    """Parse a size: ``1GB``, ``64 MiB`` or ``4096`` bytes.

    Raises:
        Error: ``invalid`` if it is not a size.
    """
    if isinstance(text, int):
        nbytes = text
    else:
        match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([a-zA-Z]*)", text.strip())
        unit = _UNITS.get(match[2].lower()) if match else None
        if match is None or unit is None:
            raise errors.make(
                "invalid", f"{text!r} is not a size in bytes", "write it as 500MB, 1GB or 64MiB"
            )
        nbytes = int(float(match[1]) * unit)
    if nbytes > _MOST:
        raise errors.make("invalid", f"{text} is too large for a size in bytes", "write it as 500MB or 1GB")
    return nbytes


def parse_seconds(text: str | float) -> float:
    """Parse a duration to seconds: ``30s``, ``2m``, ``1.5h``, ``7d``, ``1w``, ``500ms`` or a number.

    Raises:
        Error: ``invalid`` if it is not a duration.
    """
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([a-z]*)", str(text).strip())
    if match is None or match[2] not in _SECONDS:
        raise errors.make("invalid", f"{text!r} is not a duration", "write it as 30s, 2m, 12h or 7d")
    return float(match[1]) * _SECONDS[match[2]]


def ratio(raw: float, stored: float) -> str:
    """Format ``raw / stored`` as ``3.1x``; a dash if nothing is stored."""
    return f"{significant(raw / stored)}x" if stored else "-"


def plural(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 array``, ``1,200 arrays``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


#: characters whose width may differ from one column of a terminal
_ODD = "[^\0-\u02ff\u2010-\u2027\u2190-\u21ff\u2500-\u257f]"


def width(text: str) -> int:
    """Return the width in terminal columns: East Asian characters take two, combining marks none."""
    if not re.search(_ODD, text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def ljust(text: str, columns: int) -> str:
    """Pad ``text`` with spaces on the right, to a width in terminal columns."""
    return text + " " * (columns - width(text))


def table(headers: Sequence[str], rows: Iterable[Sequence[Any]], right: Sequence[int] = ()) -> str:
    """Format an aligned text table; ``right`` lists the indexes of right-aligned columns."""
    body = [[str(cell) for cell in row] for row in rows]
    widths = [max([width(head), *(width(row[i]) for row in body)]) for i, head in enumerate(headers)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            " " * (most - width(cell)) + cell if i in right else ljust(cell, most)
            for i, (cell, most) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(padded).rstrip()

    return "\n".join([line(list(headers)), line(["-" * most for most in widths]), *map(line, body)])


def pairs(rows: Iterable[tuple[str, Any]]) -> str:
    """Format ``name   value`` lines with aligned values."""
    rows = list(rows)
    most = max((width(name) for name, _ in rows), default=0)
    return "\n".join(f"{ljust(name, most)}  {value}".rstrip() for name, value in rows)


def folded(text: str, most: int) -> str:
    """Wrap lines longer than ``most`` columns between words.

    Continuation lines are indented to the last table column that begins in the first half of the line, or
    slightly more than the line itself. Rules below table headers are cut.
    """
    return "\n".join(part for line in text.split("\n") for part in _fold(line, max(most, 10)))


def _fold(line: str, most: int) -> list[str]:
    if width(line) <= most:
        return [line]
    if not line.strip("- "):
        return [line[:most]]
    ends = (match.end() for match in re.finditer(r"\S {2,}(?=\S)", line))
    columns = [end for end in ends if width(line[:end]) <= 0.6 * most]
    start = len(line) - len(line.lstrip())
    indent = columns[-1] if columns else start + 2
    # Continue the branches of a tree in continuation lines.
    lead = "".join("│" if mark in "│├" else " " * width(mark) for mark in line[:indent])
    parts = [line[:indent]] if columns else [line[:start]]
    for word in re.findall(r"\S+\s*", line[len(parts[0]) :]):
        if width(parts[-1] + word.rstrip()) > most and parts[-1].strip("│ "):
            parts.append(lead)
        parts[-1] += word
    return [part.rstrip() for part in parts]


#: characters that control a terminal: control characters except newline and tab, marks that change the
#: writing direction, and lone surrogates
_STEERING = "[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"


def visible(text: str) -> str:
    """Escape characters that would control a terminal, as Python does: ``\\x1b``."""
    return re.sub(_STEERING, lambda match: match[0].encode("unicode_escape").decode(), text)


def label(name: str) -> str:
    """Return a name on one line, without characters that control a terminal."""
    return visible(name).replace("\n", "\\n").replace("\t", "\\t")


def shorten(text: str, most: int = 80) -> str:
    """Return ``text`` on one line, cut with an ellipsis if longer than ``most`` columns."""
    flat = " ".join(text.split())
    if width(flat) <= most:
        return flat
    flat = flat[: most - 1]
    while width(flat) >= most:
        flat = flat[:-1]
    return flat + "…"


def time_us(microseconds: int) -> str:
    """Format microseconds since 1970 as ISO time in UTC, with seconds."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(microseconds / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def shape_label(shape: Iterable[int], dims: Iterable[str | None]) -> str:
    """Format a shape: ``(time: 240, y: 138)``, or ``(240, 138)`` without dimension names."""
    parts = [f"{label(dim)}: {n}" if dim is not None else str(n) for n, dim in zip(shape, dims, strict=True)]
    return f"({parts[0]},)" if len(parts) == 1 and ":" not in parts[0] else f"({', '.join(parts)})"
