"""Decide whether an array is linked, copied, or partly both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from icecore.ingest.append_grid import append_grid
from icecore.ingest.placement import Step
from icecore.ingest.report import Row
from icecore.sources.mapping.stitched_array import decodes_alike

#: new parts up to this size (bytes) are copied rather than linked with chunks of different lengths
_SMALL = 64 << 10
#: codecs that icecore can encode, so that single chunks among linked ones can be copied
_WRITABLE = {
    "bytes",
    "transpose",
    "vlen-utf8",
    "vlen-bytes",
    "gzip",
    "zstd",
    "blosc",
    "crc32c",
    "sharding_indexed",
}
_WRITABLE |= {
    f"numcodecs.{name}"
    for name in ("zlib", "gzip", "zstd", "lz4", "bz2", "blosc", "shuffle", "fletcher32", "crc32c")
}


@dataclass(frozen=True)
class LinkStep:
    """One array to link or copy.

    Attributes:
        step: the array, and the stored array at its path.
        how: ``linked``; ``mixed`` (linked, with some chunks copied under the same codecs); ``copied``.
        why: the reason for a copy, or a remark on the links.
    """

    step: Step
    how: str
    why: str

    @property
    def row(self) -> Row:
        """The step as a row of the report."""
        entry = self.step.entry
        links = entry.links if self.how != "copied" else None
        chunks, nbytes = (len(links), links.nbytes) if links is not None else (0, 0)
        return Row(self.step.path, self.how, self.why, chunks, nbytes, entry.nbytes)


def link_step(step: Step) -> LinkStep:
    """Decide how one array is written."""
    entry = step.entry
    if step.whole:
        return LinkStep(step, "linked", entry.note)
    if entry.links is None:
        return LinkStep(step, "copied", entry.note or "its bytes can't be linked")
    why = _misfit(step) if step.old is not None else ""
    if why:
        return LinkStep(step, "copied", why)
    if not entry.native:
        return LinkStep(step, "linked", entry.note)
    few = f"{len(entry.native):,} of its chunks can't be linked"
    if not writable(entry.codecs):
        names = ", ".join(codec["name"] for codec in entry.codecs)
        return LinkStep(step, "copied", f"{few}, and {names} can't be written")
    return LinkStep(step, "mixed", entry.note or few)


def writable(codecs: list[dict[str, Any]]) -> bool:
    """Whether icecore can encode with these codecs."""
    return all(codec["name"] in _WRITABLE for codec in codecs)


def _misfit(step: Step) -> str:
    """Return why the new part can't be linked into the stored array's grid; empty if it can."""
    entry, old = step.entry, step.old
    assert old is not None
    if not decodes_alike(entry.codecs, old.document["codecs"]):
        return "other codecs than in the repository"
    if entry.fill_value != old.document.get("fill_value"):
        return "another fill value than in the repository"
    grid = append_grid(step)
    if isinstance(grid, str):
        return grid
    if not grid.is_regular and entry.nbytes <= _SMALL and entry.read is not None and writable(entry.codecs):
        return "small, and its chunks don't fit those in the repository"
    if grid.border is not None and not writable(entry.codecs):
        return f"begins at {step.start}, inside a chunk that can't be written again"
    return ""
