"""Values that are unpickled where they are used: Dask's scheduler unpickles graphs, but can't open stores."""

from __future__ import annotations

from typing import Any


class Sealed:
    """A value that is pickled as bytes, and unpickled when it is first used."""

    def __init__(self, value: Any = None, pickled: bytes | None = None) -> None:
        self._value, self._pickled = value, pickled

    @property
    def value(self) -> Any:
        """The value."""
        if self._pickled is not None:
            import cloudpickle

            self._value, self._pickled = cloudpickle.loads(self._pickled), None
        return self._value

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle

        pickled = self._pickled if self._pickled is not None else cloudpickle.dumps(self._value)
        return (Sealed, (None, pickled))
