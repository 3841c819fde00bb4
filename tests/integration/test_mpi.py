"""The example of a parallel model, run by mpiexec."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import icecore
import numpy as np
import pytest

pytestmark = pytest.mark.integration
pytest.importorskip("mpi4py")

EXAMPLE = Path(__file__).parents[2] / "docs" / "how-to" / "mpi_model.py"
BESIDE = Path(sys.executable).with_name("mpiexec")
MPIEXEC = str(BESIDE) if BESIDE.exists() else shutil.which("mpiexec")


@pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
@pytest.mark.parametrize("ranks", [1, 3])
def test_each_step_of_the_ranks_is_one_commit(ranks: int, tmp_path: Path) -> None:
    command = [str(MPIEXEC), "-n", str(ranks), sys.executable, str(EXAMPLE), str(tmp_path / "r")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    repo = icecore.open(tmp_path / "r")
    assert [commit.message for commit in repo.log()][:3] == ["step 2", "step 1", "step 0"]
    expected = 100 * np.arange(3)[:, None] + np.arange(ranks)
    assert repo["/t"][:, ::10, 0].tolist() == expected.tolist()
    assert not repo.verify(deep=True)
