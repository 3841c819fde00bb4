"""Each system call of a commit, a read, ``gc`` and a clone fails once: a clear error, nothing acknowledged,
nothing half under a final name.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from crash_kit import NEEDS

HERE = Path(__file__).parent


def failed_calls(home: Path, stride: int) -> list[dict[str, Any]]:
    """What came of each call; ``stride``: of so many calls one fails."""
    made = home / "fail_call.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", made, HERE / "fail_call.c", "-ldl"], check=True)
    settings = {**os.environ, "LD_PRELOAD": str(made), "ICECORE_DURABILITY": "full"}
    command = [sys.executable, HERE / "failing.py", home, str(stride)]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(found: list[dict[str, Any]]) -> Counter[str]:
    """No wrong outcome; return the number of failed calls of each kind."""
    assert not [each for each in found if each["wrong"]], [each for each in found if each["wrong"]][:10]
    failed = [each for each in found if each["path"]]
    assert sum(each["outcome"] != "done" for each in failed) > len(failed) / 3
    return Counter(each["call"] for each in failed)


@pytest.mark.skipif(not NEEDS, reason="needs LD_PRELOAD and a C compiler")
def test_one_call_in_seven_fails(tmp_path: Path) -> None:
    assert set(check(failed_calls(tmp_path, 7))) >= {"open", "write", "sync", "rename"}
