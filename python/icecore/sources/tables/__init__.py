"""Tables of text and of binary records: PDS3 and PDS4 labels, Diviner, CSV; plain, zipped or compressed.

``open`` returns an :class:`~icecore.sources.mapping.array_map.ArrayMap` whose ``tables`` are streamed by
:mod:`icecore.tables.text.pack_table`; tables can't be linked.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from urllib.parse import quote

from icecore import errors
from icecore.sources.files.archives import FAULTS, SMALLER, ZIP, Member, is_tar, members, plain
from icecore.sources.files.byte_source import ByteSource
from icecore.sources.files.identity import identity, is_remote, local_path
from icecore.sources.files.signatures import arrays_in
from icecore.sources.mapping.array_map import ArrayMap, Note
from icecore.sources.mapping.table_file import TableFile, TableSpec
from icecore.sources.tables import cds_readme, pds3, pds4, text_kinds
from icecore.sources.tables.delimited import ends_in_cr, is_json, is_printable, is_text, sniff
from icecore.sources.tables.encoding import TO_UTF8, UTF16
from icecore.sources.tables.metadata_json import described
from icecore.sources.tables.preamble import COMMENTS, unique
from icecore.sources.tables.text_kinds import root_element
from icecore.sources.tables.text_kinds import xml_refusal as refusal

_START = 1 << 16
_LABEL = 1 << 26
#: number of lines that identify a table, and number of bytes in which they are searched
_LINES, _FAR = 4, 1 << 24
_LABELS = (".lbl", ".LBL", ".xml", ".XML", ".lblx", ".LBLX")
_COMMENT = re.compile(rb"^[#!%].*$", re.MULTILINE)
_SUFFIXES = (".tab", ".csv", ".tsv", ".txt", ".dat", ".asc")


def matches(source: ByteSource, start: bytes) -> bool:
    """Whether a file may contain tables: a label, an archive, text with rows, or data with a label."""
    if start.startswith((*ZIP, *SMALLER)):
        return True
    block, path = source.read_at(0, _START), local_path(source.identity.url)
    while is_printable(block) and _all_comments(block) and len(block) < min(source.identity.size, _FAR):
        block = source.read_at(0, min(2 * len(block), source.identity.size))
    if pds3.is_label(block) or pds4.is_label(block) or cds_readme.is_readme(path, block):
        return True
    if root_element(block) is not None or text_kinds.kind(block) is not None:
        return False
    lines = _closed(block) if len(block) == source.identity.size else block[: block.rfind(b"\n") + 1] or block
    if is_text(lines, path):
        return True
    with suppress(errors.Error):
        return _label_beside(path, Member(os.path.basename(path), path, partial(plain, path))) is not None
    return False


def open(source: str) -> ArrayMap:
    """Find the tables of a file: those described by a label, those in an archive, or the file itself.

    ``failed`` lists damaged members, and labels in archives whose data are missing.

    Raises:
        Error: ``format`` if the source has no table, ``source-missing`` if a label's file is missing,
            ``mismatch`` and ``corrupt`` for invalid labels and archives.
    """
    found = members(source)
    arrays: dict[str, tuple[str, str]] = {}
    tables: list[TableFile] = []
    failed: list[errors.Error] = []
    left: list[Note] = []
    for member in found:
        try:
            tables += _tables(member, found, source, arrays, failed, left)
        except FAULTS as error:
            if isinstance(error, errors.Error):
                raise
            failed.append(errors.make("corrupt", f"{member.place}: {error}", "test the archive"))
            if member.name.endswith(_LABELS):
                tables = []  # the data of the label would be read without it
                break
    if failed and not tables:
        raise failed[-1]
    labelled = {table.place for table in tables if table.spec is not None and table.spec.label}
    tables = [t for t in tables if (t.spec is not None and t.spec.label) or t.place not in labelled]
    if not tables:
        raise _no_table(source, found, list(arrays.values()), left)
    result = ArrayMap(source, failed=failed, dropped=left)
    for place, (name, kind) in arrays.items():
        if place not in labelled:
            result.dropped.append(
                Note(f"/{name}", "unsupported", f"{kind} inside an archive: unpack it first")
            )
    for table, path in zip(tables, _paths(tables), strict=True):
        result.tables[path] = table
    return result


def _no_table(
    source: str, found: Sequence[Member], arrays: Sequence[tuple[str, str]], left: Sequence[Note]
) -> errors.Error:
    """Return the error for a label, an archive or a compressed file without rows."""
    start = _start(found[0]) if len(found) == 1 else b""
    if (reader := _reader(source, start)) is not None:
        hint = "; ".join((reader.TABLES, *(note.message for note in left)))
        return errors.make("format", f"{source} is a label, and describes no table in a file", hint)
    for name, kind in arrays:
        hint = "unpack it first: arrays are read from files that aren't compressed as a whole"
        return errors.make("format", f"{source} holds {name}, which is {kind}", hint)
    return errors.make("format", f"{source} holds no table", "give a label, or text with rows and cells")


def _paths(tables: Sequence[TableFile]) -> list[str]:
    """Return the path of each table: the stem of its file.

    If several tables have the same stem, their names in the label are used if they are unique, otherwise
    numbers are appended.
    """
    if len(tables) == 1:
        return ["/"]
    stems = [os.path.splitext(os.path.basename(table.name))[0] for table in tables]
    count = Counter(stems)
    used = {stem for stem in stems if count[stem] == 1}
    own = [
        unique([table.spec.name])[0] if table.spec is not None and table.spec.name else "" for table in tables
    ]
    names = Counter(zip(stems, own, strict=True))
    named = {stem for stem in stems if all(name and n == 1 for (of, name), n in names.items() if of == stem)}
    paths = []
    for i, (stem, name) in enumerate(zip(stems, own, strict=True), 1):
        if count[stem] > 1:
            last = name if stem in named else str(i)
            name = last if stem in named and len(count) == 1 else f"{stem}_{last}"
            while name in used:
                name = f"{name}_{i}"
            used.add(name)
        paths.append(f"/{name if count[stem] > 1 else stem}")
    return paths


def _tables(
    member: Member,
    siblings: Sequence[Member],
    source: str,
    arrays: dict[str, tuple[str, str]],
    failed: list[errors.Error],
    left: list[Note],
) -> list[TableFile]:
    """Return the tables of a member.

    A file of arrays has none; its name and kind are added to ``arrays`` under its place. An error for tables
    with missing data is added to ``failed``. Notes on labels and texts without tables are added to ``left``.
    """
    start = _start(member)
    reader = _reader(member.name, start)
    if reader is None and len(siblings) == 1:
        label = _label_beside(source, member)
        if label is not None:
            return label
    if kind := arrays_in(start):
        arrays[member.place] = (member.name, kind)
        return []
    if reader is None:
        if len(siblings) > 1:
            if not member.name.lower().endswith(_SUFFIXES):
                return []
            if is_printable(start) and (known := text_kinds.kind(start)) is not None:
                left.append(Note(f"/{member.name}", "unsupported", f"{known[0]}, no table"))
                return []
        spec = _sniffed(member, start)
        if spec is None:
            return []
        return [TableFile(member.name, member.place, member.open, described(spec, member.place))]

    def find(name: str) -> Member | None:
        return _find(name, member, siblings, source) if name else member

    specs, notes = reader.read(member.name, start, find)
    if not specs:
        left += [Note(f"/{member.name}", "unsupported", note) for note in notes]
    first = {spec.file: i for i, spec in reversed(list(enumerate(specs)))}  # notes once for each file
    specs = [
        replace(spec, notes=(*spec.notes, *notes)) if first[spec.file] == i else spec
        for i, spec in enumerate(specs)
    ]
    specs = [replace(spec, until=_next(spec, specs)) for spec in specs]
    tables = []
    for spec in specs:
        try:
            tables.append(_described(spec, find, member))
        except errors.Error as error:
            if error.kind != "source-missing":
                raise
            failed.append(error)
    return tables


def _next(spec: TableSpec, specs: Sequence[TableSpec]) -> int | None:
    """Return the bytes before the next table of a file; None if there is none, or if both share rows."""
    found = min((s.offset for s in specs if s.file == spec.file and s.offset > spec.offset), default=None)
    end = spec.offset + spec.row_bytes * (spec.rows or 0)
    return found if found is not None and end <= found else None


def _reader(name: str, start: bytes) -> ModuleType | None:
    """Return the module that reads this kind of label; None for other files."""
    kinds = ((pds3, pds3.is_label(start)), (pds4, pds4.is_label(start)))
    found = next((module for module, is_one in kinds if is_one), None)
    return found or (cds_readme if cds_readme.is_readme(name, start) else None)


def _start(member: Member) -> bytes:
    """Return a whole label, or enough of a file to contain several lines.

    The last line of the file is returned with a line end.
    """
    with member.open() as file:
        start = file.read(_START)
        if cds_readme.is_named(member.name) or _reader(member.name, start) is not None:
            return start + file.read(_LABEL)
        while _tells_little(start) and len(start) < _FAR and (more := file.read(len(start))):
            start += more
        return start if file.read(1) else _closed(start)


def _tells_little(start: bytes) -> bool:
    """Whether more of a file must be read because too few lines are data rather than comments."""
    return start.count(b"\n") < _LINES or _all_comments(start)


def _all_comments(start: bytes) -> bool:
    """Whether nearly all lines at the beginning of a file are comments."""
    return start.startswith(COMMENTS) and start.count(b"\n") - len(_COMMENT.findall(start)) < _LINES


def _closed(text: bytes) -> bytes:
    """Return the lines of a file, with a line end after the last one, so that it isn't taken as truncated."""
    return text if text.endswith(b"\n") or b"\n" not in text else text + b"\n"


def _sniffed(member: Member, start: bytes) -> TableSpec | None:
    """The layout of a table without a label.

    Raises:
        Error: ``unsupported`` for tar archives, UTF-16, JSON, XML, and lines that are too long or end in CR.
    """
    if is_tar(start):
        hint = "unpack it first: tar -xf"
        raise errors.make("unsupported", f"{member.place} is a tar archive, no table", hint)
    if start.startswith(UTF16):
        raise errors.make("unsupported", f"{member.place} is text in UTF-16", TO_UTF8)
    if not is_printable(start):
        return None
    if (root := root_element(start)) is not None:
        raise refusal(member.place, root)
    if (known := text_kinds.kind(start)) is not None:
        raise text_kinds.refusal(member.place, known)
    if is_json(start):
        hint = "write its rows as CSV, or its arrays as Zarr or NetCDF"
        raise errors.make("unsupported", f"{member.place} is JSON, no table of text", hint)
    if ends_in_cr(start):
        if not is_text(start, member.name):
            return None
        hint = "give them line feeds: tr '\\r' '\\n'"
        raise errors.make("unsupported", f"the lines of {member.place} end in carriage returns alone", hint)
    if len(start) < _FAR or b"\n" in start:
        return sniff(start, member.name)
    if sniff(start[:_START], member.name) is None:  # millions of cells would take minutes before the error
        return None
    message = f"the first line of {member.place} is longer than {_FAR:,} bytes"
    raise errors.make("unsupported", message, "is it a table? put its rows into lines of their own")


def _described(spec: TableSpec, find: pds3.Finder, label: Member) -> TableFile:
    data = find(spec.file)
    if data is None:
        raise errors.make(
            "source-missing",
            f"{label.place} describes {spec.file}, which is not beside it",
            "put label and data file into one folder",
        )
    return TableFile(data.name, data.place, data.open, spec)


def _label_beside(source: str, member: Member) -> list[TableFile] | None:
    """Return the tables of a label (``x.lbl``, ``x.xml`` or ``ReadMe``) beside ``x.tab``, or None.

    ``X.TAB`` and ``x.tab.gz`` are found as well.
    """
    stem = os.path.splitext(member.name)[0]
    stems = (stem,) if is_remote(source) else dict.fromkeys((stem, stem.lower(), stem.upper()))
    names = [s + suffix for s in stems for suffix in _LABELS]
    for name in (*names, *(() if is_remote(source) else cds_readme.NAMES)):
        label = os.path.join(os.path.dirname(source), name)
        if label == source or not _is_file(label) or os.path.abspath(label) == os.path.abspath(source):
            continue
        beside = Member(name, label, partial(plain, label))
        of_others = name in cds_readme.NAMES
        if of_others and not cds_readme.is_readme(name, _start(beside)):
            continue
        failed: list[errors.Error] = []
        described = _tables(beside, [beside, member], label, {}, failed, [])
        if tables := [table for table in described if table.place == member.place]:
            return tables
        if failed and not of_others:
            raise failed[0]
    return None


def _find(name: str, label: Member, siblings: Sequence[Member], source: str) -> Member | None:
    """Return the file that a label names, ignoring case.

    It is the nearest file in its archive that does not belong to another label, or a file beside the label,
    possibly compressed. Structures (``.fmt``) may be in a volume's directory ``LABEL``, shared by its labels.
    """
    base = os.path.basename(name).lower()
    inside = [m for m in siblings if m is not label and os.path.basename(m.name).lower() == base]
    inside = [m for m in inside if not _is_anothers(m, label, siblings)]
    if inside:
        return _nearest(name, label, inside)
    folder = os.path.dirname(source) or "."
    if is_remote(source):
        return _on_server(folder, os.path.basename(name))
    if (found := _beside(folder, base)) is not None or not base.endswith(".fmt"):
        return found
    here = Path(os.path.abspath(folder))
    for volume in (here, *here.parents):
        for structures in sorted(path for path in volume.glob("[Ll][Aa][Bb][Ee][Ll]") if path.is_dir()):
            if (found := _beside(str(structures), base)) is not None:
                return found
    return None


def _on_server(folder: str, name: str) -> Member | None:
    """Return the file with a name of a label beside it on a server; structures also from its volume."""
    names = [quote(each) for each in dict.fromkeys((name, name.lower(), name.upper()))]
    folders = [folder]
    if name.lower().endswith(".fmt"):
        above, host = folder, folder.index("://") + 3
        while above[host:]:
            folders += [f"{above}/LABEL", f"{above}/label"]
            above = above[:host] + above[host:].rpartition("/")[0]
    urls = (f"{place}/{each}" for place in folders for each in names)
    return next((members(url)[0] for url in urls if _is_file(url)), None)


def _is_file(path: str) -> bool:
    """Whether there is a file; on a server, whether it may be read."""
    if not is_remote(path):
        return os.path.isfile(path)
    try:
        return identity(path).size > 0
    except errors.Error as error:
        if error.kind in ("source-missing", "permission", "format"):
            return False
        raise


def _is_anothers(member: Member, label: Member, siblings: Sequence[Member]) -> bool:
    """Whether a file is in another directory beside a label of the same name: a volume repeats both."""
    folder, own = os.path.dirname(member.name), os.path.dirname(label.name)
    there = f"{folder}/{os.path.basename(label.name)}".lstrip("/").lower()
    return folder.lower() != own.lower() and any(m.name.lower() == there for m in siblings)


def _nearest(name: str, label: Member, found: Sequence[Member]) -> Member:
    """Return the member that shares most directories with a label, and has the fewest of its own.

    Raises:
        Error: ``mismatch`` if several are equally near.
    """
    here = label.name.split("/")[:-1]

    def distance(member: Member) -> tuple[int, int]:
        there = member.name.split("/")[:-1]
        pairs = zip(here, there, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return len(here) - shared, len(there) - shared

    first, *others = sorted(found, key=distance)
    if others and distance(first) == distance(others[0]):
        message = f"{label.place} names {name}, which may be {first.name} or {others[0].name}"
        raise errors.make("mismatch", message, "unpack it, and put label and data file into one folder")
    return first


def _beside(folder: str, base: str) -> Member | None:
    """Return the file of a directory with this name, ignoring case, possibly compressed or zipped."""
    there = {entry.lower(): os.path.join(folder, entry) for entry in sorted(os.listdir(folder), reverse=True)}
    for name in (base, *(base + suffix for suffix in (".bz2", ".gz", ".xz", ".zst"))):
        if name in there:
            return members(there[name])[0]
    zipped = there.get(os.path.splitext(base)[0] + ".zip")
    inside = members(zipped) if zipped is not None and os.path.isfile(zipped) else []
    return next((m for m in inside if os.path.basename(m.name).lower() == base), None)


def headed(table: TableFile, header: bool | None, units: bool | None) -> TableFile:
    """Return a table without a label with or without names and units above its rows, as the caller states."""
    assert table.spec is not None
    if table.spec.label:
        return table
    start = _start(Member(table.name, table.place, table.open))
    spec = sniff(start, table.name, header, units)
    return replace(table, spec=spec and described(spec, table.place))
