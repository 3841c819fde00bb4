"""What an assay gives back: plain values, from which tables, pictures and pages are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from icecore.analyzer.measure import Candidate, Choice
from icecore.sources.failure import Failure


@dataclass(frozen=True)
class ArrayAssay:
    """One array: what each codec makes of it.

    Attributes:
        path: in its source.
        shape: elements along each axis.
        dtype: the data type in one word.
        nbytes: of the whole array, decoded.
        chunk: shape of the chunks that were measured: the array's own in a repository, else the planned ones;
            parts of them where the array is short.
        chunks: number of chunks that were read.
        of: number of chunks of the array.
        sampled: bytes of the array in them.
        candidates: every codec with its figures, best ratio first.
        choices: goal (``archive``, ``balanced``, ``speed``) → what it chooses; empty where nothing is stored.
        seconds: that measuring took.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    chunk: tuple[int, ...]
    chunks: int
    of: int
    sampled: int
    candidates: list[Candidate]
    choices: dict[str, Choice]
    seconds: float


@dataclass(frozen=True)
class ProgramFigures:
    """What a program that packs whole files makes of one.

    ``ratio`` is bytes before / after; ``pack`` and ``unpack`` are wall seconds of one run each, start of the
    program included.
    """

    program: str
    nbytes: int
    ratio: float
    pack: float
    unpack: float


@dataclass(frozen=True)
class FileAssay:
    """A file without arrays: what the machine's programs make of it, best ratio first.

    ``nbytes`` is the file's length, ``measured`` how much of it was packed.
    """

    name: str
    nbytes: int
    measured: int
    programs: list[ProgramFigures]
    absent: list[str]


@dataclass(frozen=True, repr=False)
class Assay:
    """What :func:`icecore.assay` found: ``arrays``, or one of ``files`` where the source holds none;
    ``failures`` are the sources of a folder that could not be read.

    ``str()`` of it is the table that the command prints; ``write(path)`` makes a .html, .png, .csv or .json.
    """

    source: str
    arrays: list[ArrayAssay] = field(default_factory=list)
    files: list[FileAssay] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    #: files of a folder that could not be read
    failures: list[Failure] = field(default_factory=list)

    def __str__(self) -> str:
        from icecore.analyzer.text_report import as_text

        return as_text(self)

    __repr__ = __str__

    def write(self, path: str) -> None:
        """Write a report: ``.html`` (one file, figures inside), ``.png`` (ratio against speed), ``.csv`` or
        ``.json``.

        Raises:
            Error: ``unsupported`` for another suffix, or a picture without matplotlib.
        """
        from icecore.analyzer.write_report import write

        write(self, path)

    def facts(self) -> dict[str, Any]:
        """All of it as JSON-able values."""
        from dataclasses import asdict

        return asdict(self)
