"""Text tables → columns, so that the text can be printed again byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.nodes import HIDDEN, OURS, Node
from icecore.sources.tablefile import TableFile
from icecore.tables import choice, codecs, format, kinds, proof, stated
from icecore.tables.filestate import FileState
from icecore.tables.growing import Growing
from icecore.tables.job import Done, TableJob, TableOptions
from icecore.tables.stream import BLOCK, TextStream
from icecore.text import plural

if TYPE_CHECKING:
    from icecore.arraywriter import ArrayWriter
    from icecore.writer import Writer

#: times that a table is begun anew because a column turned out to need more room
_ATTEMPTS = 12
#: escapes and lines that are no rows, per cent, above which a file gets a print format of its own
_MANY = 0.02
_NOTHING = np.empty(0, "u1")


class _Again(Exception):
    """A column needs another data type than the one that was begun with."""


def pack_table(
    writer: Writer, job: TableJob, options: TableOptions, progress: Callable[[str, int], None] | None = None
) -> Done:
    """Write one table; nothing is committed.

    Raises:
        Error: ``mismatch`` where a label contradicts its file, or a file doesn't fit the table that it is
            appended to; ``corrupt`` for damaged archives; ``internal`` where the text can't be printed again.
    """
    if job.delete:
        writer.delete(job.path)
    packing = _TablePack(writer, job, options, progress)
    for _ in range(_ATTEMPTS):
        try:
            return packing.run()
        except _Again:
            if writer._native.exists(job.path):
                writer.delete(job.path)
    raise errors.make(
        "unsupported",
        f"the columns of {job.path} change their nature again and again",
        "pack the files one by one",
    )


class _TablePack:
    def __init__(
        self,
        writer: Writer,
        job: TableJob,
        options: TableOptions,
        progress: Callable[[str, int], None] | None,
    ) -> None:
        self._writer, self._job, self._options = writer, job, options
        self._report = progress or (lambda path, nbytes: None)
        #: by column: what its array holds, widened from attempt to attempt
        self._columns: list[dict[str, Any]] = []
        self._extra: dict[int, list[bytes]] = {}
        self._kept = self._stored() if job.append else {}
        #: columns that only text can hold
        self._words = {i for i, column in enumerate(self._columns) if "words" in column["style"]}

    def _stored(self) -> dict[str, Any]:
        """The attributes of the table that is extended."""
        node = self._writer.base()._nodes[self._job.path]
        kept = node.ours.get("table", {})
        if "text" not in kept and self._options.keep:
            raise errors.make(
                "mismatch",
                f"{self._job.path} was packed without its print format",
                "append with --no-restore, or pack into another group",
            )
        self._columns = stated.columns(kept)
        return kept

    def run(self) -> Done:
        self._done = Done(self._job.path)
        self._arrays: list[ArrayWriter] = []
        self._growing: Growing | None = None
        self._escapes: ArrayWriter | None = None
        self._rows = self._at = 0
        self._formats: list[dict[str, Any]] = []
        self._sources: list[dict[str, Any]] = []
        self._blank: set[int] = set()
        self._proofs: list[proof.Proof] = []
        if self._kept:
            self._continue()
        for file in self._job.files:
            self._file(file)
        self._finish()
        return self._done

    def _continue(self) -> None:
        path = self._job.path
        self._arrays = [self._writer[f"{path}/{name}"] for name in self._kept["columns"]]
        self._growing = Growing(self._writer, self._arrays)
        self._rows = self._arrays[0].shape[0]
        self._formats, self._sources = stated.formats(self._kept), list(self._kept.get("sources", []))
        if self._options.keep:
            self._escapes = self._writer[f"{path}/{HIDDEN[0]}/escapes"]
            self._at = self._escapes.shape[0]

    def _file(self, file: TableFile) -> None:
        """Stream one file into the columns."""
        stream = TextStream(file.place, file.open, self._options.keep)
        source: dict[str, Any] = {
            "name": file.name,
            "rows": [self._rows, self._rows],
            "escapes": [self._at, self._at],
        }
        self._proofs.append(proof.Proof())
        assert file.spec is not None
        rest, head, limit = _NOTHING, file.spec.offset, None
        state = FileState(file, source)
        blocks = iter(stream)
        block = next(blocks, None)
        while block is not None or len(rest):
            following = next(blocks, None) if block is not None else None
            rest = _joined(rest, block)
            last = following is None
            if head:
                if len(rest) < head and not last:
                    block = following
                    continue
                self._keep(_raw(rest[:head]))
                rest, head = rest[head:], 0
            if state.format is None and len(rest):
                self._begin(state, rest, last)
                limit = state.limit
            most = state.most
            while len(rest):
                whole = len(rest) if limit is None else min(limit, len(rest))
                part = rest[: min(whole, most)]
                ends = len(part) == whole and (last or limit == whole)
                used = self._block(state, part, ends)
                rest = rest[used:]
                if limit is not None:
                    limit -= used
                    if not limit and len(rest):
                        self._keep(_raw(rest))  # what follows the table
                        rest = _NOTHING
                if len(part) == whole and (not last or used == 0):
                    break
                if used == 0:
                    most *= 2  # not even one row
            self._report(self._job.path, 0 if block is None else len(block))
            block = following
        source["rows"][1], source["escapes"][1] = self._rows, self._at
        if self._growing is not None:
            self._proofs[-1].columns = self._growing.sums()
        source.update({"bytes": stream.size, "sha256": stream.sha256} if self._options.keep else {})
        self._done.text += stream.size
        self._note_file(state)
        self._sources.append(source)

    def _begin(self, state: FileState, text: np.ndarray, last: bool) -> None:
        """Choose the print format of a file: the last one where it fits, else one of its own."""
        file = state.file
        assert file.spec is not None
        known = self._formats[-1] if self._formats else None
        fmt, spec = format.infer(file, text.tobytes(), self._options.trust, self._extra, self._words)
        names = [column["name"] for column in fmt["columns"]]
        if self._columns and names != [column["name"] for column in self._columns]:
            raise errors.make(
                "mismatch",
                f"{file.place} has the columns {_few(names)}, {self._job.path} has "
                f"{_few([c['name'] for c in self._columns])}",
                "pack it into a group of its own",
            )
        fmt["columns"] = self._agree(fmt["columns"], file)
        if (
            known is not None
            and {**known, "columns": None} == {**fmt, "columns": None}
            and _prints(known, text)
        ):
            fmt = known
        if fmt not in self._formats:
            self._formats.append(fmt)
        state.source["format"] = self._formats.index(fmt)
        state.begin(fmt, spec, text[: BLOCK >> 4].tobytes())
        self._proofs[-1].format = fmt
        # A label may say that more blocks are but one chunk.
        state.rows = spec.rows if not last and spec.rows is not None else None
        state.small = (last or state.rows is not None) and len(self._job.files) == 1 and not self._kept
        state.small = state.small and (state.rows is not None or len(text) <= state.most)

    def _agree(self, columns: list[dict[str, Any]], file: TableFile) -> list[dict[str, Any]]:
        """The columns with the data types of their arrays; begins anew where those must be widened."""
        if not self._columns:
            self._columns = [kinds.stored(column) for column in columns]
        again = False
        for i, (old, new) in enumerate(zip(self._columns, columns, strict=True)):
            merged = kinds.merge(old, new)
            if merged is not None and kinds.same_array(old, merged):
                continue
            if self._kept:
                raise errors.make(
                    "mismatch",
                    f"column {new['name']} of {file.place} needs {_about(merged or new)}, "
                    f"in {self._job.path} it is {_about(old)}",
                    "pack all files in one go, or this one into another group",
                )
            again = again or bool(self._arrays) or merged is None
            self._become(i, merged)
        if again:
            raise _Again
        return [kinds.fitted(old, new) for old, new in zip(self._columns, columns, strict=True)]

    def _become(self, column: int, wider: dict[str, Any] | None) -> None:
        """Let a column's array hold something else from the next attempt on: text where that is None."""
        if wider is None:
            self._words.add(column)
            text = {"style": {"words": {"quote": "needed"}}, "scale": 0, "size": 8}
            wider = {"name": self._columns[column]["name"], **text}
        self._columns[column] = wider

    def _block(self, state: FileState, text: np.ndarray, last: bool) -> int:
        """Parse a block into the columns; the number of bytes that were taken."""
        assert state.native is not None
        parsed = state.native.parse(text, last, self._options.keep)
        # All of them, before the table is begun anew.
        if any(
            [
                self._widen(state, item, count, self._rows + row, cell)
                for item, count, row, cell in parsed["lost"]
            ]
        ):
            raise _Again
        if parsed["rows"] or parsed["lines"]:
            if self._growing is None:
                self._growing = self._create(state, parsed["columns"])
            blank = self._growing.append(parsed["columns"])
            if parsed["escaped"]:
                self._blank.update(blank)
            self._keep(parsed["escapes"])
            state.count(parsed, self._rows)
            self._rows += parsed["rows"]
            self._done.rows += parsed["rows"]
        return int(parsed["used"])

    def _widen(self, state: FileState, column: int, count: int, row: int, cell: bytes) -> bool:
        """Whether a column has another data type now, which holds a cell; where there is none the cell stays
        text.
        """
        if cell not in self._extra.get(column, []):
            self._extra.setdefault(column, []).append(cell)
            if self._kept:
                raise errors.make(
                    "mismatch",
                    f"row {row} of column {state.columns[column]['name']} in {state.file.place} is "
                    f"{cell[:80]!r}, which {_about(state.columns[column])} can't hold",
                    "pack all files in one go, or this one into another group",
                )
            assert state.spec is not None
            sample = format.styled(state.spec, column, self._extra[column], column in self._words)
            wider = kinds.wider(self._columns[column], sample)
            if wider is not self._columns[column]:
                self._become(column, wider)
                return True
        state.lost[column] = state.lost.get(column, 0) + count
        return False

    def _create(self, state: FileState, parsed: Sequence[np.ndarray]) -> Growing:
        """Make the group, and an array for each column."""
        path, writer = self._job.path, self._writer
        columns = [codecs.values(raw, column) for raw, column in zip(parsed, state.columns, strict=True)]
        assert state.spec is not None
        writer.group(path, state.spec.attrs)
        rows = max(len(columns[0]), state.rows or 0)
        for item, column, values in zip(state.spec.fields, self._columns, columns, strict=True):
            whole = state.small and rows <= choice.WHOLE and rows * values.itemsize <= choice.WIDE
            chunk, shard = (max(rows, 1),) * 2 if whole else choice.lengths(values.itemsize)
            array = writer.array(
                f"{path}/{column['name']}",
                codecs.dtype(column),
                dims=("row",),
                chunks=(chunk,),
                shards=(shard,),
                codec=choice.codecs(column, values, whole, self._options),
                fill=choice.constant(values),
                attrs=item.attrs,
            )
            self._arrays.append(array)
        return Growing(writer, self._arrays)

    def _keep(self, escapes: bytes) -> None:
        """Add the escapes of a stretch of rows."""
        if not self._options.keep:
            return
        if self._escapes is None:
            path = f"{self._job.path}/{HIDDEN[0]}"
            self._writer.group(path)
            zstd = {"name": "zstd", "configuration": {"level": 15, "checksum": False}}
            self._escapes = self._writer.array(
                f"{path}/escapes",
                "u1",
                chunks=(1 << 20,),
                shards=(1 << 20,),
                codec=[{"name": "bytes"}, zstd, {"name": "crc32c"}],
            )
        self._escapes.append(np.frombuffer(escapes, "u1"))
        self._proofs[-1].add_escapes(escapes)
        self._at += len(escapes)

    def _note_file(self, state: FileState) -> None:
        source, name = state.source, state.file.name
        for what, count in (("cells", state.escaped), ("lines", state.lines)):
            if count:
                source[what] = count
        note = self._done.notes.append
        if state.odd:
            note((name, f"{plural(state.odd, 'line')} kept as text, no rows: {state.shown}"))
        if state.foreign:
            note((name, f"text is not UTF-8 but Latin-1, as it seems: {state.foreign[:60]!r}"))
        for column, count in [*state.junk.items(), *state.lost.items()]:
            title = state.columns[column]["name"]
            note((name, f"{plural(count, 'cell')} of column {title} kept as text, no values"))
        spec = state.spec
        cut = _cut(state)
        if cut:
            many = f"{plural(len(cut), 'field')} of {len(state.columns)} end in the middle of the next one"
            note((name, f"{many}, and are taken without what they share with it: {_few(cut)}"))
        found = source["rows"][1] - source["rows"][0]
        if spec is not None and spec.rows is not None and spec.rows != found:
            note((name, f"{spec.label} says {spec.rows:,} rows, the file has {found:,}"))

    def _finish(self) -> None:
        """Write what is left, then the attributes, then prove that the text can be printed again."""
        if self._growing is None:
            raise errors.make(
                "format", f"{self._job.files[0].place} holds no rows of a table", "is it the right file?"
            )
        self._growing.finish(self._rows)
        self._done.columns, self._done.total = [array.path for array in self._arrays], self._rows
        path, table = self._job.path, dict(self._kept)
        table["columns"] = [column["name"] for column in self._columns]
        table["arrays"] = stated.arrays(self._columns)
        table["sources"] = self._sources
        if self._options.keep:
            assert self._escapes is not None
            self._escapes.finish()
            table["text"] = {"version": 1, "formats": stated.shorter(self._formats, self._columns)}
        self._blanks()
        group = Node(path, False, self._document(path))
        self._writer.attrs(path, {**group.attrs, OURS: {**group.ours, "table": table}})
        if self._options.keep:
            first = len(self._sources) - len(self._job.files)
            self._done.summaries = proof.check(self._writer._view(), path, first, self._proofs)

    def _document(self, path: str) -> str:
        nodes = {node: text for node, is_array, text in self._writer._pending().nodes() if not is_array}
        return nodes[path]

    def _blanks(self) -> None:
        """Where integers have blanks, their stand-in becomes ``_FillValue``."""
        for i, array in enumerate(self._arrays):
            if i in self._blank:
                attrs = dict(array._document.get("attributes", {}))
                attrs["_FillValue"] = int(np.iinfo(array.dtype).min)
                self._writer.attrs(array.path, attrs)


def _joined(rest: np.ndarray, block: np.ndarray | None) -> np.ndarray:
    """What is left of the blocks before, and a block behind it: most often there is only one of them."""
    if block is None or not len(block):
        return rest
    return np.concatenate((rest, block)) if len(rest) else block


def _raw(text: np.ndarray) -> bytes:
    from icecore import _icecore

    return _icecore.raw_escapes(text.tobytes())


def _cut(state: FileState) -> list[str]:
    """The fields that lost bytes to the next one."""
    assert state.file.spec is not None
    taken = {f.name: f.length for f in state.spec.fields} if state.spec is not None else {}
    return [f.name for f in state.file.spec.fields if taken.get(f.name, f.length) != f.length]


def _prints(fmt: dict[str, Any], text: np.ndarray) -> bool:
    """Whether a print format that exists fits the first rows of another file."""
    part = text[: min(len(text), BLOCK >> 4)]
    parsed = format.native(fmt).parse(part, False)
    cells = max(parsed["rows"], 1) * len(fmt["columns"])
    return not parsed["lost"] and parsed["escaped"] <= cells * _MANY and parsed["rows"] > parsed["lines"]


def _about(column: dict[str, Any]) -> str:
    kind = codecs.dtype(column)
    return f"{kind} with {column['scale']} decimals" if column["scale"] else str(kind)


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:6])
    return f"{shown}, … ({len(names)} in all)" if len(names) > 6 else shown
