"""Change references to the files of a moved directory, without indexing the files again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from icecore import errors
from icecore.display.progress_bar import reported
from icecore.ingest import write_references
from icecore.ingest.destination import destination
from icecore.ingest.moved_files import MovedFile, Recorded, check, relocation
from icecore.ingest.options import RelinkOptions
from icecore.ingest.relink_report import RelinkReport
from icecore.options import accepts
from icecore.repository import address
from icecore.repository.repo import Repo
from icecore.sources.files import object_stores
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
