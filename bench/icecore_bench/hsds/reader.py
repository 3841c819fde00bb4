"""One reader in a process of its own: python -m icecore_bench.hsds.reader KIND PLACE [ENDPOINT].

Opens a granule, walks it, reads all datasets, and prints times, bytes and a checksum as JSON.
"""

from __future__ import annotations

import json
import sys
import time
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np


def opener(kind: str, endpoint: str) -> Callable[[str], Any]:
    """Return the function that opens a granule with h5py, icecore or h5pyd; imports its modules."""
    if kind == "h5py":
        import h5py

        return partial(h5py.File, mode="r")
    if kind == "h5pyd":
        import h5pyd

        return partial(h5pyd.File, mode="r", endpoint=endpoint)
    import icecore

    return icecore.open


def datasets(group: Any) -> list[Any]:
    """Return all datasets below a group, by name."""
    if hasattr(group, "arrays"):
        return [array for _, array in sorted(group.arrays.items())]
    found = []
    for name in sorted(group):
        member = group[name]
        found += [member] if hasattr(member, "dtype") else datasets(member)
    return found


def main() -> None:
    """Read, and print."""
    kind, place, endpoint = (*sys.argv[1:], "")[:3]
    opened = opener(kind, endpoint)  # imports are not measured
    begun, cpu = time.perf_counter(), time.process_time()
    found = datasets(opened(place))
    walked = time.perf_counter() - begun
    checksum, size = 0, 0
    taken = 0.0
    for each in found:
        before = time.perf_counter()
        values = np.asarray(each[...])
        taken += time.perf_counter() - before
        size += values.nbytes
        checksum = zlib.crc32(values[:1000].tobytes(), zlib.crc32(values[-1000:].tobytes(), checksum))
    print(
        json.dumps(
            {
                "datasets": len(found),
                "open_s": walked,
                "wall_s": walked + taken,
                "cpu_s": time.process_time() - cpu,
                "bytes": size,
                "checksum": checksum,
            }
        )
    )


if __name__ == "__main__":
    main()
