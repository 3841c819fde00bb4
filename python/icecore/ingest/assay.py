"""``icecore.assay``: every compression candidate on samples of a source's arrays."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, prod
from pathlib import Path

from icecore import errors
from icecore.analyzer import choose_codec, file_compressors, lossy_peers, peer_codecs
from icecore.analyzer.assay_result import ArrayAssay, Assay
from icecore.analyzer.extrapolate import Spread
from icecore.analyzer.measure import KEPT, Goal, Measurement, measure
from icecore.analyzer.sample import Kind, Sample, take, within
from icecore.codecs import rounding
from icecore.display.progress import ProgressCall
from icecore.display.progress_bar import reported
from icecore.display.text import label
from icecore.ingest.options import AssayOptions
from icecore.ingest.plan import bounded_loss
from icecore.ingest.plan.repository_source import is_repository, stored_entry
from icecore.ingest.plan.resolve_sources import gather
from icecore.ingest.write.linked_read import linked_readers
from icecore.layout import layout
from icecore.options import accepts
from icecore.repository import address, zarr_dtypes
from icecore.repository.array import Array
from icecore.repository.nodes import dtype_label
from icecore.sources.failure import Failure
from icecore.sources.mapping.array_map import ArrayEntry, Reader

#: arrays below this size (bytes) may be measured on parts of chunks; number of those parts; largest fraction
#: of the array that they may cover together
_SHORT, _PARTS, _SHARE = 16 << 20, 3, 1 / 8
#: estimated seconds per byte for all candidates; factors by which a short and a long array may exceed the
#: time limit so that whole chunks are measured
_SECONDS_A_BYTE, _LONGER, _MUCH_LONGER = 6e-6, 3.0, 24.0
#: by default the largest arrays are measured: at most this many, with at least this many seconds for each
_LARGEST, _LEAST = 8, 1.0
#: reasons for a file without arrays: it was deleted, or its arrays have unsupported dtypes
_TOLD = ("source-missing", "io", "source-changed", "dtype")
#: fraction of the time for measuring all candidates; smallest fraction for the chosen codecs on more chunks
_MEASURING, _CHOSEN = 0.5, 0.3
_NOTES = (
    "write, read: MB (10^6 bytes) of raw data a second, CPU time of one core; two codecs at most run at once",
    "*: no other codec is better in both ratio and read; ~: skipped early, estimated from the nearest one",
    "ratios: of the sample, times what a quick codec reaches on up to 48 MiB over what it does on the sample",
    "LZO is not among the codecs (its licence is the GPL): lz4 stands where it would",
)


@accepts(AssayOptions)
def assay(options: AssayOptions) -> Assay:
    """Measure all candidate codecs on samples of a source and choose one for each goal.

    Samples and choices are the same as in :func:`icecore.pack`: whole chunks spread over the array, of the
    planned shape, or of the array's own shape if the source is a repository; parts of chunks if time is
    short. Each candidate must reproduce every bit. A file without arrays is compressed with the programs that
    are installed (gzip, xz, zstd, …).

    Returns:
        The measurements; ``str()`` returns a table.

    Raises:
        Error: ``source-missing``, ``format``; ``not-found`` for an unknown array; ``invalid`` if ``seconds``
            is negative or not finite.

    Example:
        >>> import icecore, numpy as np
        >>> np.save("t2m.npy", np.arange(100_000, dtype="f4"))
        >>> found = icecore.assay("t2m.npy", seconds=1)
        >>> sorted(found.arrays[0].choices)
        ['archive', 'balanced', 'speed']
    """
    if not 0 <= options.seconds < inf:
        raise errors.make("invalid", f"{options.seconds} seconds for measuring", "0 or more, for example 12")
    rules = _rules(options.loss)
    with reported(options.progress, "assay") as call:
        return _measured(options, rules, call)


def _rules(loss: str | None) -> rounding.Rules | None:
    if loss is None:
        return None
    rules, codec = rounding.split(loss)
    if rules is None or codec != "auto":
        hint = "for example round(abs=0.01), without a codec behind it"
        raise errors.make("codec", f"{loss!r:.80} is not a rule of rounding", hint)
    return rules


def _measured(options: AssayOptions, rules: rounding.Rules | None, progress: ProgressCall | None) -> Assay:
    began = time.perf_counter()
    source, array, seconds = options.source, options.array, options.seconds
    goals = [Goal.of("archive"), Goal.of("balanced", options.bandwidth), Goal.of("speed")]
    if isinstance(source, Array):
        name, own, notes = f"{source.repo.url}:{source.path}", True, list[str]()
        failures: list[Failure] = []
        chosen = [stored_entry(source, source.path)]
    else:
        name = address.named(source)
        own = is_repository(name)
        entries, failures = _entries(name, options.storage, array is not None)
        if not entries and array is None and Path(name).is_file():
            found = file_compressors.assay(Path(name), progress)
            return Assay(name, files=[found], seconds=time.perf_counter() - began)
        chosen, notes = _chosen(entries, array, name, seconds)
    total = sum(entry.nbytes for entry in chosen)
    done, arrays = 0, []
    for entry, read in zip(chosen, linked_readers(chosen), strict=True):
        if progress is not None:
            progress(entry.path, done, total)
        share = seconds * entry.nbytes / max(total, 1)
        rule = _rule(rules, entry)
        rounded = bounded_loss.rounded(replace(entry, rounding=rule), read) if rule is not None else read
        figures = _array(entry, rounded, goals, own, options.portable, share)
        if rule is not None:
            figures = _beside(figures, entry, read, rule, options.portable)
        arrays.append(figures)
        done += entry.nbytes
    if progress is not None:
        progress(name, done, total)
    notes = [*notes, *_NOTES, *peer_codecs.notes(), *(lossy_peers.notes() if rules is not None else ())]
    return Assay(name, arrays, [], notes, time.perf_counter() - began, failures)


def _entries(
    name: str, storage: Mapping[str, str] | None, wanted: bool
) -> tuple[list[ArrayEntry], list[Failure]]:
    """Return the arrays of a source and the failures of the parts that could not be read.

    A file of another kind has no arrays; this is an error if arrays are ``wanted``.
    """
    sources = gather(name, repositories=True, storage=dict(storage or {}), tables=True)
    indexed, failures = sources.indexed, sources.failures
    entries = [entry for source in indexed for entry in source.arrays.arrays.values()]
    for failure in [] if entries else failures:
        if wanted or not Path(name).is_file() or failure.kind in _TOLD:
            told = failure.message if name in failure.message else f"{name}: {failure.message}"
            raise errors.make(failure.kind, told, failure.hint)
    return entries, failures if entries else []


def _chosen(
    entries: Sequence[ArrayEntry], wanted: str | Sequence[str] | None, name: str, seconds: float
) -> tuple[list[ArrayEntry], list[str]]:
    """Return the arrays to measure, and notes on the arrays that are left out."""
    if wanted is not None:
        paths = [wanted] if isinstance(wanted, str) else list(wanted)
        known = {entry.path: entry for entry in entries}
        # REPO:/group/array names the array directly.
        missing = [path for path in paths if "/" + path.strip("/") not in known]
        if missing:
            hint = "it has " + ", ".join(sorted(known)[:8]) + (", …" if len(known) > 8 else "")
            raise errors.make("not-found", f"{name} has no array {', '.join(map(label, missing))}", hint)
        return [known["/" + path.strip("/")] for path in paths], []
    if not entries:
        raise errors.make("not-found", f"{name} has no arrays", "see `icecore ls`")
    ordered = sorted(entries, key=lambda entry: -entry.nbytes)
    most = min(_LARGEST, max(int(seconds / _LEAST), 1))
    chosen = [e for e in ordered[:most] if e.nbytes >= KEPT] or ordered[:1]
    rest = sum(entry.nbytes for entry in ordered[len(chosen) :])
    if len(chosen) == len(ordered):
        return chosen, []
    left = (
        f"{len(ordered) - len(chosen):,} smaller arrays ({rest:,} bytes) are not measured: --array names one"
        + (", and with more --seconds there are more" if most < _LARGEST else "")
    )
    return chosen, [left]


def _array(
    entry: ArrayEntry, read: Reader, goals: Sequence[Goal], own: bool, portable: bool, seconds: float
) -> ArrayAssay:
    began = time.perf_counter()
    kind = Kind(entry.data_type, entry.dtype, entry.fill_value)
    source = entry.chunks if isinstance(entry.chunks, tuple) else None
    where = layout.plan(entry.shape, zarr_dtypes.itemsize(entry.dtype), source_chunk=source)
    chunk = source if own and source else where.chunk
    alone = chunk == tuple(entry.shape) == where.chunk and where.shard is None
    sample, measured = _sample(kind, entry, chunk, read, seconds)
    longer = measured == chunk and entry.nbytes < _SHORT
    limit = min(choose_codec.ARCHIVE_SECONDS, seconds * _LONGER) if longer else seconds * _MEASURING
    found = measure(
        kind, sample, goals, portable=portable, seconds=limit, report=True, alone=alone and measured == chunk
    )
    if entry.nbytes >= KEPT:
        found = _as_packed(entry, read, kind, chunk, goals, portable, found)
    found = Measurement(found.candidates + ([] if portable else peer_codecs.measure(sample)), found.choices)
    spread = Spread(kind, entry.shape, chunk, read)
    found = spread.widened(sample, found, max(began + seconds - time.perf_counter(), seconds * _CHOSEN))
    return ArrayAssay(
        entry.path,
        entry.shape,
        dtype_label(entry.data_type),
        entry.nbytes,
        measured,
        sample.chunks,
        sample.of,
        sample.nbytes,
        sorted(found.candidates, key=lambda candidate: -candidate.ratio),
        found.choices,
        time.perf_counter() - began,
    )


def _rule(rules: rounding.Rules | None, entry: ArrayEntry) -> rounding.Rounding | None:
    if rules is None or entry.dtype.kind != "f":
        return None
    return rules.named(entry.path) or rules.rest


def _beside(
    found: ArrayAssay, entry: ArrayEntry, read: Reader, rule: rounding.Rounding, portable: bool
) -> ArrayAssay:
    """Return the measurements of a rounded array, with those of the lossy peers on its exact values."""
    if portable or rule.kind != "abs":
        return found
    kind = Kind(entry.data_type, entry.dtype, entry.fill_value)
    size = prod(found.chunk) * zarr_dtypes.itemsize(entry.dtype)
    exact = take(kind, entry.shape, found.chunk, read, size, 3 * size, entry.sparse())
    peers = lossy_peers.measure(exact, rule.value)
    return replace(found, candidates=sorted([*found.candidates, *peers], key=lambda each: -each.ratio))


def _as_packed(
    entry: ArrayEntry,
    read: Reader,
    kind: Kind,
    chunk: tuple[int, ...],
    goals: Sequence[Goal],
    portable: bool,
    found: Measurement,
) -> Measurement:
    """Return the measurement with the choices that a pack would make.

    The choice for ``archive`` comes from ``found``; the others come from the short measurement of a pack.
    """
    choices = dict(found.choices)
    of = choose_codec.Subject(kind, entry.shape, chunk, read, portable, held=entry.sparse())
    for goal in goals:
        if goal.name in choices and goal.name != "archive":
            choice = choose_codec.chosen(of, goal).choice
            if choice is not None:
                choices[goal.name] = replace(choice, blocks=0)
    picked = {name: choice.label.split(" | ") for name, choice in choices.items()}
    candidates = [
        replace(c, chosen_for=tuple(name for name, labels in picked.items() if c.label in labels))
        for c in found.candidates
    ]
    return Measurement(candidates, choices)


def _sample(
    kind: Kind, entry: ArrayEntry, chunk: tuple[int, ...], read: Reader, seconds: float
) -> tuple[Sample, tuple[int, ...]]:
    """Return the sample to measure and the shape of its blocks.

    The sample is the one that a pack for ``archive`` measures. If whole chunks would take far too long, it
    consists of parts of chunks that fit the time limit; at least three blocks are always measured.
    """
    size = zarr_dtypes.itemsize(kind.dtype)
    few = min(_PARTS * prod(chunk) * size, entry.nbytes)
    longer = seconds * (_LONGER if entry.nbytes < _SHORT else _MUCH_LONGER)
    if not chunk or few * _SECONDS_A_BYTE <= longer:
        of = choose_codec.Subject(kind, entry.shape, chunk, read, held=entry.sparse())
        return choose_codec.chunks(of, entry.nbytes, True), chunk
    affordable = min(int(longer / _SECONDS_A_BYTE), int(entry.nbytes * _SHARE))
    share = max(affordable, 2 * KEPT)
    part = within(chunk, size, share // _PARTS)
    return take(kind, entry.shape, part, read, share, share), part
