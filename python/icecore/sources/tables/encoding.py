"""Text of tables and labels: UTF-8, or Latin-1 where it is not."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE

#: byte order marks of UTF-16, and the hint for such files
UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE)
TO_UTF8 = "as UTF-8 it may be a table: iconv -f UTF-16 -t UTF-8"


def decoded(text: bytes) -> str:
    """Decode text as UTF-8, or as Latin-1 if that fails."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def foreign(text: bytes) -> str:
    """Return the first line that is not UTF-8, decoded as Latin-1; empty if there is none."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        start = text.rfind(b"\n", 0, error.start) + 1
        return text[start:].partition(b"\n")[0].decode("latin-1").rstrip("\r")
    return ""
