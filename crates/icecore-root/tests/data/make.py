"""Write the small ROOT files of the tests with uproot 5.7 (values are sequences; nothing is measured data)."""

from pathlib import Path

import awkward as ak
import numpy as np
import uproot
import zstandard

HERE = Path(__file__).parent

with uproot.recreate(HERE / "tree.root", compression=uproot.ZSTD(5)) as file:
    tree = file.mktree("folder/events", {"x": "f4", "m": ("i2", (2, 3)), "name": str, "jet": "var * float64"})
    for start in (0, 100):
        n = np.arange(start, start + 100)
        jet = ak.unflatten(np.arange((n % 4).sum()) / 8, n % 4)
        m = np.arange(6 * start, 6 * start + 600, dtype="i2").reshape(-1, 2, 3)
        tree.extend({"x": n.astype("f4") / 4, "m": m, "name": [f"event {i}" for i in n], "jet": jet})

with uproot.recreate(HERE / "ntuple.root", compression=uproot.ZSTD(5)) as file:
    n = np.arange(200)
    ntuple = file.mkrntuple("events", {"x": n.astype("f4") / 4, "i": n * 3 - 100, "jet": ak.unflatten(np.arange((n % 4).sum()) / 8, n % 4)})
    ntuple.extend({"x": n.astype("f4") / 4 + 50, "i": n * 3 + 500, "jet": ak.unflatten(np.arange((n % 4).sum()) / 8, n % 4)})

for path in (HERE / "tree.root", HERE / "ntuple.root"):
    packed = zstandard.ZstdCompressor(level=19).compress(path.read_bytes())
    path.with_suffix(".root.zst").write_bytes(packed)
    path.unlink()
