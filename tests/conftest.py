"""What all Python tests share: real files, repositories, a loopback HTTP server, a guard against hangs."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from icecore import cli
from latsrv import LatencyServer

ROOT = Path(__file__).resolve().parent.parent
#: seconds after which a single test counts as hanging: the session then ends with every thread's stack
HANG = float(os.environ.get("ICECORE_TEST_HANG", "300"))

# `ICECORE_EXAMPLES=5000 pytest tests/property` searches long and with fresh seeds; the default repeats itself
# exactly, so that a red run is always about the change under test.
_SLOW_MACHINES = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile(
    "repeat",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=_SLOW_MACHINES,
    print_blob=True,
)
settings.register_profile(
    "search", deadline=None, database=None, suppress_health_check=_SLOW_MACHINES, print_blob=True
)
settings.load_profile("search" if "ICECORE_EXAMPLES" in os.environ else "repeat")

# Repositories of tests are scratch data; `test_power_failure.py` changes it for its processes.
os.environ.setdefault("ICECORE_DURABILITY", "none")

_stderr = os.dup(2)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers; keep quiet about names of dtypes and codecs that Zarr v3 has not settled."""
    # A shell's background job ignores Ctrl-C, and so would the children that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "slow: takes more than ten seconds (leave out with -m 'not slow')")
    config.addinivalue_line("markers", "integration: needs a server or a peer of `make integration-deps`")
    unsettled = ("The data type .* does not have a Zarr V3", "Numcodecs codecs are not in the Zarr version 3")
    for text in unsettled:
        config.addinivalue_line("filterwarnings", f"ignore:{text}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the skipped tests by reason, the most frequent reason first."""
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
    if not reasons:
        return
    terminalreporter.section(f"{reasons.total()} skipped, by reason")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:5}  {reason}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    place = report.longrepr
    text = place[2] if isinstance(place, tuple) else str(place)
    return text.removeprefix("Skipped: ").splitlines()[0]


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    # A hang inside native code can't be interrupted from Python: the process must go, and say where it was.
    faulthandler.dump_traceback_later(HANG, exit=True, file=_stderr)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command line in this process: its status, what it prints and what it says on stderr."""

    def running(*arguments: object) -> tuple[int, str, str]:
        status = cli.run([str(item) for item in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return running


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real files beside the repository; tests skip where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no real files at ../shared/data")
    return folder


@pytest.fixture
def repo_path(tmp_path: Path) -> str:
    """Where a test's repository goes; nothing is there yet."""
    return str(tmp_path / "test.icecore")


@pytest.fixture(scope="session")
def latsrv_binary() -> Path:
    """The loopback server's program, built when its sources are newer."""
    binary = ROOT / "target" / "release" / "examples" / "latsrv"
    sources = list((ROOT / "crates" / "icecore" / "examples" / "latsrv").glob("*.rs"))
    if not binary.exists() or any(s.stat().st_mtime > binary.stat().st_mtime for s in sources):
        command = ["cargo", "build", "--release", "-q", "-p", "icecore", "--example", "latsrv"]
        try:
            subprocess.run(command, cwd=ROOT, check=True, timeout=1800)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"the loopback server can't be built: {error}")
    return binary


@pytest.fixture
def serve(latsrv_binary: Path) -> Iterator[Callable[..., LatencyServer]]:
    """``serve(folder, delay_ms=0, mbps=0, fail_every=0)`` → a running server, ended with the test."""
    with ExitStack() as stack:
        yield lambda folder, **options: stack.enter_context(LatencyServer(latsrv_binary, folder, **options))
