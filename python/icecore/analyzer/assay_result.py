"""Results of an assay as plain values: input of the tables, figures and reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from icecore.analyzer.measure import Candidate, Choice
from icecore.sources.failure import Failure


@dataclass(frozen=True)
class ArrayAssay:
    """Measurements of one array.

    Attributes:
        path: path of the array in its source.
        shape: elements along each axis.
        dtype: the data type in one word.
        nbytes: size of the whole decoded array, in bytes.
        chunk: shape of the measured chunks: the array's own in a repository, else the planned shape, clipped
            to the array.
        chunks: number of chunks that were read.
        of: number of chunks of the array.
        sampled: size of the array elements in the chunks that were read, in bytes.
        candidates: all codecs with their measurements, best ratio first.
        choices: goal (``archive``, ``balanced``, ``speed``) → chosen codecs; empty if no chunk would be
            stored.
        seconds: wall time of the measurement.
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
    """Measurements of a compression program on a whole file.

    ``ratio`` is bytes before / bytes after. ``pack`` and ``unpack`` are the wall seconds of one run each,
    including the start of the program.
    """

    program: str
    nbytes: int
    ratio: float
    pack: float
    unpack: float


@dataclass(frozen=True)
class FileAssay:
    """Measurements of a file without arrays, one for each installed program, best ratio first.

    ``nbytes`` is the length of the file. ``measured`` is the number of bytes that were packed.
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
    #: files of a directory that could not be read
    failures: list[Failure] = field(default_factory=list)

    def __str__(self) -> str:
        from icecore.analyzer.assay_report import as_text

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
        from icecore.analyzer.assay_report import write

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
