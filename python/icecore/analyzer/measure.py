"""Codecs measured on a sample, and the choice for each goal: figures as plain values."""

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
#: of codecs, the cheapest first
CLASSES = ("fast", "usual", "slow")
#: bytes a second that ``balanced`` assumes between the store and the reader
BANDWIDTH = 200e6
#: bytes of a chunk's entry in a shard's index
_ENTRY = 16
#: bytes of an array from which on figures are kept with it: below, they would be a good part of what is
#: stored, and measuring costs more than it saves
KEPT = 64 << 10
#: up to so many bytes a chunk that is all of its array does without a checksum of its own: up to twice as
#: many it lies in its reference, in a file that the repository checks as a whole
_BARE = 256
_CHECKSUM, _CHECKSUM_BYTES = "crc32c", 4
_CHOICE = "icecore.choice"


@dataclass(frozen=True)
class Goal:
    """What is wanted of the stored bytes.

    ``archive``: the least of them. ``speed``: the least among the fast codecs that a core decodes at
    2.5 GB/s or more and encodes at 200 MB/s; below either half the speed must save a fifth of the bytes.
    ``balanced``: the least time to data, bytes / ``bandwidth`` (bytes a second) + decoding time + a hundredth
    of the encoding time of one core (a write is taken to be good for a hundred reads); below 20 MB/s half the
    speed of writing must save a fifth of that. Costs within 5 % of the least (``speed``: 3 %) are equal,
    because times vary with what else the machine does: the least bytes of those win (``speed``: among those
    that are written within 15 % of the fastest), then the faster cost class, then the name. ``speed`` takes
    nothing that reads more slowly than the choice of ``balanced``, which is one of its candidates.
    """

    name: str = "balanced"
    bandwidth: float = BANDWIDTH

    @classmethod
    def of(cls, name: str = "balanced", bandwidth: str | float | None = None) -> Goal:
        """A goal by name, with a bandwidth such as ``"200MB/s"``.

        Raises:
            Error: ``invalid`` for another name, or no speed.
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
        """The engine's name for it."""
        return self.bandwidth if self.name == "balanced" else self.name


@dataclass(frozen=True)
class Candidate:
    """A codec chain and what was measured of it.

    Attributes:
        label: its short name.
        codecs: the Zarr v3 ``codecs`` list of a chunk; empty for a peer that is only measured.
        state: ``measured``; ``pruned`` (measured on some blocks, then left out as hopeless); ``failed``
            (refused a block,
            or did not give it back bit for bit); ``measured only`` (icecore can't store it).
        why: of a failure.
        ratio: raw bytes / stored bytes, as predicted for the whole array.
        write: MB (10⁶ bytes) of raw data encoded a second, CPU time of one core.
        read: the same for decoding.
        blocks: number of blocks it was measured on.
        frontier: whether no other is better in both ratio and read speed.
        chosen_for: goals that choose it.
        cost_class: ``fast``, ``usual`` or ``slow``: by the kind of its codecs.
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
    """The codecs that a goal chooses: one chain, or ``icecore.choice`` of several. Figures as for a
    candidate; ``cost`` is what the goal weighs, for a byte of data; ``finalists``: what it is and what costs
    nearly as much, as :func:`measure` takes them, so that :func:`confirmed` can measure them in turn.
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
    """All candidates, best ratio first, and the choice for each goal (by name); none where nothing is
    stored.
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
    """Measure codecs on a sample, on all cores; each figure is CPU time of one thread.

    Args:
        kind: of the elements.
        sample: the blocks.
        goals: what to choose for.
        effort: ``short`` (a handful), ``fast`` (those that decode near memory speed), ``usual`` (none that
            encodes at a few MB/s) or ``full``.
        portable: only codecs of core Zarr v3.
        adaptive: allow ``icecore.choice`` where the blocks disagree.
        seconds: begin no further block after this time (three at least are measured).
        report: leave out only slow candidates early, so that the others have figures from every block.
        only: measure these ({label, codecs, class}) instead.
        in_turn: measure these round after round by themselves, and keep the medians.
        bases: numbers of those of them between which ``balanced`` would choose: what reads more slowly than
            that choice is left out.
        threads: measured side by side; by default one per core, two at most, so that memory isn't what is
            measured.
        alone: the sample is all of an array that is one chunk, in no shard, and stays so.
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
        and kind.dtype.kind not in "OT",  # the list is of fixed-size chunks
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
    """The choice made again among its finalists, measured in turn and alone on all blocks of the sample.

    Args:
        kind: of the elements.
        sample: the blocks.
        choice: of a first measurement.
        seconds: begin no further round after this time.
        base: the choice of ``balanced``, for ``speed``: its finalists are candidates too.
    """
    own = list(choice.finalists)
    codecs = [item["codecs"] for item in own]
    # What balanced chooses is fast enough for speed, whatever its class.
    bases = [{**item, "class": "fast"} for item in base.finalists] if base is not None else []
    only = [*own, *(item for item in bases if item["codecs"] not in codecs)]
    places = [i for i, item in enumerate(only) if item["codecs"] in [b["codecs"] for b in bases]]
    return measure(
        kind, sample, [choice.goal], only=only, in_turn=True, bases=places, seconds=seconds, adaptive=False
    )


def _bare(choice: Choice, sample: Sample) -> Choice:
    """The choice without its checksum, where the chunk will lie in its reference; :func:`is_bare` knows it
    again by its record.
    """
    stored = sum(sample.raw) / choice.ratio
    wanted = choice.goal.name == "archive" and stored <= _BARE and sum(sample.raw) >= KEPT
    if not wanted or len(choice.codecs) < 2 or choice.codecs[-1].get("name") != _CHECKSUM:
        return choice
    ratio = sum(sample.raw) / (stored - _CHECKSUM_BYTES)
    return replace(choice, codecs=choice.codecs[:-1], ratio=ratio)


def is_bare(codecs: Sequence[Codec], record: object) -> bool:
    """Is what an array is stored with a choice without a checksum?"""
    chosen = isinstance(record, Mapping) and record.get("goal") == "archive"
    return chosen and len(codecs) > 0 and codecs[-1].get("name") not in (_CHECKSUM, _CHOICE)


def checked(codecs: Sequence[Codec]) -> list[Codec]:
    """The codecs with a checksum at the end."""
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
    """A choice and its rivals, as :func:`measure` takes them."""
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
            # What it would reach on all blocks, had it kept its place beside the one that was nearest to it.
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
    """Raw bytes / stored bytes, empty chunks and the shard's index (``entry`` bytes a chunk) counted;
    ``stored`` is of the first blocks.
    """
    if not blocks:
        return 0.0
    # Empty chunks take part in proportion to the measured share of the blocks that were read.
    share = blocks / len(sample.blocks)
    raw = sum(sample.raw[:blocks]) + sample.empty * share
    return raw / (stored + entry * sample.chunks * share)
