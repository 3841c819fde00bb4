"""Inference of the print format of a table from its label, if any, and the first block of a file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.sources.mapping.table_file import TableFile, TableSpec
from icecore.tables.text import binary_records, cell_styles, fixed_width
from icecore.tables.text.fixed_width import ROWS, RUNS
from icecore.tables.text.row_parsers import ending, reach

if TYPE_CHECKING:
    from icecore import _icecore

Format = dict[str, Any]


def infer(
    table: TableFile,
    text: bytes,
    trust: str | None,
    extra: dict[int, list[bytes]],
    words: Collection[int] = (),
    fractions: Collection[int] = (),
) -> tuple[Format, TableSpec]:
    """Infer the print format of a table, and correct its label if the data is trusted.

    Args:
        table: table file with its label, or with an inferred layout.
        text: first block, starting at the table's first row.
        trust: ``data`` if the record length of the data overrides the label's.
        extra: column → additional cells that the format must support.
        words: columns that are text, whatever their cells look like.
        fractions: columns that hold numbers with fractions, even if the cells here are integers.

    Returns:
        The format, and the corrected label. Columns without any value in the block are marked as ``blank``.

    Raises:
        Error: ``mismatch`` if the label contradicts the data.
    """
    assert table.spec is not None
    hidden = next((field.name for field in table.spec.fields if field.length < 1), None)
    if hidden is not None and table.spec.layout != "delimited":
        message = f"{table.spec.label}: field {hidden} has no bytes of its own"
        raise errors.make("mismatch", message, "correct the label")
    if table.spec.layout == "binary":
        return binary_records.infer(table.spec), table.spec
    if table.spec.layout == "fixed":
        if table.spec.closing and (end := ending(table.spec.closing).search(text)) is not None:
            text = text[: end.start()]
        if table.spec.trimmed:
            text = fixed_width.padded(table.spec, text)
        spec = fixed_width.fitted(table, text, trust)
        template, free, lines = fixed_width.rows(spec, text)
        samples = [[line[f.start : f.start + f.length] for line in lines] for f in spec.fields]
        cells = [[f.start, f.length] for f in spec.fields] + free
        layout: Any = {"fixed": {"template": template.decode("latin-1"), "cells": cells}}
        if spec.trimmed:
            layout["fixed"]["trimmed"] = True
        if spec.characters:
            layout["fixed"]["characters"] = [list(stretch) for stretch in spec.characters]
    else:
        spec = table.spec
        text = text[: reach(text, spec.rows)]
        rows = _delimited_rows(table, spec, text)
        # A quoted cell may continue on the next line if the lines together form a row.
        layout = {"delimited": {"separator": spec.separator, "quotes": True, "multiline": True}}
        samples = [[row[i] for row in rows] for i in range(len(spec.fields))]
    if not spec.label:
        alone = spec.layout == "fixed" or spec.separator != ","
        spec = replace(spec, comma=alone and cell_styles.has_commas(samples))
    columns = _columns(spec, samples, extra, words, fractions)
    if not spec.label:
        spec = replace(spec, notes=(*spec.notes, *cell_styles.notes(columns, samples)))
    return {"layout": layout, "columns": columns}, spec


def native(fmt: Format) -> _icecore.TextFormat | binary_records.BinaryFormat:
    """Return the parser and printer of a format."""
    from icecore import _icecore

    if "binary" in fmt["layout"]:
        return binary_records.BinaryFormat(fmt)
    columns = [{key: value for key, value in c.items() if key != "blank"} for c in fmt["columns"]]
    return _icecore.TextFormat(json.dumps({**fmt, "columns": columns}))


def has_lines(fmt: Format) -> bool:
    """Return whether the rows of a format end with line feeds."""
    fixed_width = fmt["layout"].get("fixed")
    return "delimited" in fmt["layout"] or bool(fixed_width and fixed_width["template"].endswith("\n"))


def _columns(
    spec: TableSpec,
    samples: list[list[bytes]],
    extra: dict[int, list[bytes]],
    words: Collection[int],
    fractions: Collection[int],
) -> list[dict[str, Any]]:
    from icecore import _icecore

    columns = []
    for i, cells in enumerate(samples):
        sample = [*cells, *extra.get(i, [])]
        column = styled(spec, i, sample, i in words, i in fractions)
        if not _icecore.valued(sample):
            column["blank"] = True
        columns.append(column)
    return columns


def styled(
    spec: TableSpec, column: int, cells: Sequence[bytes], words: bool = False, fractions: bool = False
) -> dict[str, Any]:
    """Return the column of a print format that reproduces the most of ``cells``.

    ``words`` makes the column text, whatever the cells look like. ``fractions`` states that other rows have
    numbers with fractions; integers with more digits than 64 bits hold are then numbers, not identifiers.
    """
    from icecore import _icecore

    field, fixed_width = spec.fields[column], spec.layout == "fixed"
    separator = "," if fixed_width else spec.separator
    kind = "text" if words else field.kind
    if spec.comma and kind == "any":
        kind = "text" if cell_styles.are_thousands(cells) else "comma"
    found = _icecore.infer_column(field.name, list(cells), kind, fixed_width, field.stated, ord(separator))
    result = {"scale": 0, "size": 0, **json.loads(found)}
    if "words" in result["style"] and field.lead and not result["frame"].get("lead"):
        bare = [cell[field.lead :] for cell in cells if not cell[: field.lead].strip(b" ")]
        spec = replace(spec, fields=(replace(field, lead=0, kind="words"),))
        inner = styled(spec, 0, bare, True) if bare else result
        return inner if inner is result else {**inner, "frame": {**inner["frame"], "lead": " " * field.lead}}
    if not fractions or words or not {"words", "unsigned"} & set(result["style"]):
        return result
    beside = styled(spec, column, [*cells, b"0.5"])
    return result if "words" in beside["style"] or not _icecore.valued(list(cells)) else beside


def _delimited_rows(table: TableFile, spec: TableSpec, text: bytes) -> list[list[bytes]]:
    """Return sample rows from the whole block, without those that have another number of cells.

    Raises:
        Error: ``mismatch`` if most rows have another number of cells than the label states.
    """
    from icecore import _icecore

    rows, others, at = [], Counter[int](), 0
    for run in range(RUNS):
        at = max(at, text.find(b"\n", len(text) * run // RUNS - 1) + 1) if run else 0
        for _ in range(ROWS):
            if at >= len(text):
                break
            cells, end = _icecore.split_row(text, at, ord(spec.separator), len(spec.fields))
            if end is None and run:
                break
            others[len(cells)] += 1
            if len(cells) == len(spec.fields):
                rows.append(cells)
            if end is None:
                break
            at = end
    usual = others.most_common(1)[0][0] if others else 0
    if spec.label and usual != len(spec.fields):
        raise errors.make(
            "mismatch",
            f"{spec.label} says that records of {table.name} have {len(spec.fields)} fields, "
            f"in the file they have {usual}",
            "correct the label",
        )
    return rows
