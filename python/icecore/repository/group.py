"""A group of a repository: its arrays, its groups, its attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository import address

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.nodes import Node
    from icecore.repository.repo import Repo


class Members:
    """What a mapping from names to arrays and groups can do besides being indexed and iterated."""

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[str]: ...
        def __getitem__(self, path: str) -> Array | Group: ...

    def get(self, path: str, default: Any = None) -> Any:
        """The array or group of this name, or ``default`` where there is none."""
        try:
            return self[path]
        except KeyError:
            return default

    def keys(self) -> list[str]:
        """What iterating gives."""
        return list(self)

    def values(self) -> list[Array | Group]:
        """The arrays and groups, in the order of :meth:`keys`."""
        return [self[name] for name in self]

    def items(self) -> list[tuple[str, Array | Group]]:
        """Both, in pairs."""
        return [(name, self[name]) for name in self]

    def _ipython_key_completions_(self) -> list[str]:
        return self.keys()


class Group(Members):
    """A view of everything below one path, at one version. Iterating gives the names of its members."""

    def __init__(self, repo: Repo, node: Node) -> None:
        self._repo = repo
        self._node = node

    @property
    def repo(self) -> Repo:
        """The repository, at the version this group was opened at."""
        return self._repo

    @property
    def path(self) -> str:
        """Absolute path inside the repository."""
        return self._node.path

    @property
    def name(self) -> str:
        """The last part of the path; empty for the root."""
        return self._node.name

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
        """A member by name or by a path relative to this group (absolute where it starts with ``/``).

        Raises:
            Error: ``not-found`` (also a ``KeyError``); ``selection`` for what selects elements of an array.
        """
        if not isinstance(path, str):
            name = next(iter(self.arrays), None)
            hint = "its members have names" if name is None else f"name one of its arrays first: [{name!r}]"
            raise errors.make("selection", f"{self.path} is a group, not an array: {path!r} has no use", hint)
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
        return [node for node in self._repo._visible() if node.path != "/" and node.parent == self.path]

    def __repr__(self) -> str:
        from icecore.display import tree

        return tree.text(self._repo._visible(), self.path, f"<icecore.Group {self.path}>")

    def _repr_html_(self) -> str:
        from icecore.display import html

        below = [node for node in self._repo._visible() if node.path.startswith(self.path.rstrip("/") + "/")]
        return html.hierarchy(below, self.path, self.path)
