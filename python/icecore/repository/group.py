"""Group of a repository: its arrays, its groups, its attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository import address
from icecore.repository.list_columns import ListNode, folded
from icecore.repository.nodes import Member

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.nodes import Node


class Members:
    """Methods of a mapping from names to arrays and groups."""

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[str]: ...
        def __getitem__(self, path: str) -> Array | Group: ...

    def get(self, path: str, default: Any = None) -> Any:
        """Return the array or group of this name, or ``default``.

        Args:
            path: a name, or a path.
            default: returned if the group does not have this member.

        Example:
            >>> import icecore
            >>> icecore.create("memory://").get("/t2m") is None
            True
        """
        try:
            return self[path]
        except KeyError:
            return default

    def keys(self) -> list[str]:
        """Return the names of the members; for a repository, the paths of all arrays and groups.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/wrf/t2m", "f4", (3,))[...] = [1, 2, 3]
            >>> repo.at("main").keys()
            ['/wrf', '/wrf/t2m']
        """
        return list(self)

    def values(self) -> list[Array | Group]:
        """Return the arrays and groups, in the order of :meth:`keys`.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
            >>> [array.shape for array in repo.at("main").values()]
            [(3,)]
        """
        return [self[name] for name in self]

    def items(self) -> list[tuple[str, Array | Group]]:
        """Return (name, array or group) pairs, in the order of :meth:`keys`.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
            >>> [(name, array.ndim) for name, array in repo.at("main").items()]
            [('/t2m', 1)]
        """
        return [(name, self[name]) for name in self]

    def _ipython_key_completions_(self) -> list[str]:
        return self.keys()


class Group(Member, Members):
    """A group at one version, as a mapping from names to its arrays and groups.

    Example:
        >>> import icecore
        >>> repo = icecore.create("memory://")
        >>> with repo.writer() as w:
        ...     w.array("/wrf/t2m", "f4", (3,))[...] = [1, 2, 3]
        >>> list(repo.at("main")["/wrf"])
        ['t2m']
    """

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes (a copy)."""
        return self._node.numbers

    @property
    def arrays(self) -> dict[str, Array]:
        """name → array, for the arrays directly in this group."""
        return {node.name: self._repo._array(node.path) for node in self._members() if node.is_array}

    @property
    def groups(self) -> dict[str, Group]:
        """name → group, for the groups directly in this group."""
        return {node.name: Group(self._repo, node) for node in self._members() if not node.is_array}

    def __getitem__(self, path: str) -> Array | Group:
        """Return a member by name or by a path relative to this group; a leading ``/`` makes it absolute.

        Raises:
            Error: ``not-found`` (also a ``KeyError``); ``selection`` if ``path`` is not a string.
        """
        if not isinstance(path, str):
            name = next(iter(self.arrays), None)
            hint = "index it by name" if name is None else f"index one of its arrays: [{name!r}]"
            raise errors.make("selection", f"{self.path} is a group, not an array (index {path!r})", hint)
        return self._repo[path if path.startswith("/") else address.join(self.path, path)]

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, str):
            return False
        return (path if path.startswith("/") else address.join(self.path, path)) in self._repo

    def __iter__(self) -> Iterator[str]:
        return (node.name for node in self._members())

    def __len__(self) -> int:
        return len(self._members())

    def _members(self) -> list[Node]:
        return self._repo._members(self.path)

    def _listed(self) -> list[Node | ListNode]:
        return folded(self._repo._below(self.path), self._repo._node)

    def __repr__(self) -> str:
        from icecore.display import tree

        return tree.text(self._listed(), self.path, f"<icecore.Group {self.path}>")

    def _repr_html_(self) -> str:
        from icecore.display import html

        return html.hierarchy(self._listed(), self.path, self.path)
