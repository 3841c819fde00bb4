"""The field of the PStore benches: (240, 35, 138, 195) float32, 904 MB.

Smooth, with noise in all bits of the mantissa, as a model writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fields
import numpy as np
from data import built, folder

VERSION = "1"
DIMS = ("time", "z", "y", "x")


def slab(first: int) -> np.ndarray:
    """Sixteen time steps from ``first`` on, float32, as a model writes them: nothing is rounded."""
    return fields.waves(first, 13, 0.1)


def slabs(quick: bool) -> Iterator[np.ndarray]:
    """All of the field, slab by slab."""
    return (slab(first) for first in range(0, fields.shape(quick)[0], fields.SHARD[0]))


def repository(quick: bool, name: str, **options: Any) -> str:
    """The path of a repository with the field at ``/field``, written with ``options`` of ``writer.array``.

    Made anew for each build of icecore.
    """
    import icecore
    import icecore._icecore as engine

    def write(path: Path) -> dict[str, Any]:
        with icecore.create(path).writer(message="field") as writer:
            array = writer.array(
                "/field", dtype="f4", shape=(0, *fields.SHARD[1:]), dims=DIMS, shards=fields.SHARD, **options
            )
            for part in slabs(quick):
                array.append(part)
        return {}

    here = folder(quick) / "pstore"
    here.mkdir(exist_ok=True)
    stamp = f"{VERSION} {options} {Path(engine.__file__).stat().st_mtime_ns}"
    built(here / name, stamp, write)
    return str(here / name)
