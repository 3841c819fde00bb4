"""Classes of photons from ATL08 (ground, canopy, …) for the photons of ATL03."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from icecore import errors
from icecore.products.atl03 import Beam, Piece, Segments
from icecore.products.inputs import Source

UNCLASSIFIED = 4
_FIELDS = ("ph_segment_id", "classed_pc_indx", "classed_pc_flag")
VARIABLES = ["/gt*/signal_photons/*"]
#: time, track, cycle and region in the name of a granule: the same for ATL03 and ATL08
_GRANULE = re.compile(r"ATL\d\d_(\d{14}_\d{8})")


@dataclass(frozen=True)
class Classes:
    """Photons of a beam that ATL08 classified: segment, position in the segment (from 1), class."""

    segment: np.ndarray
    position: np.ndarray
    label: np.ndarray

    def of(self, segments: Segments, piece: Piece) -> np.ndarray:
        """Return the class of each photon of a piece, int8; 4 (unclassified) for photons that ATL08 lacks."""
        numbers, counts = segments.id[piece.start : piece.stop], segments.counts[piece.start : piece.stop]
        ends = np.cumsum(counts, dtype="i8")
        found = np.full(int(ends[-1]) if len(ends) else 0, UNCLASSIFIED, "i1")
        row = np.searchsorted(numbers, self.segment)
        row[row == len(numbers)] = 0
        is_here = (numbers[row] == self.segment) & (self.position >= 1) & (self.position <= counts[row])
        at = (ends - counts)[row] + self.position - 1
        found[at[is_here]] = self.label[is_here]
        return found


def matching(known: list[Source], granule: str, is_only: bool) -> Source:
    """Return the source of ATL08 for a granule of ATL03: by the time and track in its name, or the only one.

    Args:
        known: sources of ATL08.
        granule: name of the granule of ATL03.
        is_only: whether there is one source of ATL03.

    Raises:
        Error: ``not-found`` if there is none.
    """
    match = _GRANULE.search(granule)
    named = [each for each in known if match and match[1] in each.name]
    if named:
        return named[0]
    if len(known) == 1 and is_only:
        return known[0]
    message = f"no ATL08 granule for {granule}"
    raise errors.make("not-found", message, "name it: --param atl08=ATL08_20181014000347_02350101_006_02.h5")


def classes(source: Source, beam: Beam) -> Classes:
    """Read the classes of a beam.

    Raises:
        Error: ``not-found`` if the source lacks them.
    """
    found = [
        source.repo.get(f"{source.root.rstrip('/')}/{beam.name}/signal_photons/{name}") for name in _FIELDS
    ]
    if any(array is None for array in found):
        message = f"{source.name} lacks {beam.name}/signal_photons/{{{','.join(_FIELDS)}}}"
        raise errors.make("not-found", message, "atl08_class needs the granule of ATL08 with this beam")
    segment, position, label = source.repo.read({array.path: None for array in found}).values()
    return Classes(segment.astype("i8"), position.astype("i8"), label.astype("i1"))
