"""Judge one file: print an outcome a line. Run by `__main__` in a process of its own."""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import icecore
from icecore.sources import format_of
from outcome import Outcome, attempt


def outcomes_of(path: Path) -> list[Outcome]:
    """Outcomes of a file or of a Zarr folder."""
    if path.is_dir():
        name = "Zarr folder"
    else:
        outcomes: list[Outcome] = []
        row = attempt("format", lambda: format_of(str(path)), outcomes)
        if row is None:
            return outcomes or [Outcome("refused", "format", "no known format")]
        name = row.name
    with tempfile.TemporaryDirectory() as folder:
        return _judge(path, name, Path(folder))


def _judge(path: Path, name: str, folder: Path) -> list[Outcome]:
    if name == "ROOT":
        import roots

        return roots.compare(path, folder)
    if "GWF" in name:
        import frames

        return frames.compare(path, folder)
    if "table" in name and "VOTable" not in name:
        import texts

        return texts.compare(path, folder)
    import arrays

    return arrays.compare(path, name, folder)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    assert icecore.__name__
    for outcome in outcomes_of(Path(sys.argv[1])):
        print(outcome.line(), flush=True)
