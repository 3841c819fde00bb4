"""End of packing a text table: attributes, and verification that the text is reproduced."""

from __future__ import annotations

from icecore import errors
from icecore.repository.nodes import OURS
from icecore.sources.tables.preamble import COMMENTED
from icecore.tables.text import stored_format, verify
from icecore.tables.text.extend_table import rewritten
from icecore.tables.text.table_attempt import Attempt
from icecore.tables.text.text_stream import has_comments
from icecore.tables.text.type_conversion import blank


def finish_table(attempt: Attempt) -> None:
    """Write the remaining rows and the attributes, then verify that the text is reproduced."""
    if attempt.growing is None:
        file = attempt.job.files[0]
        spec, size = file.spec, attempt.done.text
        named = spec is not None and spec.layout == "delimited" and not spec.label
        hint = "if its first line is a row: --no-header" if named else "is it the right file?"
        if named and has_comments(file):
            hint = f"{COMMENTED}; {hint}"
        if spec is not None and spec.label and spec.offset >= size:
            message = f"{spec.label} says that rows begin at byte {spec.offset + 1:,} of {file.place}"
            raise errors.make("mismatch", f"{message}, which has {size:,} bytes", hint)
        raise errors.make("format", f"{file.place} holds no rows of a table", hint)
    attempt.growing.finish(attempt.rows)
    attempt.done.columns, attempt.done.total = [array.path for array in attempt.arrays], attempt.rows
    path, table = attempt.job.path, dict(attempt.stored.kept) if attempt.stored is not None else {}
    table["columns"] = [column["name"] for column in attempt.columns.held]
    table["arrays"] = stored_format.arrays(attempt.columns.held)
    table["sources"] = attempt.sources
    if attempt.escapes is not None:
        attempt.escapes.finish()
    if attempt.options.keep or "text" in table:
        table["text"] = {
            "version": 1,
            "formats": stored_format.shorter(attempt.formats, attempt.columns.held),
        }
    renulled = _mark_nulls(attempt)
    attempt.writer.attrs(path, {**attempt.attrs, OURS: {**attempt.ours, "table": table}})
    first = len(attempt.sources) - len(attempt.job.files)
    if attempt.extending is not None and attempt.extending.changed:
        assert attempt.stored is not None
        attempt.done.rewritten += rewritten(attempt.extending, attempt.stored, attempt.columns.why)
        verify.reprint(attempt.writer._view(), path, range(first), attempt.stored.repo)
    if attempt.options.keep:
        before = attempt.extending.before if attempt.extending is not None else []
        before = [None if i in renulled else array for i, array in enumerate(before)]
        attempt.done.summaries = verify.check(attempt.writer._view(), path, first, attempt.proofs, before)


def _mark_nulls(attempt: Attempt) -> set[int]:
    """Set ``_FillValue`` of integer arrays with missing values, and ``missing_value`` from the labels of all
    files.

    Returns:
        Indexes of columns whose values may have become missing values.
    """
    assert attempt.described is not None
    renulled = set()
    for i, array in enumerate(attempt.arrays):
        old = dict(array._document.get("attributes", {}))
        attrs = dict(old)
        if i in attempt.blank:
            attrs["_FillValue"] = int(blank(array.dtype))
        constants = attempt.described.get(attempt.columns.held[i]["name"], {}).get("missing_value")
        if constants is not None and constants != old.get("missing_value"):
            attrs["missing_value"] = constants
            renulled.add(i)
        if attrs != old:
            attempt.writer.attrs(array.path, attrs)
    return renulled
