"""Measurement of a file without arrays: each installed compression program packs it as a whole."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from icecore import errors
from icecore.analyzer import external_compressors
from icecore.analyzer.assay_result import FileAssay, ProgramFigures

#: largest number of bytes to pack, from the middle of the file; the slowest programs need a second per MB
_MOST = 16 << 20


def assay(file: Path, progress: Callable[[str, int, int], None] | None = None) -> FileAssay:
    """Pack a file with every program at each of its levels, and unpack it again.

    Raises:
        Error: ``io`` if a program fails or does not reproduce the file.
    """
    size = file.stat().st_size
    with tempfile.TemporaryDirectory(prefix="icecore-assay-") as temporary:
        work = Path(temporary)
        source = file if size <= _MOST else _middle(file, size, work)
        runs = [(u, level) for u in external_compressors.UTILITIES if u.present for level in u.levels]
        found = []
        for done, (utility, level) in enumerate(runs):
            if progress is not None:
                progress(f"{utility.name} -{level}", done, len(runs))
            found.append(_program(utility, level, source, work))
    absent = [utility.name for utility in external_compressors.UTILITIES if not utility.present]
    found.sort(key=lambda row: -row.ratio)
    return FileAssay(str(file), size, min(size, _MOST), found, absent)


def _middle(file: Path, size: int, work: Path) -> Path:
    part = work / file.name
    with file.open("rb") as whole, part.open("wb") as out:
        whole.seek((size - _MOST) // 2)
        out.write(whole.read(_MOST))
    return part


def _program(utility: external_compressors.Utility, level: str, source: Path, work: Path) -> ProgramFigures:
    # Some programs add their own suffix to a name without one, so the name gets the program's name as suffix.
    packed = work / f"{source.name}.{utility.name}"
    pack = external_compressors.pack(utility, level, source, packed)
    again = work / "again"
    unpack = external_compressors.unpack(utility, packed, again)
    if again.read_bytes() != source.read_bytes():
        raise errors.make("io", f"{utility.name} -{level} does not reproduce {source.name}")
    before, after = source.stat().st_size, packed.stat().st_size
    packed.unlink()
    return ProgramFigures(f"{utility.name} -{level}", after, before / max(after, 1), pack, unpack)
