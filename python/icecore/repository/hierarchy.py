"""Hierarchy of a repository at one version: a mapping from sorted paths to arrays and groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import TYPE_CHECKING, Any, cast

from icecore import errors
from icecore.repository import address, channel_names
from icecore.repository.array import Array
from icecore.repository.cached_property import cached_property
from icecore.repository.group import Group, Members
from icecore.repository.list_columns import folded
from icecore.repository.nodes import Node, hidden, suggestion

if TYPE_CHECKING:
    from icecore import _icecore
    from icecore.repository.repo import Repo

#: root group of a repository without commits
_ROOT = Node("/", False, '{"zarr_format": 3, "node_type": "group"}')


class Hierarchy(Members):
    """The part of a :class:`icecore.Repo` that lists and finds arrays and groups."""

    def __init__(
        self,
        native: _icecore.Repo,
        storage: Mapping[str, Any] | None,
        allow_links: list[str] | None,
        ref: str | None = None,
    ) -> None:
        self._native = native
        self._ref = native.ref if ref is None else ref
        self._storage = dict(storage or {})
        self._allow_links = allow_links

    @property
    def url(self) -> str:
        """Where the repository is."""
        return self._native.url

    @property
    def ref(self) -> str:
        """The branch, tag, snapshot id or time that the repository was opened at."""
        return self._ref

    @property
    def snapshot_id(self) -> str:
        """The id of the snapshot that reads use."""
        return self._native.snapshot_id

    @property
    def link_prefixes(self) -> list[str]:
        """URL prefixes that linked files may be read from."""
        return list(self._native.link_prefixes)

    @cached_property
    def _nodes(self) -> dict[str, Node]:
        return {each[0]: self._described(*each) for each in self._native.nodes()}

    @cached_property
    def _known(self) -> dict[str, Node]:
        """The nodes that were asked for, so that each document is parsed once."""
        return {}

    def _described(self, path: str, is_array: bool, text: str) -> Node:
        return self._known.setdefault(path, Node(path, is_array, text))

    def _node(self, path: str) -> Node | None:
        """Return the node at a path, without reading the list of all nodes."""
        if path in self._known:
            return self._known[path]
        found = self._native.node(path)
        return None if found is None else self._described(*found)

    @cached_property
    def _listed(self) -> dict[str, list[Node]]:
        return {}

    def _members(self, group: str) -> list[Node]:
        """Return the visible members of a group, in the order of their paths."""
        if group not in self._listed:
            found = [] if hidden(group) else [self._described(*each) for each in self._native.members(group)]
            self._listed[group] = [node for node in found if not hidden(node.path)]
        return self._listed[group]

    def _below(self, group: str) -> list[Node]:
        """List the visible nodes below a group in the order of their paths; no other groups are visited."""
        if group == "/":
            return [node for node in self._nodes.values() if node.path != "/" and not hidden(node.path)]
        found: list[Node] = []
        inside = [group]
        while inside:
            members = self._members(inside.pop())
            found += members
            inside += [node.path for node in members if not node.is_array]
        return sorted(found, key=lambda node: node.path)

    def _visible(self) -> list[Node]:
        return [node for node in self._nodes.values() if not hidden(node.path)]

    def _array(self, path: str) -> Array:
        item = self[path]
        if not isinstance(item, Array):
            raise errors.make(
                "not-found",
                f"{item.path} is a group, not an array",
                f"see `icecore ls {quote(self.url)} {quote(item.path)}`",
            )
        return item

    def __getitem__(self, path: str) -> Array | Group:
        """Return the array or group at ``path``; the leading ``/`` is optional.

        Channels of frame files have their names too (``H1:GDS-CALIB_STRAIN``), and stored trends have LIGO's:
        ``H1:GDS-CALIB_STRAIN.mean,m-trend``, or with the array's path in front of the dot.

        Raises:
            Error: ``not-found`` (also a ``KeyError``); the hint names the most similar paths. ``invalid`` for
                a channel that several groups have.
        """
        absolute = address.absolute(path)
        node = self._find(absolute)
        if node is None and channel_names.split(absolute) is not None:
            hint = "icecore link --summaries, or icecore pack --windows 1s,60s, write trends"
            raise errors.make("not-found", f"{absolute}: {self.url} does not store this trend", hint)
        if node is None:
            known = (node.path for node in self._visible())
            hint = suggestion(absolute, known, f"see `icecore ls {quote(self.url)}`")
            raise errors.make("not-found", f"no {absolute} in {self.url} at {self.ref}", hint)
        repo = cast("Repo", self)
        return Array(repo, node) if node.is_array else Group(repo, node)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._find(address.absolute(path)) is not None

    def _find(self, path: str) -> Node | None:
        """Return the node at a path, or of the channel or stored trend of that name."""
        node = self._node(path) or (_ROOT if path == "/" else None)
        if node is not None:
            return node
        if (trend := channel_names.split(path)) is not None:
            channel, statistic, seconds = trend
            of = self._find(channel)
            stored = None if of is None else f"{channel_names.level(of.path, seconds)}/{statistic}"
            return None if stored is None else self._node(stored)
        return self._channel(path) if ":" in path else None

    def _channel(self, path: str) -> Node | None:
        """Return the array of a channel whose name is given as a path, in a group or without one.

        Raises:
            Error: ``invalid`` if several groups have the channel.
        """
        group, _, name = path.rpartition("/")
        node = self._node(group + channel_names.array_path(name))
        if node is not None and node.attrs.get(channel_names.KEY, name) == name:
            return node
        found = channel_names.find(path[1:], self._channels)
        if len(found) > 1:
            message = f"{path[1:]} is at {' and '.join(found[:3])} in {self.url}"
            raise errors.make("invalid", message, f"name one: {found[0]}")
        return self._nodes[found[0]] if found else None

    @cached_property
    def _channels(self) -> dict[str, str]:
        """Path → name of its channel, for all arrays that state one."""
        named = ((node.path, node.attrs.get(channel_names.KEY)) for node in self._visible() if node.is_array)
        return {path: name for path, name in named if isinstance(name, str)}

    def __iter__(self) -> Iterator[str]:
        return (node.path for node in self._visible() if node.path != "/")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def arrays(self) -> dict[str, Array]:
        """path → array, for all arrays."""
        repo = cast("Repo", self)
        return {node.path: Array(repo, node) for node in self._visible() if node.is_array}

    @property
    def groups(self) -> dict[str, Group]:
        """path → group, for all groups including the root."""
        repo = cast("Repo", self)
        return {node.path: Group(repo, node) for node in self._visible() if not node.is_array}

    @property
    def attrs(self) -> dict[str, Any]:
        """A copy of the root group's attributes."""
        root = self._node("/")
        return root.numbers if root is not None else {}

    def __repr__(self) -> str:
        from icecore.display import tree

        return tree.text(folded(self._visible()), "/", f"<icecore.Repo {self.url}@{self.ref}>")

    def _repr_html_(self) -> str:
        from icecore.display import html

        return html.hierarchy(folded(self._visible()), "/", f"{self.url}@{self.ref}")
