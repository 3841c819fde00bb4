"""CDS catalogues: a ``ReadMe`` with byte-by-byte descriptions of the files beside it.

Source: Standards for Astronomical Catalogues, version 2.0, section 3 (CDS Strasbourg).
"""

from __future__ import annotations

import os
import re
from dataclasses import replace

from icecore import errors
from icecore.sources.mapping.table_file import TableSpec
from icecore.sources.tables.encoding import decoded
from icecore.sources.tables.pds3 import Finder
from icecore.sources.tables.preamble import unique
from icecore.sources.tables.ruled_table import WIDEST, fields_of

NAMES = ("ReadMe", "README", "readme", "ReadMe.txt", "README.txt", "readme.txt")
#: hint: where tables are described in a ReadMe
TABLES = "tables are below its lines 'Byte-by-byte Description of file: NAME'"
_TITLE = re.compile(r"byte-(?:by|per)-byte\s+description\s+of\s+files?\s*:(.*)", re.IGNORECASE)
_RULE = re.compile(r"(-{40,}|={40,})\s*")
_WILD = ("*", "?")


def is_named(name: str) -> bool:
    """Whether a file has the name of a ReadMe."""
    return os.path.basename(name).lower() in {each.lower() for each in NAMES}


def is_readme(name: str, start: bytes) -> bool:
    """Whether a file is a ReadMe with descriptions of other files."""
    return is_named(name) and any(_TITLE.fullmatch(line.strip()) for line in decoded(start).splitlines())


def read(name: str, text: bytes, find: Finder) -> tuple[list[TableSpec], list[str]]:
    """Return the tables that a ReadMe describes, and a note on each name with wildcards.

    Raises:
        Error: ``format`` for a description without columns.
    """
    lines = decoded(text).splitlines()
    specs, left = [], []
    for i, line in enumerate(lines):
        title = _TITLE.fullmatch(line.strip())
        if title is None:
            continue
        rules = [j for j in range(i + 1, len(lines)) if _RULE.fullmatch(lines[j])][:3]
        fields = list(fields_of(lines[rules[1] + 1 : rules[2]])) if len(rules) == 3 else []
        if not fields or not all(0 <= f.start < f.start + f.length <= WIDEST for f in fields):
            message = f"{name}: the description in line {i + 1} has no columns"
            raise errors.make("format", message, "repair it: bytes, format, units, label, explanation")
        named = zip(fields, unique([field.name for field in fields]), strict=True)
        columns = tuple(replace(field, name=label) for field, label in named)
        files = [file for file in re.split(r"[\s,]+", title[1].strip()) if file]
        for file in files:
            if any(sign in file for sign in _WILD):
                left.append(f"{file} left out: the name matches several files")
            else:
                specs.append(TableSpec(name, file, "fixed", columns, cut="stated"))
    return specs, left
