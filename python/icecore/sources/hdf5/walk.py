"""Visit every group of an HDF5 file once, whatever links lead to it, and every dataset under each name."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from h5py import h5d, h5f, h5g, h5i, h5l, h5o, h5s

from icecore import errors
from icecore.repository.json_attributes import text
from icecore.sources.files import access
from icecore.sources.files.identity import Identity, identity, is_remote
from icecore.sources.hdf5.attributes import References, read_attributes
from icecore.sources.hdf5.dataset import RawDataset
from icecore.sources.hdf5.file import FAULTS, guard
from icecore.sources.hdf5.types import plan_type
from icecore.sources.mapping.array_map import Note, damage

_MAX_RANK = 32
_OURS = ("__icecore__", "__summary__")


@dataclass
class Walk:
    """Result of the walk: groups with raw attributes in visiting order, datasets, notes and errors."""

    source: str
    identity: Identity
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    datasets: list[RawDataset] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    failed: list[errors.Error] = field(default_factory=list)
    files: dict[str, Identity] = field(default_factory=dict)
    references: References = field(default_factory=References)
    _seen: dict[tuple[int, int], str] = field(default_factory=dict)
    _own: dict[str, str] = field(default_factory=dict)

    def run(self, root: Any) -> None:
        """Walk the whole file; hard links first, so that an object gets its own name rather than an alias."""
        stack: list[tuple[str, Any]] = [("/", root)]
        later: deque[tuple[Any, str, bytes]] = deque()
        with guard(self.source):
            self._first(root, "/")
        while stack or later:
            if not stack:
                gid, path, name = later.popleft()
                self._follow(gid, path, name, stack)
                continue
            path, gid = stack.pop()
            self.groups[path] = {}
            with self.apart(path):
                values, lost = read_attributes(gid, h5i.get_file_id(gid), self.references)
                self.groups[path] = values
                self._lost(path, lost)
            links: list[tuple[bytes, int]] = []
            with self.apart(path):
                gid.links.iterate(lambda name, info, found=links: found.append((name, info.type)), info=True)
            children: list[tuple[str, Any]] = []
            for name, kind in links:
                child = self._child_path(path, name)
                if child is None:
                    continue
                if kind == h5l.TYPE_HARD:
                    with self.apart(child):
                        self._visit(h5o.open(gid, name), child, children)
                else:
                    later.append((gid, child, name))
            stack.extend(reversed(children))

    def own_path(self, name: str) -> str:
        """Return the path under which the object that the library calls ``name`` was visited."""
        if not self._own:
            self._own = {theirs: self._seen.get(key, theirs) for key, theirs in self.references.names.items()}
        return self._own.get(name, name)

    def _child_path(self, path: str, name: bytes) -> str | None:
        label = text(name)
        if label in ("", ".", "..") or "\0" in label or label in _OURS or label == "zarr.json":
            self.notes.append(
                Note(f"{path.rstrip('/')}/{label}", "name", "Zarr can't hold a node of this name")
            )
            return None
        return f"{path.rstrip('/')}/{label}"

    def _follow(self, gid: Any, path: str, name: bytes, stack: list[tuple[str, Any]]) -> None:
        """Follow a soft or external link, if its target exists."""
        refused = "an external link to a file that this service may not open"
        if not self._may_follow(gid, name):
            self.notes.append(Note(path, "unsupported", refused))
            return
        try:
            oid = h5o.open(gid, name)
        except FAULTS:
            self.notes.append(Note(path, "unsupported", "a soft or external link that leads nowhere"))
            return
        # Links on the way may lead to another file, too. Nothing of it has been read yet.
        if not is_remote(self.source) and not access.is_allowed(
            os.fsdecode(h5f.get_name(h5i.get_file_id(oid)))
        ):
            self.notes.append(Note(path, "unsupported", refused))
            return
        with self.apart(path):
            self._visit(oid, path, stack)

    def _may_follow(self, gid: Any, name: bytes) -> bool:
        """Whether an external link leads to files that may be opened, wherever the library looks for them."""
        if access.places() is None or gid.links.get_info(name).type != h5l.TYPE_EXTERNAL:
            return True
        file = os.fsdecode(gid.links.get_val(name)[0])
        own = os.fsdecode(h5f.get_name(h5i.get_file_id(gid)))
        folders = [os.path.dirname(os.path.abspath(own)), os.path.dirname(os.path.abspath(self.source)), "."]
        folders += os.environ.get("HDF5_EXT_PREFIX", "").split(":")
        names = (os.path.join(folder, each) for folder in folders for each in (file, os.path.basename(file)))
        return all(access.is_allowed(place) for place in names if os.path.lexists(place))

    @contextmanager
    def apart(self, path: str) -> Iterator[None]:
        """Record an error inside the block as a failure of ``path``, and continue with the rest of the
        file.
        """
        try:
            with guard(self.source, path):
                yield
        except errors.Error as error:
            if error.kind != "corrupt":
                raise
            self.failed.append(damage(error.message))

    def _first(self, oid: Any, path: str) -> bool:
        """Whether the object is visited for the first time.

        A group is walked only once, because a link to a parent would never end. A dataset keeps all its
        names, which cost no more than references.
        """
        info = h5o.get_info(oid)
        first = self._seen.setdefault((info.fileno, info.addr), path)
        if first != path and isinstance(oid, h5g.GroupID):
            self.notes.append(Note(path, "alias", f"the same group as {first}"))
        return first == path

    def _visit(self, oid: Any, path: str, groups: list[tuple[str, Any]]) -> None:
        if not isinstance(oid, (h5g.GroupID, h5d.DatasetID)):
            return
        first = self._first(oid, path)
        if isinstance(oid, h5g.GroupID):
            if first:
                groups.append((path, oid))
            return
        fid = h5i.get_file_id(oid)
        source, ident = self._home(fid)
        values, lost = read_attributes(oid, fid, self.references)
        self._lost(path, lost)
        plan = plan_type(oid.get_type())
        space = oid.get_space()
        null = space.get_simple_extent_type() == h5s.NULL
        shape = None if null else tuple(int(n) for n in space.get_simple_extent_dims())
        limits = () if null else space.get_simple_extent_dims(True)
        maximum = tuple(None if n == h5s.UNLIMITED else int(n) for n in limits)
        rank = len(shape or ()) + len(plan.inner)
        if rank > _MAX_RANK:
            plan.refused = f"{rank} axes (at most {_MAX_RANK} are supported)"
        if plan.refused:
            self.notes.append(Note(path, "unsupported", plan.refused))
        # Use the library's own name if it may differ: the target of a link, or a Latin-1 name.
        inside = path if source == self.source and path.isascii() else h5i.get_name(oid) or b""
        self.datasets.append(RawDataset(path, inside, oid, source, ident, plan, shape, maximum, values))

    def _home(self, fid: Any) -> tuple[str, Identity]:
        """Return the file that contains an object, which differs behind an external link."""
        if is_remote(self.source):
            return self.source, self.identity
        name = os.fsdecode(h5f.get_name(fid))
        if name not in self.files:
            self.files[name] = self.identity if name == self.source else identity(name)
        return name, self.files[name]

    def _lost(self, path: str, lost: dict[str, str]) -> None:
        for name, why in lost.items():
            self.notes.append(Note(path, "attribute", f"attribute {name} was left out: {why}"))
