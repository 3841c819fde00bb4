"""Proof, before a commit, that what is stored of a text table prints its text again.

Each block of text is printed again from its columns as soon as it was parsed, and compared, while both are
near. What is left to prove is that columns and escapes come back from the repository as they went in, which
their checksums tell. Binary records are printed again as a whole.
"""

from __future__ import annotations

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
    """What went in of one source: its print format, and the CRC-32C of each column and of the escapes."""

    def __init__(self) -> None:
        self.format: dict[str, Any] | None = None
        #: of the elements of each column, none of them where there were no rows
        self.columns: list[int] = []
        self._escapes = 0

    @property
    def printed(self) -> bool:
        """Whether every block was printed again while it was parsed, and compared."""
        return self.format is None or "binary" not in self.format["layout"]

    def add_escapes(self, stored: bytes) -> None:
        """Take the escapes of some rows."""
        self._escapes = _checksum(stored, self._escapes)

    def agrees(self, fmt: dict[str, Any] | None, columns: list[int], escapes: bytes) -> bool:
        """Whether this went in: a print format, columns of these checksums, escapes."""
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
    """Read the sources from number ``first`` on back.

    Args:
        repo: with what is to be committed.
        path: the table.
        first: the number of the first source that was added.
        proofs: of each.
        before: by column its array in the version that was extended, None where it was written anew.

    Returns:
        By path the summaries of the columns that were read for it.

    Raises:
        Error: ``internal`` where one is not what was packed.
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
            if not proof.printed:
                _print(repo, path, table, i)
            elif not proof.agrees(_format(table, source), of, restore.escapes(repo, path, source)):
                raise errors.make("corrupt", "what is stored is not what was parsed")
    except errors.Error as error:
        raise _unlike(name, error) from error
    return made


def reprint(repo: Repo, path: str, sources: Iterable[int], stored: Repo) -> None:
    """Print sources again whose columns were written anew, and compare their hashes.

    Args:
        repo: with what is to be committed.
        path: the table.
        sources: the numbers of those that are printed.
        stored: the version whose columns were written anew.

    Raises:
        Error: ``mismatch`` where one was not what was packed once before; ``internal`` where it no longer is.
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
        return error  # it could not be looked at, which says nothing about it
    return errors.make(
        "internal",
        f"{name} could not be printed again as it was: {error.message}",
        "please report it; --no-restore packs its values alone",
    )


def _format(table: dict[str, Any], source: dict[str, Any]) -> dict[str, Any] | None:
    return stored_format.formats(table)[source["format"]] if "format" in source else None
