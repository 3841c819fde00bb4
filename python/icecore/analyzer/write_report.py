"""Report files of an assay; the suffix selects the format."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

from icecore import errors
from icecore.analyzer import html_report, scatter_picture
from icecore.analyzer.text_report import records
from icecore.filesystem.atomic_output import landing

if TYPE_CHECKING:
    from icecore.analyzer.assay_result import Assay

SUFFIXES = (".html", ".png", ".csv", ".json")


def check(path: str) -> None:
    """Reject a file name with an unknown suffix before anything is measured.

    Raises:
        Error: ``unsupported`` for an unknown suffix.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise errors.make("unsupported", f"can't write a report to {path}", "one of " + ", ".join(SUFFIXES))


def write(assay: Assay, path: str) -> None:
    """Write the report in the format that the suffix of ``path`` selects.

    Raises:
        Error: ``unsupported`` for another suffix, or for a picture without matplotlib; also the errors of
            :func:`landing`.
    """
    check(path)
    suffix = Path(path).suffix.lower()
    with landing(path) as part:
        if suffix == ".png":
            scatter_picture.draw(assay, part)
        elif suffix == ".html":
            Path(part).write_text(html_report.html(assay), "utf-8")
        elif suffix == ".json":
            Path(part).write_text(json.dumps(assay.facts(), indent=1) + "\n", "utf-8")
        else:
            _csv(assay, part)


def _csv(assay: Assay, path: str) -> None:
    rows = records(assay)
    with open(path, "w", newline="", encoding="utf-8") as out:
        table = csv.DictWriter(out, list(rows[0]) if rows else ["source"])
        table.writeheader()
        table.writerows(rows)
