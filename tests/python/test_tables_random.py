"""Random tables of every layout: each cell has its value or is reported, and the text comes back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from icecore.sources import tables
from icecore.sources.tables import delimited
from icecore.tables.text import file_state, stream_file, text_stream
from table_texts import LAYOUTS, UNUSUAL, check, sample

#: limits of the small tables: lines of a sample, bytes that tell a table, bytes of a block
SAMPLE, START, BLOCK = 50, 1 << 11, 1 << 13


@pytest.fixture(scope="module")
def small() -> object:
    """Limits so low that a table of some hundred rows is beyond all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_SAMPLE", SAMPLE)
        patch.setattr(tables, "_START", START)
        patch.setattr(text_stream, "_FRONT", 1 << 9)
        patch.setattr(text_stream.TextStream.__init__, "__defaults__", (True, BLOCK))
        for module in (text_stream, stream_file, file_state):
            patch.setattr(module, "BLOCK", BLOCK)
        yield


def run(seed: int, layout: str, rows: int, unusual: list[tuple[int, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(Path(folder), sample(seed, layout, rows, unusual))


rows_near_limits = st.sampled_from([0, 1, SAMPLE - 1, SAMPLE, SAMPLE + 1, 120, 400, 699])


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 1 << 30),
    layout=st.sampled_from(LAYOUTS),
    rows=st.sampled_from([5, 30, 60, 200, 700]),
    unusual=st.lists(st.tuples(rows_near_limits, st.sampled_from(UNUSUAL)), max_size=3),
)
def test_small_tables(
    small: object, seed: int, layout: str, rows: int, unusual: list[tuple[int, str]]
) -> None:
    run(seed, layout, rows, unusual)


@pytest.mark.parametrize("layout", ["comma", "blank", "fixed", "fixed trimmed", "mrt trimmed", "rst", "ecsv"])
def test_unusual_rows_behind_the_real_limits(layout: str) -> None:
    """Behind 1,000 lines, 64 KiB and 8,192 rows."""
    run(5, layout, 8300, [(1001, "wider"), (8191, "blank"), (8192, "extra"), (8250, "longer")])


@pytest.mark.parametrize("layout", ["comma", "fixed"])
def test_an_unusual_row_behind_four_mebibytes(layout: str) -> None:
    run(7, layout, 260_000, [(259_000, "longer"), (259_500, "blank"), (259_900, "wider")])
