"""Verification before a commit that a stored text table reproduces its text.

Each block is printed from its columns right after parsing and compared, while both are in the cache. What
remains is to verify by checksums that the repository returns the same columns and escapes. Binary records are
printed as a whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.tables.summaries import write
from icecore.tables.text import restore, stored_format

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo
    from icecore.tables.summaries.zones import Zones


class Proof:
    """Record of a source's input: its print format, and the CRC-32C of each column and of the escapes."""

    def __init__(self) -> None:
        self.format: dict[str, Any] | None = None
        #: CRC-32C of the elements of each column; empty if there were no rows
        self.columns: list[int] = []
        #: hash of the stretch of a text that several tables keep
        self.text = hashlib.sha256()
        self._escapes = 0

    @property
    def printed(self) -> bool:
        """Whether every block was printed and compared while it was parsed."""
        return self.format is None or "binary" not in self.format["layout"]

    def add_escapes(self, stored: bytes) -> None:
        """Add the escapes of some rows."""
        self._escapes = _checksum(stored, self._escapes)

    def agrees(self, fmt: dict[str, Any] | None, columns: list[int], escapes: bytes) -> bool:
        """Return whether a print format, columns with these checksums, and escapes equal the input."""
        mine = self.columns or [0] * len(columns)
        return (_text(self.format), mine, self._escapes) == (_text(fmt), columns, _checksum(escapes, 0))


def _text(fmt: dict[str, Any] | None) -> str | None:
    """A print format in canonical form: attributes omit default values."""
    from icecore import _icecore

    return None if fmt is None else _icecore.TextFormat(json.dumps(fmt)).json


def _checksum(part: bytes, before: int) -> int:
    from icecore import _icecore

    return _icecore.checksum(part, before)


def check(
    repo: Repo, path: str, first: int, proofs: Sequence[Proof], before: Sequence[Array | None] = ()
) -> dict[str, Zones]:
    """Read back the sources from number ``first`` on, and compare them with their input.

    Args:
        repo: view of the repository with the uncommitted changes.
        path: path of the table.
        first: index of the first source that was added.
        proofs: record of each source's input.
        before: each column's array in the version that was extended; None if it was rewritten.

    Returns:
        Summaries of the columns that were read, by path.

    Raises:
        Error: ``internal`` if a source differs from its input.
    """
    table = restore.packed(repo, path)
    sources = table["sources"][first:]
    made: dict[str, Zones] = {}
    columns: list[list[int]] = [[] for _ in sources]
    name = ""
    try:
        if any(proof.printed for proof in proofs):
            name = sources[0]["name"]
            arrays = [repo._array(f"{path}/{column}") for column in table["columns"]]
            columns, made = write.read_back(arrays, [source["rows"] for source in sources], before)
        for i, (source, proof, of) in enumerate(zip(sources, proofs, columns, strict=True), first):
            name = source["name"]
            if not proof.printed and "parts" in source:
                if restore.digest(repo, path, table, i) != proof.text.hexdigest():
                    raise errors.make("corrupt", "what is stored is not what was parsed")
            elif not proof.printed:
                _print(repo, path, table, i)
            elif not proof.agrees(_format(table, source), of, restore.escapes(repo, path, source)):
                raise errors.make("corrupt", "what is stored is not what was parsed")
    except errors.Error as error:
        raise _unlike(name, error) from error
    return made


def reprint(repo: Repo, path: str, sources: Iterable[int], stored: Repo) -> None:
    """Print sources whose columns were rewritten, and compare their hashes.

    Args:
        repo: view of the repository with the uncommitted changes.
        path: path of the table.
        sources: indexes of the sources to print.
        stored: version before the columns were rewritten.

    Raises:
        Error: ``mismatch`` if a source did not match even before; ``internal`` if it matches no longer.
    """
    table = repo._nodes[path].ours["table"]
    for i in sources:
        source = table["sources"][i]
        if "text" not in table or "sha256" not in source:
            continue
        try:
            _print(repo, path, table, i)
        except errors.Error as error:
            _print(stored, path, stored._nodes[path].ours["table"], i)
            raise _unlike(source["name"], error) from error


def _print(repo: Repo, path: str, table: dict[str, Any], source: int) -> None:
    for _ in restore.blocks(repo, path, table, source):
        pass


def _unlike(name: str, error: errors.Error) -> errors.Error:
    if error.kind in ("memory", "io", "network", "permission"):
        return error  # a failed read is not a difference
    return errors.make(
        "internal",
        f"{name} could not be printed again as it was: {error.message}",
        "please report it; --no-restore packs its values alone",
    )


def _format(table: dict[str, Any], source: dict[str, Any]) -> dict[str, Any] | None:
    return stored_format.formats(table)[source["format"]] if "format" in source else None
