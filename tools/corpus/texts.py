"""Text tables: the restored file byte for byte, and cells of delimited text against Python's csv module."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import icecore
from icecore.tables.text.restore import restore
from outcome import Outcome, attempt, judged, said

#: bytes; the cells of larger files are not compared
LARGEST = 1 << 24


def compare(path: Path, folder: Path) -> list[Outcome]:
    """Outcomes of every table of a text file or label after ``pack``."""
    outcomes: list[Outcome] = []
    place = folder / "r.icecore"
    report = attempt("pack", lambda: icecore.pack(path, place, group="/t", keep_going=True), outcomes)
    if report is None:
        return outcomes
    outcomes += said("pack", report)
    repo = attempt("open", lambda: icecore.open(place), outcomes)
    if repo is None:
        return outcomes
    tables = [group for group, node in repo.groups.items() if "text" in node._node.ours.get("table", {})]
    for number, group in enumerate(tables):
        outcomes += _restored(path, repo, group, folder / f"again.{number}")
    if path.suffix.lower() in (".csv", ".tsv") and path.stat().st_size < LARGEST and tables == ["/t"]:
        outcomes += _cells(path, repo.table("/t"))
    return outcomes or [Outcome("no judge", "pack", "no text to restore")]


def _restored(path: Path, repo: Any, group: str, out: Path) -> list[Outcome]:
    outcomes: list[Outcome] = []
    attempt(f"restore {group}", lambda: restore(repo, group, out), outcomes)
    if outcomes:
        return outcomes
    originals = {each.read_bytes() for each in path.parent.iterdir() if each.is_file()}
    files = [out] if out.is_file() else sorted(out.iterdir())
    return [judged(f"restore {group}", file.read_bytes() in originals, file.name) for file in files]


def _cells(path: Path, table: Any) -> list[Outcome]:
    """Compare cells where the file is plain: each of the last rows has a word for each column."""
    words = _rows(path)
    columns = table.scan().read_all().to_pydict()
    count = len(table)
    if len(words) < count or not count:
        return [Outcome("no judge", "cells", f"{len(words)} lines, {count} rows")]
    words = words[len(words) - count :]
    if any(len(row) != len(columns) for row in words):
        return [Outcome("no judge", "cells", "rows of different lengths")]
    outcomes = []
    for number, (name, values) in enumerate(columns.items()):
        pairs = [(row[number], value) for row, value in zip(words, values, strict=True)]
        bad = next(((word, value) for word, value in pairs if not _is(word, value)), None)
        if bad is not None and _has_base_16(path) and all(_is_base_16(*pair) for pair in pairs):
            bad = None
        outcomes.append(judged(f"cells {name}", bad is None, f"{bad}"))
    return outcomes


def _has_base_16(path: Path) -> bool:
    """Whether the label beside the file declares columns of hexadecimal numbers."""
    label = path.with_suffix(".xml")
    return label.is_file() and b"ASCII_Numeric_Base16" in label.read_bytes()


def _is_base_16(word: str, value: Any) -> bool:
    try:
        return int(word, 16) == value
    except ValueError:
        return False


def _rows(path: Path) -> list[list[str]]:
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    return [row for row in rows if any(cell for cell in row)]


def _is(word: str, value: Any) -> bool:
    """Whether a stored value is what the cell says. Times and booleans are not compared."""
    word = word.strip()
    if value is None:
        try:
            return not math.isfinite(float(word)) or word.lstrip("-").startswith(("9", "1e", "3.4"))
        except ValueError:
            return True
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return True
    if isinstance(value, str):
        return value.strip() == word
    try:
        theirs = float(word.replace(",", ""))
    except ValueError:
        return False
    return theirs == value or (math.isnan(theirs) and math.isnan(value))
