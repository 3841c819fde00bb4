"""Each verb over arrays and a table of three times ``--memory``, in a process limited to 512 MB more.

It is done, or refused at once with the size.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import icecore
import numpy as np
import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA counts mappings on Linux"),
]
MEMORY = 64 << 20
ROOM = 512 << 20
ROWS = 3 * MEMORY // 16

#: verbs with their arguments; HOME is the directory with the data
VERBS = {
    "pack an array": "pack HOME/line.npy --into HOME/p.icecore --memory 64MB",
    "pack a cube": "pack HOME/cube.npy --into HOME/p.icecore --memory 64MB",
    "repack": "pack HOME/r.icecore:/data --into HOME/p.icecore --memory 64MB --codec zstd:9",
    "link": "link HOME/line.npy --into HOME/p.icecore",
    "read to NumPy": "read HOME/r.icecore /data/cube -o HOME/o.npy",
    "read to HDF5": "read HOME/r.icecore /data/cube -o HOME/o.h5",
    "read to NetCDF": "read HOME/r.icecore /data/cube -o HOME/o.nc",
    "print": "read HOME/r.icecore /data/line",
    "read a part": "read HOME/r.icecore /data/cube 0:2,0:2,0:2",
    "query": "query HOME/r.icecore /table --where 'b>0.999' -o HOME/o.parquet",
    "query everything": "query HOME/r.icecore /table -o HOME/o.parquet",
    "reduce": "query HOME/r.icecore /table --reduce 'mean:b by k'",
    "plot a line": "plot HOME/r.icecore /data/line -o HOME/o.png",
    "plot a cube": "plot HOME/r.icecore /data/cube -o HOME/o.png",
    "plot a map": "plot HOME/r.icecore /data/cube 0 -o HOME/o.png",
    "explain": "explain HOME/r.icecore /data/cube",
    "assay": "assay HOME/line.npy",
    "info": "info HOME/r.icecore /data/line",
    "verify": "verify HOME/r.icecore --deep --history",
    "diff": "diff HOME/r.icecore main main",
    "clone": "clone HOME/r.icecore HOME/c.icecore",
    "stats": "run stats HOME/r.icecore -p table=/table",
    "histogram": "run histogram HOME/r.icecore -p table=/table -p column=b",
}
CODE = """
import resource, shlex, sys
from icecore import cli
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
status = cli.run(shlex.split(sys.argv[2]))
sys.stdout.flush()
sys.exit(status)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A line and a cube of 3 x MEMORY as files and packed, and a table of as many bytes."""
    home = tmp_path_factory.mktemp("bounded")
    chance = np.random.default_rng(1)
    line = np.cumsum(chance.normal(size=3 * MEMORY // 8))
    np.save(home / "line.npy", line)
    cube = line.reshape(24, 1024, 1024)
    np.save(home / "cube.npy", cube)
    with icecore.create(home / "r.icecore").writer(memory=MEMORY) as w:
        w.array("/data/line", "f8", line.shape, codec="zstd")[...] = line
        w.array("/data/cube", "f8", cube.shape, codec="zstd")[...] = cube
        w.array("/table/b", "f8", (ROWS,), codec="zstd")[...] = chance.random(ROWS)
        w.array("/table/k", "i8", (ROWS,), codec="zstd")[...] = np.arange(ROWS) // 100_000
    return home


@pytest.mark.parametrize("verb", VERBS)
def test_done_or_refused_at_once(home: Path, verb: str) -> None:
    line = VERBS[verb].replace("HOME", str(home))
    for left in home.glob("[opc].*"):
        subprocess.run(["rm", "-r", left], check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [sys.executable, "-c", CODE, str(MEMORY + ROOM), line]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert done.returncode in (0, 1, 2), done.stderr[-2000:]
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    if done.returncode == 2:
        assert "error[" in done.stderr, done.stderr[-2000:]
        assert any(unit in done.stderr for unit in ("bytes", "MB", "GB", "(24, 1024, 1024)")), done.stderr
        assert seconds < 3, f"refused after {seconds:.1f} s of work: {done.stderr[-500:]}"
