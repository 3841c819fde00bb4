"""Change references to the files of a moved directory, without indexing the files again."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from icecore import errors
from icecore.display import text
from icecore.display.progress_bar import reported
from icecore.ingest.options import RelinkOptions
from icecore.ingest.write import write_references
from icecore.ingest.write.destination import destination
from icecore.options import accepts
from icecore.repository import address
from icecore.repository.repo import Repo
from icecore.sources.files import object_stores
from icecore.sources.files.content_check import checksum_of, is_checksum, is_whole, same_bytes
from icecore.sources.files.identity import Identity, identity, is_remote, local_path
from icecore.sources.mapping.array_map import Links
from icecore.tables.summaries.write import carry
from icecore.writing.writer import Writer

#: depth of the search for a repository below the new directory
_DEPTH = 3


@accepts(RelinkOptions)
def relink(options: RelinkOptions) -> RelinkReport:
    """Change the references of a repository to files that were moved from one directory to another.

    Each file must have the size that was recorded when it was linked, and the same modification time or the
    same content. The content is compared with the file at the old place, if it still exists, or with the
    checksum that was recorded at link time. That checksum covers files up to 1 MiB completely, and 16
    blocks of 4 KiB of larger files. All references change in one commit.

    Returns:
        A report: the files that were relinked, are missing or differ; the number of files elsewhere.

    Raises:
        Error: ``source-missing`` or ``source-changed`` for the first file that is missing or differs;
            ``not-found`` if no linked file is below ``old``, or no repository is below ``new``.

    Example:
        >>> import os, icecore, numpy as np
        >>> os.mkdir("run1")
        >>> np.save("run1/t2m.npy", np.arange(5.0))
        >>> _ = icecore.link("run1/t2m.npy", "moved.icecore", group="/")
        >>> os.rename("run1", "run2")
        >>> icecore.relink("run1", "run2", "moved.icecore").counts
        '1 file relinked, 0 missing, 0 differing, 0 unchanged'
        >>> icecore.open("moved.icecore")["/t2m"][-1]
        np.float64(4.0)
    """
    with reported(options.progress, "relink", nbytes=False) as call:
        report = run(replace(options, progress=call))
    if report.refused and report.snapshot is None and not options.dry_run:
        raise report.error()
    return report


def run(options: RelinkOptions) -> RelinkReport:
    """Relink according to ``options``; without ``keep_going`` a missing or differing file is an error."""
    began = time.perf_counter()
    repo = _repository(options)
    moved = relocation(options.old, options.new)
    linked = _linked(repo, moved)
    if not linked.found:
        raise _nothing(repo, options, linked)
    total = len(linked.found)
    files = {}
    for number, (url, recorded) in enumerate(sorted(linked.found.items()), 1):
        files[url] = check(url, moved(url) or url, recorded)
        if options.call is not None:
            options.call(files[url].new, number, total)
    report = RelinkReport(repo.url, list(files.values()), len(linked.elsewhere), dry_run=options.dry_run)
    kept = {url: file for url, file in files.items() if file.state == "relinked"}
    report.arrays = [path for path, urls in linked.arrays.items() if urls & kept.keys()]
    if kept and not options.dry_run and (options.keep_going or not report.refused):
        report.snapshot = _write(repo, report.arrays, kept, options)
    report.seconds = time.perf_counter() - began
    return report


@dataclass
class _Linked:
    """Linked files of a repository: below the old directory, elsewhere, and per array."""

    found: dict[str, Recorded | None] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)
    arrays: dict[str, set[str]] = field(default_factory=dict)


def _linked(repo: Repo, moved: Callable[[str], str | None]) -> _Linked:
    linked = _Linked()
    for path, node in repo._nodes.items():
        if not node.is_array:
            continue
        for url, recorded in repo._native.array(path).links()[0]:
            if moved(url) is None:
                linked.elsewhere.add(url)
            else:
                linked.found[url] = recorded
                linked.arrays.setdefault(path, set()).add(url)
    return linked


def _write(
    repo: Repo, paths: list[str], files: Mapping[str, MovedFile], options: RelinkOptions
) -> str | None:
    message = options.message or f"relink {os.fspath(options.old)} {os.fspath(options.new)}"
    with repo.writer(message) as writer:
        before = writer.base()
        write_references.allow_urls(writer, [file.new for file in files.values()])
        for path in paths:
            _relink(writer, before, path, files)
        carry(writer, before, paths)
    return writer.snapshot_id


def _relink(writer: Writer, before: Repo, path: str, files: Mapping[str, MovedFile]) -> None:
    """Change the references of one array to moved files; other references are kept."""
    known, ids, chunks, offsets, lengths = before._native.array(path).links()
    moved = [number for number, (url, _) in enumerate(known) if url in files]
    rows = np.isin(ids, moved)
    numbers = np.searchsorted(moved, ids[rows]).astype("u4")
    now = [files[known[number][0]].now for number in moved]
    links = Links(
        [file.url for file in now if file is not None],
        np.array([file.size for file in now if file is not None], "i8"),
        np.array([file.mtime_ns for file in now if file is not None], "i8"),
        [file.etag for file in now if file is not None],
        numbers,
        chunks[rows],
        offsets[rows],
        lengths[rows],
    )
    write_references.set_links(writer, path, links)


def _repository(options: RelinkOptions) -> Repo:
    """The repository to change: the given one, or the only one at or below the new directory."""
    into = options.into
    for place in (options.old, options.new):
        object_stores.remember(os.fspath(place), options.storage)
    if into is None:
        into = _only(options.new)
    repo = destination(into, options.storage)
    if repo is None:
        place = into.url if isinstance(into, Repo) else os.fspath(into)
        raise errors.make("not-found", f"no repository at {place}", "name the repository: --into REPO")
    return repo


def _only(new: str | os.PathLike[str]) -> Path:
    """The only repository at or below a directory."""
    hint = "name the repository: --into REPO"
    if address.is_url(os.fspath(new)):
        raise errors.make("not-found", f"repositories are not searched at {os.fspath(new)}", hint)
    top = address.local(new)
    level, found = [top], []
    for _ in range(_DEPTH + 1):
        found += [folder for folder in level if address.holds_repository(folder)]
        level = [
            below
            for folder in level
            if folder.is_dir() and not address.holds_repository(folder)
            for below in sorted(folder.iterdir())
            if below.is_dir()
        ]
    if not found:
        raise errors.make("not-found", f"no repository in {top}", hint)
    if len(found) > 1:
        names = ", ".join(str(folder) for folder in found[:3]) + (" …" if len(found) > 3 else "")
        raise errors.make("invalid", f"{top} has {len(found)} repositories: {names}", hint)
    return found[0]


def _nothing(repo: Repo, options: RelinkOptions, linked: _Linked) -> errors.Error:
    folders = sorted({url.rsplit("/", 1)[0] for url in linked.elsewhere})
    hint = "this repository has no linked files"
    if folders:
        hint = f"its linked files are in {', '.join(folders[:3])}" + (" …" if len(folders) > 3 else "")
    return errors.make("not-found", f"{repo.url} links no file in {os.fspath(options.old)}", hint)


# Linked files below a moved directory: find each new location and check that it is the same file.

#: recorded identity of a linked file: size (bytes), modification time (ns, -1: unknown), ETag
Recorded = tuple[int, int, str | None]


@dataclass(frozen=True)
class MovedFile:
    """A linked file below the old directory.

    Attributes:
        old: its recorded URL.
        new: its URL below the new directory.
        state: ``relinked``, ``missing`` or ``differing``.
        why: evidence that it is the same file, or what differs.
        now: its identity at the new location; None if it is missing.
    """

    old: str
    new: str
    state: str
    why: str
    now: Identity | None = None

    def as_dict(self) -> dict[str, Any]:
        """The file as plain values."""
        found = asdict(self)
        del found["now"]
        return found


def relocation(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> Callable[[str], str | None]:
    """Return a function that maps a recorded URL to its URL at the new location; None for other files.

    ``old`` and ``new`` are directories, files or URL prefixes.
    """
    start, after = (address.prefix(place).removesuffix("/") for place in (old, new))
    before = unquote(start)

    def moved(url: str) -> str | None:
        if url == start or url.startswith(start + "/"):
            return after + url[len(start) :]
        plain = unquote(url)
        if plain == before or plain.startswith(before + "/"):
            return after + quote(plain[len(before) :])
        return None

    return moved


def check(url: str, new: str, recorded: Recorded | None) -> MovedFile:
    """Compare the file at ``new`` with the recorded identity of the linked file ``url``."""
    try:
        now = identity(_place(new))
        same, why = _compare(url, new, recorded, now)
    except errors.Error as error:
        state = "missing" if error.kind == "source-missing" else "differing"
        return MovedFile(url, new, state, error.message)
    if not same:
        return MovedFile(url, new, "differing", why, now)
    etag = now.etag if is_remote(new) else checksum_of(new)
    return MovedFile(url, new, "relinked", why, Identity(now.url, now.size, now.mtime_ns, etag))


def _compare(url: str, new: str, recorded: Recorded | None, now: Identity) -> tuple[bool, str]:
    """Return whether the file is the linked one, and the evidence."""
    if recorded is None:
        return _compare_with_old(url, new, "its size and time were not recorded")
    size, mtime_ns, etag = recorded
    if now.size != size:
        return False, f"{now.size:,} bytes, expected {size:,}"
    if etag is not None and etag == now.etag:
        return True, "same ETag"
    if mtime_ns >= 0 and now.mtime_ns == mtime_ns:
        return True, "same size and modification time"
    if is_whole(etag):
        return _same(checksum_of(new) == etag, "same content")
    if _is_unchanged(url, recorded):
        return _same(same_bytes(_place(url), _place(new)), "same content as the old file")
    if is_checksum(etag):
        return _same(checksum_of(new) == etag, "same size and samples of the content")
    return False, "its modification time differs, and no checksum of its content was recorded"


def _same(same: bool, why: str) -> tuple[bool, str]:
    return (True, why) if same else (False, "same size, but the content differs")


def _compare_with_old(url: str, new: str, otherwise: str) -> tuple[bool, str]:
    try:
        return _same(same_bytes(_place(url), _place(new)), "same content as the old file")
    except errors.Error:
        return False, otherwise


def _is_unchanged(url: str, recorded: Recorded) -> bool:
    """Whether the file still exists unchanged at its old location."""
    try:
        was = identity(_place(url))
    except errors.Error:
        return False
    return was.mtime_ns >= 0 and (was.size, was.mtime_ns) == recorded[:2]


def _place(url: str) -> str:
    return url if is_remote(url) else local_path(url)


# Outcome of a ``relink``.

#: largest number of files in ``str(report)``
_SHOWN = 20


@dataclass(repr=False)
class RelinkReport:
    """The outcome of ``relink``; ``str(report)`` is a table.

    Attributes:
        repository: URL of the repository.
        files: the linked files below the old directory.
        unchanged: number of linked files outside the old directory.
        arrays: paths of the arrays with references to the relinked files.
        snapshot: id of the new version; None if nothing was committed.
        seconds: wall time.
        dry_run: whether the files were only checked.
    """

    repository: str
    files: list[MovedFile] = field(default_factory=list)
    unchanged: int = 0
    arrays: list[str] = field(default_factory=list)
    snapshot: str | None = None
    seconds: float = 0.0
    dry_run: bool = False

    @property
    def refused(self) -> list[MovedFile]:
        """The files that are missing or differ."""
        return [file for file in self.files if file.state != "relinked"]

    def of(self, state: str) -> list[MovedFile]:
        """The files with a state: ``relinked``, ``missing`` or ``differing``."""
        return [file for file in self.files if file.state == state]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for ``--json``."""
        return {
            "repository": self.repository,
            "snapshot": self.snapshot,
            "dry_run": self.dry_run,
            "seconds": round(self.seconds, 3),
            "relinked": [file.as_dict() for file in self.of("relinked")],
            "missing": [file.as_dict() for file in self.of("missing")],
            "differing": [file.as_dict() for file in self.of("differing")],
            "unchanged": self.unchanged,
            "arrays": self.arrays,
        }

    def table(self, limit: int | None = None) -> str:
        """One line for each file; missing and differing files first, then at most ``limit`` others."""
        files = self.refused + self.of("relinked")[:limit]
        cells = [[file.state, file.new, file.why] for file in files]
        table = text.table(["state", "file", "why"], cells)
        rest = len(self.files) - len(files)
        return f"{table}\n… and {text.plural(rest, 'file')} more" if rest else table

    @property
    def counts(self) -> str:
        """``3 files relinked, 1 missing, 0 differing, 2 unchanged``."""
        states = Counter(file.state for file in self.files)
        verb = "relinked" if self.snapshot is not None else "can be relinked"
        counts = [f"{text.plural(states['relinked'], 'file')} {verb}"]
        counts += [f"{states[state]:,} {state}" for state in ("missing", "differing")]
        return ", ".join([*counts, f"{self.unchanged:,} unchanged"])

    def error(self) -> errors.Error:
        """The error for files that are missing or differ."""
        first, count = self.refused[0], len(self.refused)
        kind = "source-missing" if first.state == "missing" else "source-changed"
        more = f", and {count - 1:,} more" if count > 1 else ""
        hint = "relink the others: --keep-going; link changed files again: icecore link --replace"
        return errors.make(
            kind, f"{first.new} is {first.state}: {first.why}{more}; nothing was relinked", hint
        )

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<icecore.RelinkReport {self.counts}>\n{self.table(_SHOWN)}"
