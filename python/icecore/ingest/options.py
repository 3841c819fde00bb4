"""Options of ``link`` and ``pack``: the caller's arguments, before any source is opened.

The command line imports this module for its help, so that it imports what the checks need on first use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from glob import has_magic
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.display import text
from icecore.display.progress import ProgressCall
from icecore.ingest import common_options as common
from icecore.ingest.common_options import Existing, Place, Reported
from icecore.options import option

if TYPE_CHECKING:
    from icecore.analyzer.measure import Goal
    from icecore.codecs import spec
    from icecore.codecs.rounding import Rules
    from icecore.layout.access_pattern import Pattern
    from icecore.layout.access_pattern import Spec as Access
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo
    from icecore.writing.writer import Writer

#: lengths per axis, or a mapping from dimension name to length
Shape = Sequence[int] | Mapping[str, int]


@dataclass(frozen=True)
class IngestOptions(Reported):
    """Options that ``link`` and ``pack`` share."""

    sources: Any = option(
        ...,
        "files, directories, globs, ``@list.txt``, http(s) URLs, and to pack ``REPO`` or ``REPO:/path``; or"
        " objects in memory: xarray objects, pandas and Polars data frames, Arrow tables and streams, "
        "mappings of arrays.",
        help="Files, directories, globs, @list.txt, URLs.",
        metavar="SRC...",
        kind=list,
        is_argument=True,
        is_positional=True,
    )
    into: Repo | Place = option(
        ...,
        "a repository or its location; it is created if it does not exist.",
        help="The repository; created if missing.",
        metavar="REPO",
        kind=str,
        is_positional=True,
    )
    group: str | None = option(
        None,
        "the group for the root of each source; by default a group named like the file.",
        help="Group for the source's root; default: /<file stem>.",
        metavar="/P",
        is_positional=True,
    )
    concat: str | None = option(
        None,
        "join the arrays that have this dimension along it, in the order of the sources, in one group. "
        'Several dimensions (``"lat,lon"``) place tiles by their coordinates.',
        help="Join the sources along this dimension, in the order given; lat,lon: tiles, by coordinates.",
        metavar="DIM",
        is_positional=True,
    )
    new_dim: str | None = option(
        None,
        "join the sources along a dimension that they don't have, such as members of an ensemble. "
        "Coordinates must be equal and don't get it; a scalar variable of its name becomes its coordinate.",
        help="Join the sources along a new dimension: members of an ensemble.",
        metavar="DIM",
        is_once=True,
    )
    merge: bool = option(
        False,
        "merge files of different variables into one group, after those of each variable were joined along "
        "``concat``. Coordinates that they share must be equal.",
        help="Merge files of different variables, each joined along --concat, into one group.",
        is_once=True,
    )
    append: bool = option(
        False,
        "extend existing arrays along ``concat``. :func:`icecore.link` inserts files that belong before the "
        "end, by their coordinate or time, and skips files that are linked already. If new "
        "values don't fit the dtype or format of a column of a text table, the column is written again; "
        "``notes`` list such columns.",
        help="Append to existing arrays, along --concat.",
        is_once=True,
    )
    replace: bool = option(
        False,
        "overwrite existing arrays; with ``append`` (:func:`icecore.link` only) the rows that new files also "
        "have, by their coordinate or time.",
        help="Overwrite existing arrays; with link --append only rows of the same coordinates or times.",
        is_once=True,
    )
    skip_existing: bool = option(False, "skip existing arrays.", help="Skip arrays that exist.", is_once=True)
    keep_going: bool = option(
        False,
        "skip sources and arrays that fail, and commit the others. When files are joined, a file with "
        "damaged data is skipped completely.",
        help="Skip files and arrays that fail, and commit the others.",
    )
    dry_run: bool = option(
        False,
        "write nothing; the report's ``plan`` lists what would be written, linked and copied.",
        help="Print the plan (paths, shapes, chunks, codecs) and write nothing.",
        is_once=True,
    )
    summaries: bool = option(
        False,
        "also read and summarise one-dimensional arrays: time series get trends "
        "(:mod:`icecore.ingest.write.write_trends`), other arrays zones, so that scans can skip them "
        "(:mod:`icecore.tables.summaries.write`). Packed, their chunks are planned like those of tables. "
        "Text tables with 8,192 rows or more always have summaries.",
        help="Summarize 1-D arrays: trends of time series, zones of columns.",
    )
    windows: str | Sequence[int] | None = option(
        None,
        'lengths of the windows of trends of time series: ``"1s,60s"`` or seconds, or ``"none"``. By default '
        "1, 60 and 3600 s with ``summaries``; packed channels of frame and GWOSC files have those whose "
        "samples take at least 2 KiB also without.",
        help="Windows of trends, or none; default with --summaries, and for packed channels: 1s,60s,3600s.",
        metavar="1s,60s",
    )
    allow_missing: bool = option(
        False,
        "leave out ROOT files without the named tree, and branches that not all files have.",
        help="Leave out ROOT files without the tree, and branches that some lack.",
    )
    variables: str | Iterable[str] | None = option(
        None,
        "shell patterns of the arrays to include, matched against names, or against paths if the pattern "
        "has a slash. Coordinates of their dimensions are included.",
        help="Only these arrays and their coordinates: t2m, 't*', '/gt1l/*'; may be repeated.",
        metavar="PATTERN",
        kind=list,
    )
    exclude: str | Iterable[str] | None = option(
        None,
        "shell patterns of arrays to skip.",
        help="Skip these arrays; may be repeated.",
        metavar="PATTERN",
        kind=list,
    )
    coord_tolerance: float | None = option(
        None,
        "largest accepted difference, in their units, of coordinates without the dimension ``concat``; the "
        "first file's values are used. By default they must be equal.",
        help="With --concat: accept coordinates that differ by up to T, in their units; default: 0.",
        metavar="T",
    )
    message: str | None = common.message()
    storage: Mapping[str, Any] | None = common.storage()
    durability: str | None = option(
        None,
        '``"none"`` for scratch data; see :func:`icecore.open`.',
        help="none: commits don't wait until they are on disk (scratch data); default: full.",
        metavar="full|none",
    )
    progress: bool | ProgressCall | None = common.progress("path, finished bytes, total bytes")
    client: Any = option(
        None,
        "a ``distributed.Client`` or the address of a Dask scheduler, whose workers index the files and "
        "encode the arrays. They need the credentials of stores in their own environment.",
        help="Work on the cluster of this Dask scheduler.",
        flags=("--dask",),
        metavar="ADDRESS",
        kind=str,
        is_once=True,
    )

    below: str | None = option(None, "without ``group``: the parent of the groups named like the files.")

    @property
    def joined(self) -> str | None:
        """The dimension along which sources are joined."""
        return self.new_dim if self.concat is None else self.concat

    @property
    def existing(self) -> Existing:
        """The action for arrays that already exist."""
        over = self.append and self.replace
        return Existing(self.append, self.replace and not over, self.skip_existing, over)

    @property
    def of_formats(self) -> dict[str, Any]:
        """Options that are passed to the format modules."""
        from icecore.ingest.plan.select_variables import Selection

        chosen = Selection.of(self.variables, self.exclude)
        wanted = {} if chosen is None else {"wanted": chosen.names}
        return {**wanted, "allow_missing": True} if self.allow_missing else wanted

    def check(self) -> None:
        """Reject contradictory options.

        Raises:
            Error: ``invalid``.
        """
        from icecore.sources.mapping import consistency
        from icecore.timeseries.window_sums import parse_windows

        self.existing.check(self.joined)
        if self.concat is not None and self.new_dim is not None:
            message = "concat and new_dim exclude each other"
            raise errors.make("invalid", message, "join first, then link the joined arrays along the new one")
        if self.concat is not None and "," in self.concat and self.append:
            message = f"append needs one dimension (got {self.concat})"
            raise errors.make("invalid", message, "link all tiles again: --replace")
        one = isinstance(self.sources, (str, os.PathLike)) and not has_magic(os.fspath(self.sources))
        is_compared = self.joined is not None or self.merge or self.skip_existing or self.replace or not one
        consistency.check(self.coord_tolerance, is_compared)
        parse_windows(self.windows)


@dataclass(frozen=True)
class LinkOptions(IngestOptions):
    """Arguments of :func:`icecore.link`."""

    allow_links: Sequence[str] | None = option(
        None,
        "URL prefixes or directories that this repository may read linked files from; by default the "
        "directories of the files.",
        help=common.ALLOW_LINKS,
        metavar="PREFIX",
        kind=list,
    )
    commit_every: int | None = option(
        None,
        "number of files per commit; by default all files are in one. Files that an earlier run committed "
        "are skipped, so that a run that was interrupted can be repeated. With ``concat`` later files are "
        "appended. ``progress`` is called with numbers of files.",
        help="Commit every N files; a second run skips committed files.",
        metavar="N",
        is_once=True,
    )
    deep: bool = option(
        False,
        "also read what is linked, and verify the checksums that the files state for it (vectors of frame "
        "files); ``pack`` always does.",
        help="Also verify the checksums that the files state (frame files).",
    )


#: goal for reads of single elements: small pages, not measured
RANDOM = "random"


@dataclass(frozen=True)
class PackOptions(IngestOptions):
    """Arguments of :func:`icecore.pack`."""

    chunk: Shape | None = option(
        None,
        "shape of the unit of decoding (for arrays of as many axes), or dimension name → length. Planned by "
        "default.",
        help='Unit of decoding: "16,64,64" or "time=16,lat=64"; default: planned.',
        metavar="SHAPE",
        kind=str,
    )
    shard: Shape | None = option(
        None,
        "the same for the unit of I/O.",
        help="Unit of I/O, a multiple of the chunk; default: planned.",
        metavar="SHAPE",
        kind=str,
    )
    codec: spec.Spec = option(
        "auto",
        "``auto`` measures codecs on samples of each array and chooses one for the goal; for other values "
        "see :func:`icecore.codecs.spec.resolve`. ``round(rel=1e-3)`` or ``round(abs=0.01)+zstd`` rounds "
        "floats first, within that bound; see :mod:`icecore.codecs.rounding`.",
        help="auto (measured), default (by dtype), planes (reads with reduced precision), none, gzip, zlib, "
        "zstd, lz4, bz2, lzma, blosc, shuffle+NAME, NAME:LEVEL, or JSON; 'round(rel=1e-3)+NAME' rounds.",
        metavar="NAME",
        kind=str,
    )
    goal: str = option(
        "balanced",
        "the goal of ``auto``: ``archive`` (smallest), ``speed`` (fastest decoding), ``random`` (single "
        "elements without the rest of their chunk: small pages, not measured) or ``balanced`` (least time "
        "from store to data); see :class:`icecore.analyzer.measure.Goal`.",
        help="Goal of auto: archive (smallest), balanced (least time from store to data), speed (fastest "
        "decoding) or random (single entries without the rest of their chunk).",
        flags=("--for",),
        metavar="GOAL",
    )
    bandwidth: str | float | None = common.bandwidth("--for balanced")
    portable: bool = common.portable()
    access: Access | None = option(
        None,
        'expected reads, for planning chunks: ``"time=1,y=all,x=all:0.7; time=all,y=1,x=1:0.3"`` (lengths by '
        "dimension name or position, with probabilities), or a list of (lengths, probability). See "
        ":mod:`icecore.layout.access_pattern`.",
        help='Expected reads: "time=1,y=all,x=all:0.7; time=all,y=1,x=1:0.3".',
        metavar="READS",
        kind=str,
    )
    measure: bool = option(
        False,
        "measure the best layouts for ``access`` in memory and use the fastest. For an array that ``grows``, "
        "the existing data is used repeatedly.",
        help="Measure the best layouts for --access and use the fastest.",
    )
    memory: int | str = option(
        "1GB",
        'largest amount of data in memory, in bytes or as ``"500MB"``; at least one shard.',
        help="Largest amount of data in memory.",
        metavar="SIZE",
        kind=str,
    )
    restore: bool = option(
        True,
        "keep the information that :func:`icecore.tables.text.restore.restore` needs to reproduce text "
        "tables byte for byte.",
        help="Keep only the values of text tables, not their print format.",
    )
    trust: str | None = option(
        None,
        '``"data"``: use the record length of the text file, not that of its label.',
        help="data: trust the text if the label's record length is wrong.",
        metavar="data",
    )
    header: bool | None = option(
        None,
        "whether the first line of delimited text without a label is a header. By default it is inferred "
        "from the cells, and ``notes`` report doubtful cases.",
        help="Whether the first line of a CSV is a header; default: inferred from its cells.",
        flags=("--header/--no-header",),
    )
    units: bool | None = option(
        None,
        "whether the line below the names holds units or types. By default it does if its cells are known "
        "units or types; ``notes`` report it.",
        help="Whether units or types stand below the names of a CSV; default: if they are known.",
        flags=("--units/--no-units",),
    )
    grows: str | None = option(
        None,
        "the dimension along which data will be appended later; chunks are planned for commits of one "
        "source or more.",
    )
    then: Callable[[Writer], None] | None = option(
        None, "called with the writer after all arrays are written, to add to the same commit."
    )

    @property
    def codec_goal(self) -> Goal:
        """The goal that ``codec="auto"`` optimizes for."""
        from icecore.analyzer.measure import Goal

        return Goal.of("balanced" if self.goal == RANDOM else self.goal, self.bandwidth)

    @property
    def codec_spec(self) -> spec.Spec:
        """``codec`` without rounding; for the goal ``random``, small pages without measuring."""
        from icecore.codecs.rounding import split

        lossless = split(self.codec)[1]
        return "pages" if lossless == "auto" and self.goal == RANDOM else lossless

    @property
    def rounding(self) -> Rules | None:
        """Bounded loss that ``codec`` asks for."""
        from icecore.codecs.rounding import split

        return split(self.codec)[0]

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The expected reads, parsed from ``access``."""
        from icecore.layout.access_pattern import parse

        return parse(self.access)

    @property
    def memory_bytes(self) -> int:
        """Limit of the data in memory, in bytes."""
        return text.parse_size(self.memory)

    def check(self) -> None:
        """Reject contradictory options, and values that no source could be packed with.

        Raises:
            Error: ``invalid``, ``codec``, ``format``.
        """
        from icecore.codecs import spec
        from icecore.layout import layout
        from icecore.layout.access_pattern import EXAMPLE

        super().check()
        if self.append and self.replace:
            message = "append, replace and skip-existing exclude each other"
            raise errors.make("invalid", message, "name one of them")
        if self.measure and self.access is None:
            message = "measure compares layouts for the reads in access, which is missing"
            raise errors.make("invalid", message, f"--access {EXAMPLE}")
        _ = self.codec_goal, self.patterns
        if self.codec_spec == "pages" and self.portable:
            message = "the goal random needs the codec icecore.pages, which is not portable"
            raise errors.make("invalid", message, "remove portable, or choose another goal")
        if self.memory_bytes < 1:
            message = f"memory: at least 1 byte is needed (got {self.memory_bytes})"
            raise errors.make("invalid", message, "--memory 500MB")
        if self.trust not in (None, "data"):
            message = f"trust: 'data' or nothing (got {self.trust!r})"
            raise errors.make("invalid", message, "--trust data, or leave it out")
        spec.check(self.codec_spec, self.portable)
        layout.check(self.chunk, self.shard)


@dataclass(frozen=True)
class RelinkOptions(Reported):
    """Arguments of :func:`icecore.relink`."""

    old: Place = option(
        ...,
        "the directory, file or URL prefix before the move; it need not exist.",
        help="Directory, file or URL before the move.",
        metavar="OLD",
        kind=str,
        is_argument=True,
        is_positional=True,
    )
    new: Place = option(
        ...,
        "the same after the move.",
        help="The same after the move.",
        metavar="NEW",
        kind=str,
        is_argument=True,
        is_positional=True,
    )
    into: Repo | Place | None = option(
        None,
        "a repository or its location; by default the only one at or below ``new``.",
        help="The repository; default: the only one at or below NEW.",
        metavar="REPO",
        kind=str,
        is_positional=True,
    )
    keep_going: bool = option(
        False,
        "relink the other files if some are missing or differ.",
        help="Relink the other files if some are missing or differ.",
    )
    dry_run: bool = option(
        False, "compare the files and write nothing.", help="Compare the files and write nothing."
    )
    message: str | None = common.message()
    storage: Mapping[str, str] | None = common.storage()
    progress: bool | ProgressCall | None = common.progress("file, compared files, all files")


@dataclass(frozen=True)
class AssayOptions(Reported):
    """Arguments of :func:`icecore.assay`."""

    source: Place | Array = option(
        ...,
        "a file, a Zarr directory, an http(s) URL, ``REPO`` or ``REPO:/path``; or an open array.",
        help="A file, a Zarr directory, a URL, REPO or REPO:/path.",
        metavar="SRC",
        kind=str,
        is_argument=True,
        is_positional=True,
    )
    array: str | Sequence[str] | None = option(
        None,
        "paths of arrays to measure; by default the largest, at most eight, one per second of ``seconds``.",
        help="An array to measure; may be repeated. Default: the largest.",
        metavar="/P",
        kind=list,
        is_positional=True,
    )
    bandwidth: str | float | None = common.bandwidth("balanced")
    portable: bool = common.portable()
    loss: str | None = option(
        None,
        "a rule of rounding for floats, ``round(abs=0.01)``; ``abs`` also for zfp, SZ3, SPERR if installed",
        help="Measure floats rounded, as 'round(abs=0.01)'; with abs= also zfp, SZ3, SPERR if installed.",
        metavar="RULE",
    )
    seconds: float = option(
        12.0,
        "approximate limit of the wall time; at least three parts of chunks of each array are measured.",
        help="Approximate time limit; with less time, fewer arrays are measured separately.",
        metavar="S",
        low=0,
    )
    storage: Mapping[str, str] | None = common.storage()
    progress: bool | ProgressCall | None = common.progress("path, measured bytes, total bytes")
