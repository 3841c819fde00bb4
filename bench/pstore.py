"""PStore's Table 1 and Figures 1 to 10, as tables and figures: `python bench/pstore.py [FILE] [-o DIR]`.

What `icecore bench pstore` does, and without arguments on the regional model's file of ../shared/data, where
it exists. The goals beside other projects are `python bench/run.py pstore`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from icecore.cli import main

REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "climate" / "mercator_sample.nc"

if __name__ == "__main__":
    given = sys.argv[1:] or [str(path) for path in (REAL,) if path.is_file()]
    sys.argv[1:] = ["bench", "pstore", *given]
    main()
