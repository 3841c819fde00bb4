"""Ten thousand states that a crash may leave, and every system call failing once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))

from crash_kit import CHILD, NEEDS, WRITERS, check_all, record
from test_failing_calls import check, failed_calls

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not NEEDS, reason="needs LD_PRELOAD and a C compiler"),
]
STATES = 10_000


@pytest.fixture(autouse=True)
def _no_hang() -> None:
    """These tests take longer than a hang."""


def test_ten_thousand_states_after_a_crash(tmp_path: Path) -> None:
    recordings = []
    for name, code in (("one", CHILD), ("two", WRITERS)):
        (tmp_path / name).mkdir()
        recordings.append(record(tmp_path / name, code))
    tried = seed = 0
    while tried < STATES:
        for recording in recordings:
            tried += check_all(recording, tmp_path, STATES - tried, seed)
        seed += 1
    print(f"{tried:,} states")


def test_each_system_call_fails_once(tmp_path: Path) -> None:
    failed = check(failed_calls(tmp_path, 1))
    print(dict(failed))
    assert failed.total() > 500
