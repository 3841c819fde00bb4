"""Codec measurements on a sample, and the choice for each goal, as plain values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import Any

from icecore import errors
from icecore.analyzer.sample import Kind, Sample
from icecore.codecs.spec import Codec
from icecore.display import text

GOALS = ("archive", "balanced", "speed")
#: cost classes of codecs, the cheapest first
CLASSES = ("fast", "usual", "slow")
#: bandwidth between store and reader that ``balanced`` assumes, in bytes per second
BANDWIDTH = 200e6
#: size of a chunk's entry in the index of a shard, in bytes
_ENTRY = 16
#: smallest array, in bytes, whose figures are kept in its attributes; for smaller ones the figures would take
#: a large part of the stored bytes, and measuring would cost more than it saves
KEPT = 64 << 10
#: largest encoded chunk, in bytes, that needs no checksum of its own if it is the whole array; chunks of up
#: to twice this size are stored inline in the manifest, which the repository checks as a whole
_BARE = 256
_CHECKSUM, _CHECKSUM_BYTES = "crc32c", 4
_CHOICE = "icecore.choice"


@dataclass(frozen=True)
class Goal:
    """Goal of the codec choice.

    - ``archive``: fewest stored bytes.
    - ``speed``: fewest bytes among the fast codecs that one core decodes at 2.5 GB/s or more and encodes at
      200 MB/s or more. Below either limit, half the speed must save a fifth of the bytes. The choice of
      ``balanced`` is a candidate too, and codecs that read more slowly than it are excluded.
    - ``balanced``: least time to data, which is bytes / ``bandwidth`` (bytes per second) + decoding time + a
      hundredth of the encoding time of one core (a hundred reads per write are assumed). Below 20 MB/s, half
      the encoding speed must save a fifth of that time.

    Costs within 5 % of the least (``speed``: 3 %) count as equal, because times vary with the load of the
    machine. Ties go to the fewest bytes (``speed``: among the codecs that encode within 15 % of the fastest),
    then to the faster cost class, then to the name.
    """

    name: str = "balanced"
    bandwidth: float = BANDWIDTH

    @classmethod
    def of(cls, name: str = "balanced", bandwidth: str | float | None = None) -> Goal:
        """Return a goal by its name, with a bandwidth such as ``"200MB/s"``.

        Raises:
            Error: ``invalid`` for an unknown goal or an invalid bandwidth.
        """
        if name not in GOALS:
            raise errors.make("invalid", f"goal {name!r} is not valid", " or ".join(GOALS))
        if isinstance(bandwidth, str):
            bits = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT])b(/s)?\s*", bandwidth)
            if bits is not None:
                message = f"a bandwidth of {bandwidth!r} is one of bits, and bytes a second are wanted"
                raise errors.make("invalid", message, f"write it as {float(bits[1]) / 8:g}{bits[2]}B/s")
            try:
                bandwidth = text.parse_size(bandwidth.strip().removesuffix("/s"))
            except errors.Error as error:
                message = f"a bandwidth of {bandwidth!r}: {error.message}"
                raise errors.make("invalid", message, "write it as 200MB/s") from None
        if bandwidth is not None and not 0 < float(bandwidth) < float("inf"):
            raise errors.make("invalid", f"a bandwidth of {bandwidth}", "write it as 200MB/s")
        return cls(name, BANDWIDTH if bandwidth is None else float(bandwidth))

    @property
    def native(self) -> str | float:
        """The goal as the engine expects it: its name, or the bandwidth for ``balanced``."""
        return self.bandwidth if self.name == "balanced" else self.name


@dataclass(frozen=True)
class Candidate:
    """A codec chain and its measurements.

    Attributes:
        label: short name of the chain.
        codecs: Zarr v3 ``codecs`` list of a chunk; empty for a peer codec that is only measured.
        state: ``measured``; ``pruned`` (stopped early after some blocks because it could not win); ``failed``
            (rejected a block or did not reproduce it bit for bit); ``measured only`` (icecore can't store
            it).
        why: reason of a failure.
        ratio: raw bytes / stored bytes, as predicted for the whole array.
        write: encoding speed in MB (10⁶ bytes) of raw data per second of CPU time of one core.
        read: decoding speed in the same unit.
        blocks: number of blocks on which it was measured.
        frontier: whether no other candidate is better in both ratio and read speed.
        chosen_for: names of the goals that choose it.
        cost_class: ``fast``, ``usual`` or ``slow``, by the kind of its codecs.
    """

    label: str
    codecs: list[Codec]
    state: str
    why: str
    ratio: float
    write: float
    read: float
    blocks: int
    frontier: bool = False
    chosen_for: tuple[str, ...] = ()
    cost_class: str = "usual"


@dataclass(frozen=True)
class Choice:
    """The codecs that a goal chooses: one chain, or ``icecore.choice`` of several.

    Figures are as in :class:`Candidate`. ``cost`` is the goal's cost per byte of data. ``finalists`` are the
    choice and the chains of nearly the same cost, in the form that :func:`measure` accepts, so that
    :func:`confirmed` can measure them in turn.
    """

    goal: Goal
    label: str
    codecs: list[Codec]
    ratio: float
    write: float
    read: float
    blocks: int
    cost: float = 0.0
    finalists: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Measurement:
    """All candidates, best ratio first, and the choice for each goal name. There are no choices if no chunk
    would be stored.
    """

    candidates: list[Candidate] = field(default_factory=list)
    choices: dict[str, Choice] = field(default_factory=dict)


def measure(
    kind: Kind,
    sample: Sample,
    goals: Sequence[Goal],
    *,
    effort: str = "full",
    portable: bool = False,
    adaptive: bool = True,
    seconds: float = 3600.0,
    report: bool = False,
    only: Sequence[Mapping[str, Any]] | None = None,
    in_turn: bool = False,
    bases: Sequence[int] = (),
    threads: int | None = None,
    alone: bool = False,
) -> Measurement:
    """Measure codecs on a sample, on all cores. Each figure is the CPU time of one thread.

    Args:
        kind: data type and fill value of the elements.
        sample: blocks to measure.
        goals: goals for which to choose codecs.
        effort: ``short`` (a few codecs), ``fast`` (codecs that decode near memory speed), ``usual`` (all but
            those that encode at a few MB/s) or ``full``.
        portable: only codecs of core Zarr v3.
        adaptive: allow ``icecore.choice`` if different codecs win on different blocks.
        seconds: start no further block after this wall time; at least three blocks are measured.
        report: stop only slow candidates early, so that the others have figures from every block.
        only: measure these chains ({label, codecs, class}) instead of the built-in candidates.
        in_turn: measure the chains of ``only`` one at a time in several rounds, and keep the medians.
        bases: indices into ``only`` of the chains among which ``balanced`` would choose; chains that read
            more slowly than that choice are excluded.
        threads: number of threads that measure in parallel; default one per core, at most two, so that memory
            bandwidth does not limit the speed.
        alone: whether the sample is a whole array that is and stays a single chunk outside a shard.
    """
    from icecore import _icecore

    if not sample.blocks:
        return Measurement()
    options = {
        "goals": [goal.native for goal in goals],
        "effort": effort,
        "portable": portable,
        "adaptive": adaptive
        and not portable
        and kind.dtype.kind not in "OT",  # icecore.choice supports fixed-size elements only
        "seconds": seconds,
        "report": report,
        "threads": threads,
    }
    if only is not None:
        options |= {"only": list(only), "in_turn": in_turn, "bases": list(bases), "bandwidth": BANDWIDTH}
    found = json.loads(_icecore.assay_blocks(json.dumps(kind.data_type), sample.blocks, json.dumps(options)))
    chosen = [(goal, choice) for goal, choice in zip(goals, found["choices"], strict=True) if choice]
    entry = 0 if alone else _ENTRY
    choices = _choices(found, chosen, sample, entry)
    if alone:
        choices = {name: _bare(choice, sample) for name, choice in choices.items()}
    return Measurement(_candidates(found, chosen, sample, entry), choices)


def confirmed(
    kind: Kind, sample: Sample, choice: Choice, seconds: float, base: Choice | None = None
) -> Measurement:
    """Choose again among the finalists of a choice, measured one at a time on all blocks of the sample.

    Args:
        kind: data type and fill value of the elements.
        sample: blocks to measure.
        choice: choice of a first measurement.
        seconds: start no further round after this wall time.
        base: choice of ``balanced``, if the goal is ``speed``; its finalists are candidates too.
    """
    own = list(choice.finalists)
    codecs = [item["codecs"] for item in own]
    # The choice of balanced is fast enough for speed, whatever its cost class.
    bases = [{**item, "class": "fast"} for item in base.finalists] if base is not None else []
    only = [*own, *(item for item in bases if item["codecs"] not in codecs)]
    places = [i for i, item in enumerate(only) if item["codecs"] in [b["codecs"] for b in bases]]
    return measure(
        kind, sample, [choice.goal], only=only, in_turn=True, bases=places, seconds=seconds, adaptive=False
    )


def _bare(choice: Choice, sample: Sample) -> Choice:
    """Return the choice without its checksum if the chunk will be stored inline in its reference.

    :func:`is_bare` recognizes such a choice by its record.
    """
    stored = sum(sample.raw) / choice.ratio
    wanted = choice.goal.name == "archive" and stored <= _BARE and sum(sample.raw) >= KEPT
    if not wanted or len(choice.codecs) < 2 or choice.codecs[-1].get("name") != _CHECKSUM:
        return choice
    ratio = sum(sample.raw) / (stored - _CHECKSUM_BYTES)
    return replace(choice, codecs=choice.codecs[:-1], ratio=ratio)


def is_bare(codecs: Sequence[Codec], record: object) -> bool:
    """Return whether an array's codecs are a choice without a checksum."""
    chosen = isinstance(record, Mapping) and record.get("goal") == "archive"
    return chosen and len(codecs) > 0 and codecs[-1].get("name") not in (_CHECKSUM, _CHOICE)


def checked(codecs: Sequence[Codec]) -> list[Codec]:
    """Return the codecs with a checksum appended."""
    return [*codecs, {"name": _CHECKSUM}]


def _choices(
    found: dict[str, Any], chosen: list[tuple[Goal, Any]], sample: Sample, entry: int
) -> dict[str, Choice]:
    result = {}
    for goal, item in chosen:
        blocks = max(len(m["stored"]) for m in found["measured"])
        write, read = item["raw"] / item["encode"] / 1e6, item["raw"] / item["decode"] / 1e6
        ratio = _ratio(sample, item["stored"], blocks, entry)
        result[goal.name] = Choice(
            goal,
            item["label"],
            item["codecs"],
            ratio,
            write,
            read,
            blocks,
            item["cost"],
            _finalists(found, item),
        )
    return result


def _finalists(found: dict[str, Any], item: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return a choice and its rivals in the form that :func:`measure` accepts."""
    classes = [found["measured"][i]["class"] for i in item["picks"]]
    own = {"label": item["label"], "codecs": item["codecs"], "class": max(classes, key=CLASSES.index)}
    rivals = [{k: found["measured"][i][k] for k in ("label", "codecs", "class")} for i in item["rivals"]]
    return (own, *(rival for rival in rivals if rival["codecs"] != item["codecs"]))


def _candidates(
    found: dict[str, Any], chosen: list[tuple[Goal, Any]], sample: Sample, entry: int
) -> list[Candidate]:
    measured = found["measured"]
    most = max((len(m["stored"]) for m in measured if m["state"] == "measured"), default=0)
    wholes = [m for m in measured if m["state"] == "measured" and len(m["stored"]) == most]
    result = []
    for index, m in enumerate(measured):
        blocks, stored = len(m["stored"]), sum(m["stored"])
        ratio = _ratio(sample, stored, blocks, entry)
        if 0 < blocks < most:
            # Extrapolate to all blocks with the fully measured candidate whose size on these blocks is
            # nearest.
            began = [sum(whole["stored"][:blocks]) for whole in wholes]
            near = min(range(len(wholes)), key=lambda i: abs(log(began[i] / stored)))
            ratio = _ratio(sample, sum(wholes[near]["stored"]), most, entry) * began[near] / stored
        write, read = (m["raw"] / m["encode"] / 1e6, m["raw"] / m["decode"] / 1e6) if blocks else (0.0, 0.0)
        goals = tuple(goal.name for goal, choice in chosen if index in choice["picks"])
        on = index in found["frontier"]
        result.append(
            Candidate(
                m["label"],
                m["codecs"],
                m["state"],
                m["why"],
                ratio,
                write,
                read,
                blocks,
                on,
                goals,
                m["class"],
            )
        )
    return sorted(result, key=lambda candidate: -candidate.ratio)


def _ratio(sample: Sample, stored: int, blocks: int, entry: int) -> float:
    """Return raw bytes / stored bytes, including empty chunks and the shard's index (``entry`` bytes a
    chunk).

    ``stored`` is the size of the first ``blocks`` blocks.
    """
    if not blocks:
        return 0.0
    # Empty chunks count in proportion to the measured share of the blocks.
    share = blocks / len(sample.blocks)
    raw = sum(sample.raw[:blocks]) + sample.empty * share
    return raw / (stored + entry * sample.chunks * share)
