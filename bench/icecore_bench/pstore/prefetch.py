"""Table 5, figure 9: overlap of fetching and decoding with a remote store."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import icecore
from icecore.display import figures

from icecore_bench.pstore.field import opened
from icecore_bench.pstore.layouts import boxes, clock
from icecore_bench.study import Outcome, Table

_SHARES = (0.001, 0.01, 0.1)
_QUERIES = 6
#: latency of each response in seconds; connections and bytes per request of the plain client
_DELAY, _CONNECTIONS, _STEP = 0.02, 32, 2 << 20


def measure(folder: Path, array: icecore.Array, store: Path, say: Callable[[str], None]) -> Outcome:
    """Measure random boxes of the array: only fetching, only decoding, and both together."""
    table = Table(
        "Table 5: random boxes of a store with 20 ms to the first byte (fetch: a plain client, "
        f"{_CONNECTIONS} connections, as many bytes; decode: from the page cache)",
        ["share of the field", "fetch, ms", "decode, ms", "icecore, ms", "hidden of the shorter"],
    )
    with serving(store.parent) as port:
        far = opened(f"http://127.0.0.1:{port}/{store.name}", array.path)
        far[0, 0, 0, 0]
        for share in _SHARES:
            say(f"prefetch: boxes of {share:.1%}")
            queries = list(boxes(array.shape, share))[:_QUERIES]
            decode = clock(array, queries)
            fetch = statistics.median(_fetch(port, store, far.plan(query).bytes_fetched) for query in queries)
            both = clock(far, queries)
            hidden = (fetch + decode - both) / min(fetch, decode)
            table.rows.append([share, fetch * 1e3, decode * 1e3, both * 1e3, hidden])
    outcome = Outcome("prefetch", [table])
    series = {
        "fetch, then decode": (list(_SHARES), [row[1] + row[2] for row in table.rows]),
        "icecore": (list(_SHARES), [row[3] for row in table.rows]),
    }
    labels = ("share of the field that is read", "ms a query")
    outcome.figures = [figures.lines(folder / "pstore-9.png", "Figure 9: prefetch", labels, series, "xy")]
    return outcome


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Run a store with latency on loopback; yield its port."""
    command = [sys.executable, "-m", "icecore_bench.pstore.server", str(folder), str(_DELAY)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


def _fetch(port: int, store: Path, nbytes: int) -> float:
    """Return the seconds to fetch ``nbytes`` of the store's largest object in ranges, discarding the data."""
    largest = max((store / "chunks").iterdir(), key=lambda path: path.stat().st_size)
    size = largest.stat().st_size
    ranges = [(at % max(size - _STEP, 1), min(_STEP, nbytes - at)) for at in range(0, nbytes, _STEP)]
    # empty if all chunks of a small field are cached
    count = max(min(_CONNECTIONS, len(ranges)), 1)

    def run(mine: list[tuple[int, int]]) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        for first, length in mine:
            connection.request(
                "GET",
                f"/{store.name}/chunks/{largest.name}",
                headers={"Range": f"bytes={first}-{first + length - 1}"},
            )
            connection.getresponse().read()
        connection.close()

    began = time.perf_counter()
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(run, [ranges[i::count] for i in range(count)]))
    return time.perf_counter() - began
