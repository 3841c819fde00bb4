"""Threads that share a writer take turns."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Shared(Protocol):
    """What a lock belongs to."""

    _turn: RLock


Self = TypeVar("Self", bound=Shared)


def in_turn(
    method: Callable[Concatenate[Self, Given], Result],
) -> Callable[Concatenate[Self, Given], Result]:
    """A method that waits for its turn: an append may commit, and a commit writes the rows of all arrays, so
    no other thread may be in the middle of adding some. Chunks are encoded by threads that need no turn.
    """

    @wraps(method)
    def waiting(self: Self, *given: Given.args, **named: Given.kwargs) -> Result:
        with self._turn:
            return method(self, *given, **named)

    return waiting
