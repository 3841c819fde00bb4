"""Lock of a writer that threads share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Shared(Protocol):
    """An object with a lock."""

    _turn: RLock


Self = TypeVar("Self", bound=Shared)


def in_turn(
    method: Callable[Concatenate[Self, Given], Result],
) -> Callable[Concatenate[Self, Given], Result]:
    """Serialize calls of a method. An append may commit, and a commit writes the rows of all arrays, so no
    other thread may be adding rows. Worker threads that encode chunks don't need the lock.
    """

    @wraps(method)
    def waiting(self: Self, *given: Given.args, **named: Given.kwargs) -> Result:
        with self._turn:
            return method(self, *given, **named)

    return waiting
