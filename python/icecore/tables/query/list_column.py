"""One column of lists of a table: what it is, and its values by index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.display import text
from icecore.repository.cached_property import cached_property
from icecore.repository.list_columns import JAGGED, ListNode
from icecore.repository.stored_bytes import stored_bytes
from icecore.tables.query.event_read import output

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo
    from icecore.tables.query.events import Events


class ListColumn:
    """A column of lists of any length; ``table["Muon_pt"]`` returns one, and indexing reads its lists.

    Example:
        >>> import awkward, icecore, uproot
        >>> with uproot.recreate("events.root") as file:
        ...     tree = file.mktree("Events", {"Muon_pt": "var * float32"})
        ...     tree.extend({"Muon_pt": awkward.Array([[30.5, 12], [], [7]])})
        >>> report = icecore.link("events.root", "events.icecore")
        >>> column = icecore.open("events.icecore").table("/events/Events")["Muon_pt"]
        >>> column.type, column.shape
        ('var * float32', (3,))
        >>> column[:2].tolist()
        [[30.5, 12.0], []]
    """

    def __init__(self, events: Events, name: str) -> None:
        self._events, self._name = events, name
        repo, path = events.columns.repo, events.columns.path_of(name)
        node = repo._node(path)
        assert node is not None
        self._node = ListNode(node, repo._node, repo._members)

    @property
    def repo(self) -> Repo:
        """The repository, at the version this was opened at."""
        return self._events.columns.repo

    @property
    def name(self) -> str:
        """Name of the column in its table."""
        return self._name

    @property
    def path(self) -> str:
        """Path of the group that holds the lists."""
        return self._node.path

    @property
    def type(self) -> str:
        """Type of a list, as Awkward Array writes it: ``var * float32``."""
        return self._node.dtype_label

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype of the column, which is that of Python objects."""
        return np.dtype("O")

    @property
    def shape(self) -> tuple[int]:
        """Number of lists."""
        return self._node.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions of the column itself."""
        return 1

    @property
    def dims(self) -> tuple[str | None]:
        """Name of the dimension."""
        return self._node.dims

    @cached_property
    def parts(self) -> list[Array]:
        """The arrays that hold the lists: lengths and elements."""
        return [self.repo._array(node.path) for node in self._node.arrays()]

    @property
    def attrs(self) -> dict[str, Any]:
        """A copy of the attributes, without the one that describes the parts."""
        return {key: value for key, value in self._node.node.numbers.items() if key != JAGGED}

    @property
    def nbytes(self) -> int:
        """Decoded bytes of the lists and their lengths."""
        return sum(array.nbytes for array in self.parts)

    @property
    def nbytes_stored(self) -> int:
        """Stored bytes; chunks that several parts share count once."""
        return stored_bytes(self.parts)

    @property
    def linked(self) -> bool:
        """Whether all parts lie in the source files."""
        return all(array.linked for array in self.parts)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """Return lists as an Awkward array: by a number, a slice, entry numbers or a mask.

        Further indexes apply to the elements: ``column[:100, 0]``.
        """
        first, *rest = index if isinstance(index, tuple) else (index,)
        if first is Ellipsis:
            first, rest = slice(None), [first, *rest]
        if isinstance(first, (int, np.integer)):
            lists = self._read([first])
            return lists[(0, *rest)]
        lists = self._read(first)
        return lists[(slice(None), *rest)] if rest else lists

    def _read(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                rows, order = self._events.rows(start, stop, None, None)
                return self._at(rows, order)
            index = np.arange(start, stop, step)
        numbers = np.asarray(index)
        if numbers.dtype.kind == "b" and numbers.shape == (len(self),):
            numbers = np.flatnonzero(numbers)
        return self._at(*self._events.rows(None, None, None, numbers))

    def _at(self, rows: Any, order: np.ndarray | None) -> Any:
        values = self._events.read([self._name], rows)[self._name]
        return values if order is None else values[order]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(output({self._name: self[:]}, "np", 0)[self._name], dtype)

    def __repr__(self) -> str:
        kind, shape = self._node.labels
        return f"<icecore.ListColumn {text.label(self.path)} {kind} {shape}>"
