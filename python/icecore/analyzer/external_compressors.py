"""External compression programs installed on the machine, for comparison on whole files."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from icecore import errors


@dataclass(frozen=True)
class Utility:
    """A program that compresses one file and decompresses it again.

    ``pack`` and ``unpack`` are command lines with the placeholders ``{level}``, ``{source}`` and
    ``{packed}``. ``unpack`` writes the file to stdout, and so does ``pack`` unless ``makes_file``.
    """

    name: str
    pack: tuple[str, ...]
    unpack: tuple[str, ...]
    levels: tuple[str, ...]
    makes_file: bool = False

    @property
    def present(self) -> bool:
        """Whether the program is installed."""
        return shutil.which(self.pack[0]) is not None and shutil.which(self.unpack[0]) is not None


UTILITIES = (
    Utility(
        "lz4", ("lz4", "-{level}", "-c", "-q", "{source}"), ("lz4", "-d", "-c", "-q", "{packed}"), ("1", "9")
    ),
    Utility(
        "zip",
        ("zip", "-{level}", "-j", "-q", "{packed}", "{source}"),
        ("unzip", "-p", "{packed}"),
        ("6", "9"),
        makes_file=True,
    ),
    Utility("gzip", ("gzip", "-{level}", "-c", "{source}"), ("gzip", "-d", "-c", "{packed}"), ("6", "9")),
    Utility("pigz", ("pigz", "-{level}", "-c", "{source}"), ("pigz", "-d", "-c", "{packed}"), ("6",)),
    Utility("bzip2", ("bzip2", "-{level}", "-c", "{source}"), ("bzip2", "-d", "-c", "{packed}"), ("9",)),
    Utility(
        "zstd",
        ("zstd", "-{level}", "-T1", "-c", "-q", "{source}"),
        ("zstd", "-d", "-c", "-q", "{packed}"),
        ("3", "15", "19"),
    ),
    Utility(
        "brotli",
        ("brotli", "-q", "{level}", "-c", "{source}"),
        ("brotli", "-d", "-c", "{packed}"),
        ("9", "11"),
    ),
    Utility(
        "lzma",
        ("xz", "--format=lzma", "-{level}", "-c", "{source}"),
        ("xz", "--format=lzma", "-d", "-c", "{packed}"),
        ("6", "9e"),
    ),
    Utility("xz", ("xz", "-{level}", "-T1", "-c", "{source}"), ("xz", "-d", "-c", "{packed}"), ("6",)),
    Utility(
        "7z",
        ("7z", "a", "-mx={level}", "-bso0", "-bsp0", "{packed}", "{source}"),
        ("7z", "x", "-so", "-bsp0", "{packed}"),
        ("9",),
        makes_file=True,
    ),
    Utility(
        "rar",
        ("rar", "a", "-m{level}", "-ep", "-inul", "{packed}", "{source}"),
        ("rar", "p", "-inul", "{packed}"),
        ("5",),
        makes_file=True,
    ),
    Utility(
        "rzip",
        ("rzip", "-{level}", "-k", "-o", "{packed}", "{source}"),
        ("sh", "-c", 'rzip -d -k -o "$0.out" "$0" && cat "$0.out" && rm "$0.out"', "{packed}"),
        ("9",),
        makes_file=True,
    ),
)


def command(parts: tuple[str, ...], level: str, source: Path, packed: Path) -> list[str]:
    """Return the command line of a program, with the placeholders filled in."""
    return [part.format(level=level, source=source, packed=packed) for part in parts]


def pack(utility: Utility, level: str, source: Path, packed: Path) -> float:
    """Compress ``source`` into ``packed`` and return the wall seconds.

    Raises:
        Error: ``io`` with the program's error output if the program fails.
    """
    packed.unlink(missing_ok=True)
    return _timed(command(utility.pack, level, source, packed), packed, utility.makes_file)


def unpack(utility: Utility, packed: Path, target: Path) -> float:
    """Decompress ``packed`` into ``target`` and return the wall seconds.

    Raises:
        Error: ``io`` with the program's error output if the program fails.
    """
    return _timed(command(utility.unpack, "", packed, packed), target, False)


def _timed(line: list[str], target: Path, makes_file: bool) -> float:
    """Run a program that creates ``target`` or prints its contents, and return the wall seconds."""
    began = time.perf_counter()
    with open(os.devnull if makes_file else target, "wb") as out:
        done = subprocess.run(line, stdout=out, stderr=subprocess.PIPE, check=False)
    seconds = time.perf_counter() - began
    if done.returncode or not target.exists():
        said = done.stderr.decode("utf-8", "replace").strip()
        raise errors.make("io", f"{' '.join(line)} failed ({done.returncode}): {said[-300:]}")
    return seconds
