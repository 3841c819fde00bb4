"""Real frame files: every channel equals LALFrame's, or gwframe's, bit for bit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".integration" / "frames" / "bin" / "python"
FILES = ROOT.parent / "shared" / "data" / "frames"


@pytest.mark.skipif(not PYTHON.exists(), reason="frames are not installed: make integration-deps")
@pytest.mark.skipif(not FILES.is_dir(), reason="real frame files are absent")
def test_every_channel_equals_the_peers() -> None:
    command = [str(PYTHON), str(ROOT / "tools" / "compare_gwf.py"), str(FILES)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    summary = done.stdout.splitlines()[-1]
    assert "differ 0, read by no peer 0" in summary
    assert "channels 18, equal to LALFrame 18, equal to gwframe 13" in summary
