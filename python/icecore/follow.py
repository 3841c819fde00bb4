"""Pack files as a model writes them: one commit a file, in the order of their names."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icecore import errors, ledger, reference
from icecore.arriving import Arrivals, Seen, look
from icecore.into import destination
from icecore.packing import pack
from icecore.report import Report
from icecore.sourcing import Failure


@dataclass(frozen=True)
class Event:
    """A file was packed (``report``), or could not be (``failure``)."""

    name: str
    report: Report | None = None
    failure: Failure | None = None

    def as_dict(self) -> dict[str, Any]:
        """The event as plain values, for a line of JSON."""
        if self.failure is not None:
            kind, message, hint = self.failure.kind, self.failure.message, self.failure.hint
            return {"event": "failed", "name": self.name, "kind": kind, "message": message, "hint": hint}
        assert self.report is not None
        report = self.report
        return {
            "event": "packed",
            "name": self.name,
            "snapshot": report.snapshot,
            "arrays": report.count("packed"),
            "bytes_raw": report.bytes_raw,
            "bytes_stored": report.bytes_stored,
            "seconds": round(report.seconds, 3),
        }


class Follower:
    """Takes the files of a folder into a repository as they are completed.

    A file is complete when its size and time of change are the same at two looks, ``poll`` seconds apart, or
    when a file of its name with ``.done`` after it lies beside it. Names that begin with a dot or end in
    ``.tmp``, ``.part`` or ``.partial`` are left alone until they are renamed. Files are taken in the order of
    their names; with ``concat`` one that is not complete holds up those after it.

    Every file is a commit of its own, which also notes its name, size and time: another Follower goes on
    where this one stopped. A file that can't be packed is named and left out, and tried again when it
    changes.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        into: str | os.PathLike[str],
        group: str | None = None,
        concat: str | None = None,
        pattern: str = "*",
        poll: float = 1.0,
        storage: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        """
        Args:
            folder: that the files appear in; those of folders below are not taken.
            into: the repository; made with the first file where there is none.
            group: where they go: with ``concat`` all of them, else each to a group of its own below. By
                default the root, with ``concat`` a group named like the folder.
            concat: the dimension to join them along.
            pattern: which names, as a shell has them: ``*.nc``.
            poll: seconds between two looks.
            storage: credentials of the repository's object store.
            options: of :func:`icecore.pack`: ``chunk``, ``codec``, ``goal``, ``memory``, ….

        Raises:
            Error: ``not-found`` where there is no folder; ``invalid``.
        """
        self._folder = Path(folder).expanduser()
        if not self._folder.is_dir():
            raise errors.make("not-found", f"{folder} is no folder", "name the folder that files appear in")
        if not poll > 0:
            raise errors.make("invalid", f"looks {poll} seconds apart", "more than 0")
        name = reference.stem(self._folder.resolve())
        self._group = reference.absolute(group if group is not None else name if concat is not None else "/")
        self._into, self._storage, self._concat = into, storage, concat
        self._pattern, self.poll = pattern, poll
        self._options = options
        self._arrivals = Arrivals()
        repo = destination(into, storage)
        self._taken = ledger.taken(repo, self._group) if repo is not None else {}
        self._refused: dict[str, Seen] = {}

    def step(self) -> Iterator[Event]:
        """Look once, and take what is complete."""
        ready, growing = self._arrivals.complete(look(self._folder, self._pattern))
        first = min((file.name for file in growing), default=None) if self._concat is not None else None
        for file in ready:
            if first is not None and file.name > first:
                return
            known = Seen(file.name, file.size, file.mtime_ns)
            if known in (self._taken.get(file.name), self._refused.get(file.name)):
                continue
            try:
                yield Event(file.name, report=self._take(known))
                self._taken[file.name] = known
                self._refused.pop(file.name, None)
            except errors.Error as error:
                self._refused[file.name] = known
                yield Event(file.name, failure=Failure.of(file.name, error))

    def run(self, until_idle: float | None = None, stop: threading.Event | None = None) -> Iterator[Event]:
        """Look again and again, until nothing was taken for ``until_idle`` seconds or ``stop`` is set."""
        stop = stop or threading.Event()
        last = time.monotonic()
        while True:
            for event in self.step():
                yield event
                last = time.monotonic()
                if stop.is_set():
                    return
            if until_idle is not None and time.monotonic() - last >= until_idle:
                return
            if stop.wait(self.poll):
                return

    def _take(self, file: Seen) -> Report:
        """Pack one file; its note goes into the same commit."""
        if file.name in self._taken:
            hint = "a taken file is not read again; write it under another name"
            raise errors.make("source-changed", f"{file.name} changed after it was taken", hint)
        append = self._concat is not None and bool(self._taken)
        if append and file.name < max(self._taken):
            message = f"{file.name} came late: {max(self._taken)} is in {self._group} already"
            raise errors.make("conflict", message, "names must sort in the order in which files come")
        group = self._group
        if self._concat is None:
            group = reference.join(group, reference.stem(file.name))
        return pack(
            self._folder / file.name,
            self._into,
            group,
            self._concat,
            append=append,
            storage=self._storage,
            message=f"pack {file.name}",
            grows=self._concat,
            then=lambda writer: ledger.take(writer, self._group, file),
            **self._options,
        )
