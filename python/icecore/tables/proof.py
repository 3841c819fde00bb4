"""Proof, before a commit, that what is stored of a text table prints its text again.

Each block of text is printed again from its columns as soon as it was parsed, and compared, while both are
near. What is left to prove is that columns and escapes come back from the repository as they went in, which
their checksums tell. Binary records are printed again as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.tables import restore

if TYPE_CHECKING:
    from icecore.repo import Repo


class Proof:
    """What went in of one source: its print format, and the CRC-32C of each column and of the escapes."""

    def __init__(self) -> None:
        self.format: dict[str, Any] | None = None
        self._columns: list[int] = []
        self._escapes = 0

    @property
    def printed(self) -> bool:
        """Whether every block was printed again while it was parsed, and compared."""
        return self.format is None or "binary" not in self.format["layout"]

    def begin(self, fmt: dict[str, Any]) -> None:
        """Take the print format of the rows to come."""
        self.format = fmt

    def add(self, raw: Sequence[np.ndarray]) -> None:
        """Take the columns of some rows, as the parser gives them."""
        from icecore import _icecore

        if not self.printed:
            return
        before = self._columns or [0] * len(raw)
        self._columns = _icecore.checksums([values.view("u1") for values in raw], before)

    def add_escapes(self, stored: bytes) -> None:
        """Take the escapes of some rows."""
        from icecore import _icecore

        (self._escapes,) = _icecore.checksums([np.frombuffer(stored, "u1")], [self._escapes])

    def agrees(self, other: Proof) -> bool:
        """Whether the same went into both."""
        return (self._text(), self._columns, self._escapes) == (other._text(), other._columns, other._escapes)

    def _text(self) -> str | None:
        """The print format in one spelling: attributes leave out what goes without saying."""
        from icecore import _icecore

        return None if self.format is None else _icecore.TextFormat(json.dumps(self.format)).json


def check(repo: Repo, path: str, first: int, proofs: Sequence[Proof]) -> None:
    """Read the sources from number ``first`` on back.

    Raises:
        Error: ``internal`` where one is not what was packed.
    """
    table = restore.packed(repo, path)
    for i, proof in enumerate(proofs, first):
        try:
            if not proof.printed:
                for _ in restore.blocks(repo, path, table, i):
                    pass
            elif not proof.agrees(_stored(repo, path, table, i)):
                raise errors.make("corrupt", "what is stored is not what was parsed")
        except errors.Error as error:
            name = table["sources"][i]["name"]
            raise errors.make(
                "internal",
                f"{name} could not be printed again as it was: {error.message}",
                "please report it; --no-restore packs its values alone",
            ) from error


def _stored(repo: Repo, path: str, table: dict[str, Any], i: int) -> Proof:
    """The same of what is in the repository."""
    source, found = table["sources"][i], Proof()
    window = restore.Window(repo, path, table, source)
    if "format" in source:
        found.begin(window.format)
    start, stop = source["rows"]
    while start < stop:
        until = min((start // restore.WINDOW + 1) * restore.WINDOW, stop)
        found.add(window.columns(start, until))
        start = until
    found.add_escapes(restore.escapes(repo, path, source))
    return found
