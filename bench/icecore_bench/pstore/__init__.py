"""PStore (Bhattacherjee, Deshpande and Sussman 2014): compression, precision, layouts, prefetch.

The study measured a regional climate model. This module measures the given fields and a generated 4-D field
of 904 MB, or of about the size of the given fields if they are smaller. Tables and figures are numbered in
the order in which they are printed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from icecore_bench.pstore import field, ingestion, layouts, precision, prefetch, scaling, schemes
from icecore_bench.study import Outcome


def run(folder: Path, source: str | None, say: Callable[[str], None], quick: bool = False) -> Outcome:
    """Run all measurements.

    Args:
        folder: directory for the figures.
        source: a file or directory with further fields for tables 1 and 2.
        say: called with progress messages.
        quick: generate two shards of the field instead of fifteen.
    """
    os.environ["ICECORE_CACHE"] = "0"
    outcome = Outcome("pstore")
    with tempfile.TemporaryDirectory(prefix="icecore-pstore-") as temporary:
        work = Path(temporary)
        given = field.given(source, work, say)  # first, because it checks the source
        steps = 2 * field.SHARD[0] if quick else field.steps(given)
        made = field.pack(work, steps, say)
        plain, store = made["blosc"], work / "blosc.icecore"
        fields = [*given, plain]
        for part in (
            schemes.measure(folder, fields, say),
            precision.measure(folder, [*field.in_planes(source, work, say), made["planes"]], say),
            layouts.measure(folder, plain, work, say),
            prefetch.measure(folder, plain, store, say),
            scaling.measure(folder, plain, store, say),
            ingestion.measure(work, steps, say),
        ):
            outcome.tables += part.tables
            outcome.more += part.more
            outcome.figures += part.figures
            outcome.notes += part.notes
    return outcome
