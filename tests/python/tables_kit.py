"""Tables of text that tests make, and packing them and back."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
from icecore.ingest.report import Report
from icecore.tables.text.restore import restore

PDS3 = """PDS_VERSION_ID = PDS3\r
RECORD_TYPE = FIXED_LENGTH\r
RECORD_BYTES = {record}\r
FILE_RECORDS = {rows}\r
^TABLE = "{file}"\r
OBJECT = TABLE\r
  INTERCHANGE_FORMAT = ASCII\r
  ROWS = {rows}\r
  ROW_BYTES = {record}\r
  COLUMNS = 3\r
{columns}END_OBJECT = TABLE\r
END\r
"""


def column(name: str, kind: str, start: int, length: int, extra: str = "") -> str:
    """A COLUMN object of a PDS3 label."""
    lines = [f"NAME = {name}", f"DATA_TYPE = {kind}", f"START_BYTE = {start}", f"BYTES = {length}"]
    inner = "".join(f"    {line}\r\n" for line in [*lines, *extra.splitlines()])
    return f"  OBJECT = COLUMN\r\n{inner}  END_OBJECT = COLUMN\r\n"


COLUMNS = (
    column("NAME", "CHARACTER", 2, 6)
    + column("COUNT", "ASCII_INTEGER", 10, 5, 'UNIT = "COUNTS"\nMISSING_CONSTANT = -99')
    + column("VALUE", "ASCII_REAL", 16, 9, 'UNIT = "KELVIN"\nDESCRIPTION = "how\n warm"')
)


def rows(count: int, seed: int = 1) -> tuple[bytes, dict[str, np.ndarray]]:
    """Fixed rows of 26 bytes that fit ``COLUMNS``, and their values."""
    rng = np.random.default_rng(seed)
    names = np.array([f"obj{i % 7}" for i in range(count)], "S6")
    counts = rng.integers(-99, 9999, count)
    values = np.round(np.cumsum(rng.normal(0, 1, count)), 3)
    pairs = zip(names.tolist(), counts.tolist(), values.tolist(), strict=True)
    text = b"".join(b'"%-6s",%5d,%9.3f\r\n' % row for row in pairs)
    return text, {"NAME": names, "COUNT": counts, "VALUE": values}


def labelled(folder: Path, count: int = 500, name: str = "t") -> tuple[Path, bytes, dict[str, np.ndarray]]:
    """A PDS3 label, its data file's bytes and values."""
    text, values = rows(count)
    (folder / f"{name}.tab").write_bytes(text)
    label = folder / f"{name}.lbl"
    label.write_text(
        PDS3.format(record=26, rows=count, file=f"{name.upper()}.TAB", columns=COLUMNS), newline=""
    )
    return label, text, values


def round_trip(source: Path, folder: Path, **options: object) -> tuple[icecore.Repo, Report, bytes]:
    """Pack one table into ``/t``; the repository, the report and the restored bytes."""
    report = icecore.pack(source, into=folder / "r.icecore", group="/t", **options)  # type: ignore[arg-type]
    repo = icecore.open(folder / "r.icecore")
    out = folder / "restored"
    restore(repo, "/t", out)
    return repo, report, out.read_bytes()
