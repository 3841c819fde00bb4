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
    """Result of :func:`icecore.assay`; ``str()`` returns the table that the command prints.

    Attributes:
        source: name of the source.
        arrays: measurements of arrays.
        files: measurement of the file, if it has no arrays.
        notes: remarks for the reader.
        seconds: wall time of the measurement.
        failures: files of a directory that could not be read.
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
        """Write a report.

        Args:
            path: an ``.html`` (with figures), ``.png`` (ratio against speed), ``.csv`` or ``.json`` file.

        Raises:
            Error: ``unsupported`` for another suffix, and for a picture if matplotlib is not installed.

        Example:
            >>> import icecore, numpy as np
            >>> np.save("t2m.npy", np.arange(100_000, dtype="f4"))
            >>> icecore.assay("t2m.npy", seconds=1).write("codecs.csv")
        """
        from icecore.analyzer.write_report import write

        write(self, path)

    def facts(self) -> dict[str, Any]:
        """Return the result as a dictionary for JSON.

        Example:
            >>> import icecore, numpy as np
            >>> np.save("t2m.npy", np.arange(100_000, dtype="f4"))
            >>> icecore.assay("t2m.npy", seconds=1).facts()["arrays"][0]["shape"]
            (100000,)
        """
        from dataclasses import asdict

        return asdict(self)
