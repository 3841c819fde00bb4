"""Outcomes of one object of a file: equal, left out, refused, wrong, crashed, hung, or without a judge."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import icecore

#: from harmless to worst; the last three are faults
WORDS = ("equal", "no judge", "left out", "refused", "wrong", "crashed", "hung")
FAULTS = WORDS[4:]


@dataclass(frozen=True)
class Outcome:
    """What became of an object: a word of ``WORDS``, the object's name with the verb, and a detail."""

    word: str
    name: str
    detail: str = ""

    def line(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))


def attempt(name: str, call: Callable[[], Any], outcomes: list[Outcome]) -> Any:
    """Return what ``call`` returns; None after an error, which becomes an outcome.

    An `icecore.Error` is a refusal, except for the kind ``internal``. Every other exception is a crash: users
    must never see one.
    """
    try:
        return call()
    except icecore.Error as error:
        word = "crashed" if error.kind == "internal" else "refused"
        outcomes.append(Outcome(word, name, f"{error.kind}: {error.message}"[:300]))
    except Exception as error:
        outcomes.append(Outcome("crashed", name, f"{type(error).__name__}: {error}"[:300]))
    return None


def said(name: str, report: Any) -> list[Outcome]:
    """Outcomes of a report's notes about parts that are left out, and of its failures."""
    left = [n for n in report.notes if n.kind == "unsupported"]
    outcomes = [Outcome("left out", f"{name} {note.name}", note.message[:200]) for note in left]
    return outcomes + [
        Outcome("refused", f"{name} {f.name}", f"{f.kind}: {f.message}"[:200]) for f in report.failures
    ]


def judged(name: str, is_equal: bool, detail: str = "") -> Outcome:
    """An outcome of a comparison."""
    return Outcome("equal", name) if is_equal else Outcome("wrong", name, detail)
