"""Identify texts of other formats, whose lines only look like rows: spectra, sequences, mail, settings, …

Each format is recognised by what its own readers require at its beginning, or by the form of nearly all of
its lines. Tables with a header of comments, such as VCF (``##fileformat``), are not among them.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable

from icecore import errors

#: number of lines and of bytes that are examined
_LINES, _BYTES = 5000, 1 << 16
#: number of lines that are examined first
_HEAD = 40
#: percentage of the lines that must have the form of a format without a signature
_MOST = 90
_CSV = "write its rows as CSV"
_OWN = "read it with its own library, and write the rows as CSV"

Lines = list[bytes]
#: format, pattern of the first bytes (blank lines excluded), hint
_BEGINNINGS: tuple[tuple[str, re.Pattern[bytes], str], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE if folded else 0), hint)
    for kind, pattern, folded, hint in (
        (
            "a JCAMP-DX spectrum",
            rb"##[ \t]*TITLE[ \t]*=",
            True,
            "expand its points: jcamp.jcamp_readfile(FILE) of the package jcamp",
        ),
        ("a GEDCOM family tree", rb"0 HEAD\b", False, _CSV),
        ("a mailbox", rb"From \S{1,200} {1,4}(Mon|Tue|Wed|Thu|Fri|Sat|Sun),? ", False, _CSV),
        ("a mail", rb"(Received|Return-Path|Delivered-To|Message-ID|MIME-Version|X-[\w-]+): ?\S", True, _CSV),
        ("YAML", rb"(%YAML[ \t]|---[ \t]*\r?\n)", False, _CSV),
        (
            "a LaTeX document",
            rb"(%[^\n]*\n\s*)*\\(documentclass|documentstyle|usepackage|begin|section|title|input|newcommand|def)\b",
            False,
            _CSV,
        ),
        ("a CIF file", rb"(#[^\n]*\n\s*)*data_\S*[ \t]*\r?\n\s*(loop_|_|#|save_)", True, _OWN),
        ("a MOL2 molecule", rb"(#[^\n]*\n\s*)*@<TRIPOS>", False, _OWN),
        ("a GenBank record", rb"LOCUS {7}\S+ +\d+ bp\b", False, _OWN),
        ("an EMBL record", rb"ID {3}\S+;? +(SV |standard;|Reviewed;|Unreviewed;)", False, _OWN),
        ("a sequence alignment", rb"(CLUSTAL\b|#NEXUS\b|# STOCKHOLM )", False, _OWN),
        (
            "a BibTeX bibliography",
            rb"(%[^\n]*\n\s*)*@(article|book|inproceedings|misc|\w+report|\w+thesis|string|preamble)[ \t]*\{",
            True,
            _CSV,
        ),
        ("a RIS bibliography", rb"TY {2}- ", False, _CSV),
        ("PostScript", rb"%!PS", False, "pictures and pages are not packed"),
        ("a PDF document", rb"%PDF-", False, "pictures and pages are not packed"),
        ("an RTF document", rb"\{\\rtf", False, _CSV),
        ("a calendar or an address book", rb"BEGIN:V(CALENDAR|CARD)\b", True, _CSV),
        ("an LDIF directory", rb"(version: 1[ \t]*\r?\n\s*)?(#[^\n]*\n\s*)*dn:{1,2} ", True, _CSV),
        (
            "a patch",
            rb"(diff --git |Index: |--- \S[^\n]*\n\+\+\+ )",
            False,
            "it is a difference of two files",
        ),
        (
            "SQL statements",
            rb"(--[^\n]*\n\s*)*(CREATE (TABLE|DATABASE|SCHEMA|INDEX|VIEW|TEMP\w*) |INSERT INTO |"
            rb"DROP (TABLE|DATABASE) |PRAGMA \w+ ?=|BEGIN( TRANSACTION)?;|SET \w+ ?=|/\*!\d)",
            True,
            "load it into its database, and write the table as CSV",
        ),
        ("a key or a certificate", rb"-----BEGIN [A-Z ]+-----", False, "it holds no rows"),
        (
            "a 3-D model",
            rb"(ply\r?\n\s*format |OFF\r?\n\s*\d+ \d+ \d+|solid [^\n]*\n\s*facet |(#[^\n]*\n\s*)*mtllib )",
            False,
            "models are not packed",
        ),
        ("a VTK file", rb"# vtk DataFile ", False, _OWN),
        (
            "a DXF or STEP drawing",
            rb"(0\r?\n\s*SECTION\r?\n|999\r?\n|ISO-10303-21;)",
            False,
            "drawings are not packed",
        ),
        ("a Gerber drawing", rb"(G04 |%FSLA)", False, "drawings are not packed"),
        ("a CDL dump", rb"netcdf \S+ \{", False, "make netCDF of it: ncgen -o FILE.nc FILE"),
        ("a SPICE kernel", rb"(KPL/|DAFETF |DASETF )", False, "spiceypy reads it"),
        ("subtitles", rb"(WEBVTT\b|\d+\r?\n\d\d:\d\d:\d\d,\d{3} --> )", False, _CSV),
        ("a chess game", rb"\[Event \"", False, _CSV),
        ("a script", rb"#![ \t]*/", False, "it is a program"),
        (
            "well-known text",
            rb"(SRID=\d+;)?(POINT|LINESTRING|POLYGON|MULTI\w+|GEOMETRYCOLLECTION)( Z| M| ZM)? ?\(+ ?[-\d.]",
            True,
            "write its coordinates as CSV",
        ),
    )
)
_SECTION = re.compile(rb"\[[^\[\],]+\](?:[ \t]*[#;].*)?")
_SETTING = re.compile(rb"[A-Za-z_][\w.\-]*(?:[ \t][\w.\-]+)*[ \t]*=")
_KEY = re.compile(rb"(?:- )?[A-Za-z_][\w.\-]*:(?: |$)")
_SENTENCE = re.compile(rb"[$!][A-Z]{2}[A-Z0-9]{3},.*\*[0-9A-Fa-f]{2}")
_GCODE = re.compile(
    rb"(?:N\d+ ?)?(?:[GM]\d+(?:\.\d+)?(?: ?[A-Z]-?[\d.]+)*|[XYZFST]-?[\d.]+(?: ?[A-Z]-?[\d.]+)*)?"
    rb" *(?:[;(].*)?"
)
_RESIDUES = re.compile(rb"[A-Za-z*-]+")
#: records at the beginning of a PDB file, and those that occur in it
_PDB = (
    b"HEADER    ",
    b"OBSLTE    ",
    b"TITLE     ",
    b"COMPND    ",
    b"REMARK ",
    b"CRYST1",
    b"MODEL ",
    b"ATOM  ",
    b"HETATM",
)
_RECORDS = (b"ATOM   ", b"ATOM  1", b"HETATM", b"REMARK ", b"SEQRES ", b"CRYST1", b"TER", b"ENDMDL")
_VERTEX = re.compile(rb"(?:v|vn|vt|f|g|o|s|usemtl|l) .*")


def kind(start: bytes) -> tuple[str, str] | None:
    """Return the format of a text that is known not to be a table, and a hint; None for all other texts."""
    text = start[:_BYTES].removeprefix(BOM_UTF8).lstrip()
    for name, pattern, hint in _BEGINNINGS:
        if pattern.match(text):
            return name, hint
    lines = [line.strip() for line in text.split(b"\n")[:_LINES]]
    lines = [line for line in lines[: -1 if len(lines) > 1 else None] if line]
    if len(lines) < 2:
        return None
    head = lines[:_HEAD]
    return next(((name, hint) for name, is_one, hint in _FORMS if is_one(head) and is_one(lines)), None)


def refusal(place: str, found: tuple[str, str]) -> errors.Error:
    """Return the error for such a file."""
    return errors.make("unsupported", f"{place} is {found[0]}, not a table of text", found[1])


def _share(lines: Lines, form: re.Pattern[bytes], whole: bool = False) -> bool:
    """Whether most lines have a form."""
    test = form.fullmatch if whole else form.match
    return sum(test(line) is not None for line in lines) * 100 >= len(lines) * _MOST


def _keys(lines: Lines, form: re.Pattern[bytes]) -> bool:
    """Whether most lines begin with keys, few of them twice: in a table, names repeat in every row."""
    found = [match[0].removeprefix(b"- ") for line in lines if (match := form.match(line))]
    return len(found) * 100 >= len(lines) * _MOST and len(set(found)) * 2 > len(found)


def _bare(lines: Lines) -> Lines:
    return [line for line in lines if not line.startswith((b"#", b";", b"!", b"%", b"//"))]


def _is_fasta(lines: Lines) -> bool:
    if not lines[0].startswith((b">", b";")) or lines[0][1:2] in (b"", b" "):
        return False
    rest = [line for line in lines if not line.startswith((b">", b";"))]
    return bool(rest) and _share(rest, _RESIDUES, True)


def _is_fastq(lines: Lines) -> bool:
    reads = [lines[i : i + 4] for i in range(0, len(lines) - 3, 4)]
    return bool(reads) and all(
        a.startswith(b"@") and c.startswith(b"+") and len(b) == len(d) for a, b, c, d in reads
    )


def _is_settings(lines: Lines) -> bool:
    bare = _bare(lines)
    rest = [line for line in bare if not _SECTION.fullmatch(line)]
    if len(rest) < len(bare):
        return bool(_SECTION.fullmatch(bare[0])) and (not rest or _share(rest, _SETTING))
    return len(rest) > 1 and _keys(rest, _SETTING)


def _is_yaml(lines: Lines) -> bool:
    bare = _bare(lines)
    keyed = [line for line in bare if _KEY.match(line)]
    items = [line for line in bare if line.startswith(b"- ") or line == b"-"]
    inside = len({*keyed, *items}) * 100 >= len(set(bare)) * _MOST
    return inside and len(keyed) > 1 and (_keys(keyed, _KEY) or (bool(items) and items[0] in bare[:2]))


def _is_pdb(lines: Lines) -> bool:
    return lines[0].startswith(_PDB) and any(line.startswith(_RECORDS) for line in lines[1:])


def _is_nmea(lines: Lines) -> bool:
    """Whether lines are sentences of several kinds; those of one kind are a table."""
    return _share(lines, _SENTENCE, True) and len({line[:6] for line in lines}) > 1


def _is_gcode(lines: Lines) -> bool:
    bare = [line for line in lines if line != b"%" and not line.startswith((b";", b"("))]
    commands = sum(line[:1] in (b"G", b"M", b"N") and line[1:2].isdigit() for line in bare)
    return len(bare) > 1 and commands * 2 > len(bare) and _share(bare, _GCODE, True)


def _is_mesh(lines: Lines) -> bool:
    bare = _bare(lines)
    return len(bare) > 2 and bare[0].startswith((b"v ", b"o ", b"g ")) and _share(bare, _VERTEX, True)


def _is_molfile(lines: Lines) -> bool:
    return any(line.endswith((b"V2000", b"V3000")) for line in lines[:4])


_FORMS: tuple[tuple[str, Callable[[Lines], bool], str], ...] = (
    ("a FASTA file of sequences", _is_fasta, _OWN),
    ("a FASTQ file of sequences", _is_fastq, _OWN),
    ("an MDL molfile", _is_molfile, _OWN),
    ("a file of settings (INI, TOML)", _is_settings, _CSV),
    ("a PDB structure", _is_pdb, _OWN),
    ("YAML", _is_yaml, _CSV),
    ("a log of NMEA sentences of several kinds", _is_nmea, "give those of one kind: grep '^.GPGGA'"),
    ("a G-code program", _is_gcode, "it is a program"),
    ("a 3-D model", _is_mesh, "models are not packed"),
)


# Identify XML and HTML files that are not PDS4 labels; they are not parsed as text tables.

#: text above the root element: a byte order mark, the declaration, comments, a document type
_ABOVE = re.compile(
    rb"(\xef\xbb\xbf)?\s*(?:(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)\s*)*",
    re.DOTALL | re.IGNORECASE,
)
_ROOT = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)(?=[\s/>])")
_DECLARED = re.compile(rb"(\xef\xbb\xbf)?\s*<(\?xml|!DOCTYPE|!--)", re.IGNORECASE)
#: root element → kind of file, and a hint
_KINDS = {
    "votable": (
        "a VOTable",
        "convert it: astropy.table.Table.read(FILE, format='votable').write('t.ecsv')",
    ),
    "ligo_lw": (
        "a LIGO_LW document",
        "convert its table to CSV: gwpy.table.EventTable.read(FILE).write('t.csv')",
    ),
    "html": ("an HTML page", "is it the page of an error or of a login? download the file itself"),
    "kml": ("a KML document", "convert its coordinates to CSV"),
    "svg": ("an SVG picture", "pictures are not packed"),
    "workbook": ("an Excel workbook in XML", "save it as CSV"),
}
_OTHER = "only PDS4 labels are read (<Product_Observational …>): convert its rows to CSV"


def root_element(start: bytes) -> str | None:
    """Return the name of a document's root element; empty if it is not found, None for other files."""
    above = _ABOVE.match(start)
    found = _ROOT.match(start, above.end() if above is not None else 0)
    if found is not None and (_DECLARED.match(start) or found[1].decode().lower() in _KINDS):
        return found[1].decode()
    return "" if _DECLARED.match(start) and not start.lstrip().lower().startswith(b"<!--") else None


def xml_refusal(place: str, root: str) -> errors.Error:
    """Return the error for such a file."""
    kind, hint = _KINDS.get(root.lower(), (f"XML (<{root}>)" if root else "XML", _OTHER))
    return errors.make("unsupported", f"{place} is {kind}, not a table of text", hint)
