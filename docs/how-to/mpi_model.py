"""A parallel model: mpiexec -n 4 python mpi_model.py run.icecore.

Each rank writes its rows of a step to the store; rank 0 commits the step.
"""

import sys

import icecore
import numpy as np
from mpi4py import MPI

STEPS, ROWS, COLUMNS = 3, 10, 30
comm = MPI.COMM_WORLD


def field(step: int) -> np.ndarray:
    """Return this rank's rows of a step."""
    return np.full((1, ROWS, COLUMNS), 100 * step + comm.rank, "f4")


repo = writer = None
if comm.rank == 0:
    repo = icecore.create(sys.argv[1])
    writer = repo.writer("parallel model")
    chunk = (1, ROWS, COLUMNS)
    shape = (0, ROWS * comm.size, COLUMNS)
    t = writer.array("/t", "f4", shape, ("time", "y", "x"), chunks=chunk, shards=chunk, codec="zstd")

for step in range(STEPS):
    if writer is not None:
        t.resize((step + 1, *shape[1:]))
    parts = comm.bcast(writer.parts() if writer is not None else None)
    part = parts.open()
    part.write("/t", (step, ROWS * comm.rank, 0), field(step))
    written = comm.gather(part.close())
    if writer is not None:
        writer.merge(written)
        writer.commit(f"step {step}")
