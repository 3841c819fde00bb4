"""Pack or link files as they appear, in the order of their names; one commit per poll."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.ingest.follow import ledger
from icecore.ingest.follow.ledger import Arrivals, Seen
from icecore.ingest.follow.place import place_of
from icecore.ingest.link import once as link_once
from icecore.ingest.options import LinkOptions, PackOptions
from icecore.ingest.pack import run as pack
from icecore.ingest.report import Report
from icecore.ingest.write.destination import destination
from icecore.repository import address
from icecore.repository.time_axis import KEY
from icecore.sources.failure import Failure
from icecore.sources.files import object_stores
from icecore.sources.formats import format_of

if TYPE_CHECKING:
    from icecore.writing.writer import Writer

#: number of attempts to pack a file while other followers commit
_ATTEMPTS = 10
#: most files and bytes of one commit (one file may be larger): the most work that a crash can lose
_FILES, _BYTES = 256, 256 << 20
#: number of polls that a growing file may hold up complete ones before it is reported
_PATIENCE = 10
#: number of commits after which short chunks are merged, and most bytes that are written again then
_COMMITS, _COMPACTED = 32, 64 << 20


@dataclass(frozen=True)
class Event:
    """A file was taken, failed (``failure``), or still grows while ``later`` complete files wait for it.

    For a file that was taken, ``report`` describes the commit, and ``together`` lists its files.
    """

    name: str
    report: Report | None = None
    failure: Failure | None = None
    later: int = 0
    together: tuple[str, ...] = ()

    @property
    def is_last(self) -> bool:
        """Whether this is the last event of its commit."""
        return not self.together or self.name == self.together[-1]

    def as_dict(self) -> dict[str, Any]:
        """Return the event as plain values, for one line of JSON."""
        if self.failure is not None:
            kind, message, hint = self.failure.kind, self.failure.message, self.failure.hint
            return {"event": "failed", "name": self.name, "kind": kind, "message": message, "hint": hint}
        if self.report is None:
            return {"event": "waiting", "name": self.name, "later": self.later}
        report = self.report
        return {
            "event": "linked" if report.count("linked", "mixed", "copied") else "packed",
            "name": self.name,
            "snapshot": report.snapshot,
            "files": len(self.together),
            "arrays": report.count("packed", "linked", "mixed", "copied"),
            "bytes_raw": report.bytes_raw,
            "bytes_stored": report.bytes_stored,
            "seconds": round(report.seconds, 3),
            "notes": [asdict(note) for note in report.notes],
        }


class Follower:
    """Packs or links the files of a directory, a list or a bucket as they are completed.

    A file is complete when its size and modification time are unchanged between two polls, ``poll`` seconds
    apart, or when a file with its name plus ``.done`` exists beside it; an object of a bucket is complete
    when it is listed. Names that begin with a dot or end in ``.tmp``, ``.part`` or ``.partial`` are ignored
    until they are renamed. A file that changes while it is taken is not complete; a later poll retries.
    Files are packed in the order of their names. With ``concat``, a file that is incomplete or fails holds up
    the later ones, because packed rows can only be appended. Linked rows are inserted where they belong, so
    nothing waits for a late file.

    Frame files continue the arrays of their channels, in the group that ``link`` and ``pack`` give them.

    Files that are complete at the same poll share one commit (at most 256 files or 256 MiB), because each
    commit costs time and disk space. The commit also records their names, sizes and modification times.
    Another Follower can therefore continue where this one stopped, and of several concurrent Followers only
    one packs each file. A file that fails is reported and tried again when it changes; the other files of its
    commit are then committed separately.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        into: str | os.PathLike[str],
        group: str | None = None,
        concat: str | None = None,
        pattern: str = "*",
        poll: float = 1.0,
        storage: Mapping[str, Any] | None = None,
        keep_going: bool = False,
        link: bool = False,
        compact: str | None = "auto",
        **options: Any,
    ) -> None:
        """
        Args:
            Args:
                folder: directory in which the files appear (subdirectories are ignored), a list of files
                    (``@list.txt``) that grows, or a prefix of a bucket.
                into: the repository; it is created with the first file if it does not exist.
                group: the group for the data: with ``concat`` for all files, otherwise the parent of one
                    group per file. The default is the root, or with ``concat`` a group named like the
                    directory; for frames the root.
                concat: the dimension to join the files along.
                pattern: shell pattern of the file names, such as ``*.nc``.
                poll: seconds between two polls.
                storage: credentials of the repository's object store.
                keep_going: with ``concat``, continue without a file that can't be packed; that file can't be
                    added later.
                link: link the files instead of packing them.
                compact: ``"auto"``: merge the short chunks of packed arrays after every 32 commits, at most
                    64 MiB at a time; None: never.
                options: options of :func:`icecore.pack` or :func:`icecore.link`: ``chunk``, ``codec``, ….

            Raises:
                Error: ``not-found`` if the directory does not exist; ``invalid``, ``codec`` or ``format`` for
                    options that no file could be packed with.
        """
        self._made = LinkOptions if link else PackOptions
        self._made((), into, concat=concat, **options).check()
        if compact not in (None, "auto"):
            raise errors.make("invalid", f"compact must be 'auto' or None (got {compact!r})")
        object_stores.remember(os.fspath(folder), storage)
        self._place = place_of(folder, pattern)
        if not 0 < poll <= threading.TIMEOUT_MAX:
            most = f"more than 0, and {threading.TIMEOUT_MAX:.0f} at most"
            raise errors.make("invalid", f"looks {poll} seconds apart", most)
        self._named = group
        self._group = address.absolute(
            group if group is not None else self._place.stem if concat is not None else "/"
        )
        self._into, self._storage, self._concat = into, storage, concat
        self.poll = poll
        self._options = options
        self._arrivals = Arrivals()
        self._taken: dict[str, Seen] = {}
        self._rows = 0
        self._refused: dict[str, Seen] = {}
        self._unfinished: set[str] = set()
        self._keep_going = keep_going
        #: whether rows can only be appended
        self._in_order = concat is not None and not link
        self._compacts = compact == "auto" and not link
        self._commits = 0
        self._slow = ("", 0)
        self._look_up()

    def step(self) -> Iterator[Event]:
        """Poll once and pack the complete files."""
        self._unfinished.clear()
        ready, growing = self._arrivals.complete(self._place.look())
        first = min((file.name for file in growing), default=None) if self._in_order else None
        later = [file for file in ready if first is not None and file.name > first]
        wanted = []
        for file in ready[: len(ready) - len(later)]:
            known = Seen(file.name, file.size, file.mtime_ns)
            if known not in (self._taken.get(file.name), self._refused.get(file.name)):
                wanted.append(known)
            elif self._holds_up(file.name):
                later = []
                break
        for files in self._together(wanted):
            yield from self._try(files)
            if any(self._holds_up(file.name) for file in files):
                return
        if first is not None and self._is_slow(first, bool(later)):
            yield Event(first, later=len(later))
        self._compact()

    def _try(self, files: list[Seen]) -> Iterator[Event]:
        """Yield the outcome of each file; files that another process packed are left out."""
        try:
            report, taken = self._take(files)
        except errors.Error as error:
            if len(files) == 1:
                if self._place.has_changed(files[0]):  # its writer only paused: a later poll decides
                    self._unfinished.add(files[0].name)
                else:
                    yield self._refuse(files[0], error)
                return
            middle = len(files) // 2
            for half in (files[:middle], files[middle:]):
                yield from self._try(half)
                if any(self._holds_up(file.name) for file in half):
                    return
            return
        for file in files:
            self._refused.pop(file.name, None)
        together = tuple(file.name for file in taken)
        yield from (Event(name, report=report, together=together) for name in together)

    def _refuse(self, file: Seen, error: errors.Error) -> Event:
        self._refused[file.name] = file
        failure = Failure.of(file.name, error)
        if self._holds_up(file.name):
            way_out = "later files wait for it: repair it, move it away, or go on with --keep-going"
            failure = replace(failure, hint=f"{failure.hint}; {way_out}" if failure.hint else way_out)
        return Event(file.name, failure=failure)

    def _holds_up(self, name: str) -> bool:
        """Whether later files wait for this one; not if a later file is already packed."""
        if not self._in_order or name <= max(self._taken, default=""):
            return False
        return name in self._unfinished or (name in self._refused and not self._keep_going)

    def _is_slow(self, name: str, waited_for: bool) -> bool:
        """Whether to report now that complete files wait for this one, which is still growing."""
        looks = self._slow[1] + 1 if self._slow[0] == name and waited_for else int(waited_for)
        self._slow = (name, looks)
        return looks == _PATIENCE

    def run(self, until_idle: float | None = None, stop: threading.Event | None = None) -> Iterator[Event]:
        """Poll repeatedly until no file was packed for ``until_idle`` seconds or ``stop`` is set."""
        stop = stop or threading.Event()
        last = time.monotonic()
        while True:
            for event in self.step():
                yield event
                last = time.monotonic()
                if stop.is_set() and event.is_last:
                    return
            if until_idle is not None and time.monotonic() - last >= until_idle:
                return
            if stop.wait(self.poll):
                return

    def _look_up(self) -> bool:
        """Update the list of packed files; return whether other followers packed any."""
        repo = destination(self._into, self._storage)
        rows = ledger.length(repo) if repo is not None else 0
        if repo is None or rows == self._rows:
            return False
        self._taken, self._rows = ledger.taken(repo, self._group), rows
        return True

    def _take(self, files: list[Seen]) -> tuple[Report | None, list[Seen]]:
        """Pack files in one commit; return the report and those files that no other follower had packed."""
        for attempt in range(_ATTEMPTS):
            self._look_up()
            wanted = [file for file in files if self._taken.get(file.name) != file]
            if not wanted:
                return None, []
            for file in wanted:
                self._check(file)
            try:
                report = self._pack(wanted)
            except errors.Error as error:
                is_last = attempt + 1 == _ATTEMPTS
                if is_last or not (self._look_up() or error.kind == "conflict"):
                    raise
            else:
                self._taken |= {file.name: file for file in wanted}
                self._rows += len(wanted)
                return report, wanted
        raise AssertionError

    def _check(self, file: Seen) -> None:
        if file.name in self._taken:
            hint = "a taken file is not read again; write it under another name"
            raise errors.make("source-changed", f"{file.name} changed after it was taken", hint)
        if self._in_order and file.name < max(self._taken, default=""):
            message = f"{file.name} came late: {max(self._taken)} is in {self._group} already"
            raise errors.make("conflict", message, "names must sort in the order in which files come")

    def _pack(self, files: list[Seen]) -> Report:
        """Pack files and record them in the same commit.

        Raises:
            Error: ``source-changed`` if a file changed since it was listed: the record would describe
                another state than the packed one.
        """
        known = self._rows

        def note(writer: Writer) -> None:
            for file in files:
                if self._place.has_changed(file):
                    message = f"{file.name} changed while it was packed"
                    raise errors.make("source-changed", message, "pack it when it is complete")
            ledger.take(writer, self._group, files, known)

        is_frames = self._concat is None and is_series(self._place.source(files[0]))
        concat = "time" if is_frames else self._concat
        place, group = self._into, self._group if concat is not None else None
        common: dict[str, Any] = {
            "append": concat is not None and self._has_arrays(is_frames),
            "storage": self._storage,
            "below": None if concat is not None else self._group,
            **self._options,
        }
        sources = [self._place.source(file) for file in files]
        if self._made is LinkOptions:
            report = link_once(
                LinkOptions(sources, place, group, concat, **common), lambda writer, _: note(writer)
            )
        else:
            report = pack(PackOptions(sources, place, group, concat, grows=concat, then=note, **common))
        self._commits += 1
        return report

    def _has_arrays(self, is_frames: bool) -> bool:
        """Whether files were taken before; of frames, whether there is a channel to continue."""
        if not is_frames:
            return bool(self._taken)
        repo = destination(self._into, self._storage)
        return repo is not None and any(KEY in node.attrs for node in repo._nodes.values())

    def _compact(self) -> None:
        """Merge short chunks if enough commits were made."""
        if not self._compacts or self._commits < _COMMITS:
            return
        self._commits = 0
        repo = destination(self._into, self._storage)
        with suppress(errors.Error):  # another writer changed the arrays: later
            if repo is not None and self._group in repo:
                repo.compact(self._group, timedelta(0), _COMPACTED)

    def _together(self, files: list[Seen]) -> Iterator[list[Seen]]:
        """Yield the files of each commit: frames and other files apart."""
        batch: list[Seen] = []
        kind = None
        for file in files:
            found = self._concat is None and is_series(self._place.source(file))
            is_full = len(batch) == _FILES or sum(each.size for each in batch) + file.size > _BYTES
            if batch and (is_full or found != kind):
                yield batch
                batch = []
            batch.append(file)
            kind = found
        if batch:
            yield batch


def is_series(source: str) -> bool:
    """Whether a file is a frame file, which continues the time series of its channels."""
    try:
        found = format_of(source)
    except (errors.Error, OSError):
        return False  # taking it reports the error
    return found is not None and found.module == "icecore.sources.gwf"
