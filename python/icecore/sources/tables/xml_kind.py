"""Identify XML and HTML files that are not PDS4 labels; they are not parsed as text tables."""

from __future__ import annotations

import re

from icecore import errors

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


def refusal(place: str, root: str) -> errors.Error:
    """Return the error for such a file."""
    kind, hint = _KINDS.get(root.lower(), (f"XML (<{root}>)" if root else "XML", _OTHER))
    return errors.make("unsupported", f"{place} is {kind}, not a table of text", hint)
