"""Copies of repositories: clone, pull what is new, repair from a copy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from icecore import errors
from icecore.display import text
from icecore.display.progress import ProgressCall
from icecore.display.progress_bar import reported
from icecore.repository import address
from icecore.repository.results import _Value
from icecore.repository.storage import storage_options

#: names that a report lists one by one
_SHOWN = 10
Place = str | os.PathLike[str]


@dataclass(frozen=True)
class CopyReport(_Value):
    """What :func:`clone` or :func:`pull` copied.

    Attributes:
        source: the address of the original.
        target: the address of the copy.
        versions: number of versions that the copy did not have before.
        chunks: number of chunk objects that were copied.
        present: number of chunk objects that an interrupted run had copied already.
        bytes: size of the copied objects in bytes.
        links: number of links to other files in the new versions; they are packed or stay links.
    """

    source: str
    target: str
    versions: int
    chunks: int
    present: int
    bytes: int
    links: int

    def __str__(self) -> str:
        if not self.versions and not self.chunks:
            return f"{self.target} is up to date with {self.source}"
        parts = f"{text.plural(self.versions, 'version')}, {text.plural(self.chunks, 'chunk object')}"
        kept = f"; {text.plural(self.present, 'chunk object')} were there already" if self.present else ""
        return f"{self.source} → {self.target}: {parts}, {text.size(self.bytes)}{kept}"


@dataclass(frozen=True)
class RepairReport(_Value):
    """What :func:`repair` found and mended.

    Attributes:
        objects: number of objects that were compared with the copy's.
        bytes: size of the compared chunk objects in bytes.
        mended: names of objects that were replaced by the copy's.
        lost: names of damaged objects that the copy doesn't have, or that are damaged there too.
        undecided: names of objects that differ, and that can be decoded on both sides.
        missing_in_copy: number of objects that the copy lacks or has damaged, and that are whole here.
    """

    objects: int
    bytes: int
    mended: list[str]
    lost: list[str]
    undecided: list[str]
    missing_in_copy: int

    @property
    def is_whole(self) -> bool:
        """Whether the repository has no damaged object any more."""
        return not self.lost and not self.undecided

    def __str__(self) -> str:
        lines = []
        for what, names in (("mended", self.mended), ("lost", self.lost), ("undecided", self.undecided)):
            lines += [f"{what} {name}" for name in names[:_SHOWN]]
            if len(names) > _SHOWN:
                lines.append(f"{what} {len(names) - _SHOWN:,} more")
        size = f"{text.plural(self.objects, 'object')} compared, {text.size(self.bytes)} of chunks"
        found = f"{len(self.mended):,} mended, {len(self.lost):,} lost, {len(self.undecided):,} undecided"
        behind = f"; the copy lacks {self.missing_in_copy:,}" if self.missing_in_copy else ""
        return "\n".join([*lines, f"{size}: {found}{behind}"])


def clone(
    source: Place,
    target: Place,
    *,
    ref: str | None = None,
    group: str | None = None,
    shallow: bool = False,
    pack_links: bool = False,
    allow_links: list[str] | None = None,
    storage: Mapping[str, Any] | None = None,
    target_storage: Mapping[str, Any] | None = None,
    progress: bool | ProgressCall | None = None,
) -> CopyReport:
    """Copy a repository to another place: all versions, branches and tags, as they are stored.

    Chunks are not decoded. Checksums that the repository has are compared on the way. A run that was
    interrupted leaves no repository; the same call continues it.

    Args:
        source: the repository; ``REPO@REF`` is the same as ``ref``.
        target: a directory, bucket prefix or ``memory://NAME`` where nothing is yet.
        ref: copy only this branch, tag, version or time with its history; it becomes branch ``main``.
        group: copy only this group.
        shallow: copy the newest version of each branch, and each tag, without the histories.
        pack_links: copy the bytes of linked files instead of the links.
        allow_links: with ``pack_links``: URL prefixes or directories that linked files may be read from; by
            default those that were recorded when the files were linked.
        storage: credentials and settings of the source's store; see :func:`icecore.open`.
        target_storage: the same for the target; by default ``storage``.
        progress: true for a bar in a terminal or notebook; or a function that is called with (name, finished
            bytes, total bytes).

    Returns:
        The number of versions and objects, and their size.

    Raises:
        Error: ``exists`` if ``target`` holds anything; ``corrupt``, with the name of the object, if the
            source is damaged; ``not-found``, ``permission``, ``io``, ``network``.

    Example:
        >>> import icecore
        >>> repo = icecore.create("moon.icecore")
        >>> with repo.writer() as w:
        ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
        >>> icecore.clone("moon.icecore", "copy.icecore").versions
        2
        >>> icecore.open("copy.icecore")["/t2m"][:2].tolist()
        [1.0, 2.0]
    """
    from icecore import _icecore

    place, named = address.repository(source)
    if named is not None and ref is not None:
        raise errors.make("invalid", f"two versions are named: {named} and {ref}", "remove one")
    goal = address.location(target)
    if not address.is_url(goal) and (outer := address.around(goal)) is not None:
        message = f"{goal} is inside the repository {outer[0]}"
        raise errors.make("invalid", message, "choose a place outside of it")
    allowed = None if allow_links is None else [address.prefix(item) for item in allow_links]
    given = storage if target_storage is None else target_storage
    with reported(progress, "clone") as call:
        done = _icecore.clone_repository(
            _place(place, storage, allowed),
            _place(goal, given),
            ref or named,
            group,
            shallow,
            pack_links,
            _named("clone", call),
        )
    return CopyReport(target=goal, **done)


def pull(
    copy: Place,
    source: Place | None = None,
    *,
    storage: Mapping[str, Any] | None = None,
    source_storage: Mapping[str, Any] | None = None,
    progress: bool | ProgressCall | None = None,
) -> CopyReport:
    """Bring a copy up to date: copy what its source has since, with the options it was cloned with.

    Branches and tags become those of the source: moved, new, or deleted.

    Args:
        copy: a repository that :func:`clone` made.
        source: the original, if it has moved; by default where the copy was made from.
        storage: credentials and settings of the copy's store; see :func:`icecore.open`.
        source_storage: the same for the source; by default ``storage``.
        progress: as for :func:`clone`.

    Returns:
        The number of new versions and objects, and their size.

    Raises:
        Error: ``conflict`` if the copy has commits, branches or tags of its own; ``invalid`` if it is not a
            copy and there is no ``source``; otherwise as :func:`clone`.

    Example:
        >>> import icecore
        >>> repo = icecore.create("moon.icecore")
        >>> report = icecore.clone("moon.icecore", "copy.icecore")
        >>> with repo.writer() as w:
        ...     w.array("/t2m", "f4", (3,))[...] = [1, 2, 3]
        >>> icecore.pull("copy.icecore").versions
        1
    """
    from icecore import _icecore

    target = address.location(copy)
    given = storage if source_storage is None else source_storage
    with reported(progress, "pull") as call:
        done = _icecore.pull_repository(
            _place(target, storage),
            None if source is None else address.location(source),
            lambda url: _place(url, given),
            _named("pull", call),
        )
    return CopyReport(target=target, **done)


def repair(
    repo: Place,
    copy: Place,
    *,
    trust_copy: bool = False,
    storage: Mapping[str, Any] | None = None,
    copy_storage: Mapping[str, Any] | None = None,
    progress: bool | ProgressCall | None = None,
) -> RepairReport:
    """Replace damaged objects of a repository by those of a copy.

    Every object of all versions is compared with the copy's. Of two that differ, the damaged one is that
    with a wrong checksum, a wrong length, or chunks that can't be decoded. Intact objects are never changed.

    Args:
        repo: the repository to mend.
        copy: a copy of it, or a repository that it is a copy of.
        trust_copy: where both can be decoded (codecs without a checksum), take the copy's object. By default
            such objects are listed as ``undecided`` and left as they are.
        storage: credentials and settings of the repository's store; see :func:`icecore.open`.
        copy_storage: the same for the copy; by default ``storage``.
        progress: as for :func:`clone`.

    Returns:
        The names of the objects that were mended, of those that could not be, and of undecided ones.

    Raises:
        Error: ``conflict`` if another process holds the repository's lock; ``corrupt`` if its list of
            versions is damaged; ``not-found``, ``permission``, ``io``, ``network``.

    Example:
        >>> import icecore
        >>> repo = icecore.create("moon.icecore")
        >>> report = icecore.clone("moon.icecore", "copy.icecore")
        >>> icecore.repair("moon.icecore", "copy.icecore").mended
        []
    """
    from icecore import _icecore

    given = storage if copy_storage is None else copy_storage
    with reported(progress, "repair") as call:
        done = _icecore.repair_repository(
            _place(address.location(repo), storage),
            _place(address.location(copy), given),
            trust_copy,
            _named("repair", call),
        )
    return RepairReport(**done)


def _place(
    url: str, storage: Mapping[str, Any] | None, allow_links: list[str] | None = None
) -> tuple[str, dict[str, str], list[str] | None]:
    """A repository as the engine takes it: its address, its options, and the links that may be read."""
    place = address.location(url)
    return place, storage_options.resolve(place, storage), allow_links


def _named(name: str, call: ProgressCall | None) -> Any:
    return None if call is None else lambda done, total: call(name, done, total)
