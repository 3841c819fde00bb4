"""Write summaries of arrays: trends of time series, zones of other columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from icecore.ingest import write_trends
from icecore.repository.time_axis import KEY
from icecore.tables.summaries.write import write_for
from icecore.timeseries.window_sums import parse_windows

if TYPE_CHECKING:
    from icecore.ingest.options import IngestOptions
    from icecore.ingest.placement import Step
    from icecore.writing.writer import Writer


def summarize(writer: Writer, steps: Sequence[Step], options: IngestOptions, packed: bool = False) -> None:
    """Write the summaries that ``options`` request.

    Args:
        writer: writer that contains the arrays.
        steps: the arrays.
        options: ``summaries`` and ``windows``.
        packed: whether channels get trends by default, if the trends are short compared with the samples.
    """
    windows = parse_windows(options.windows)
    if not packed and options.summaries:
        write_for(writer, [step.path for step in steps if KEY not in step.entry.attrs])
    if windows == () or not (options.summaries or windows or packed):
        return
    every = options.summaries or windows is not None
    paths = [step.path for step in steps if every or KEY in step.entry.attrs]
    if paths:
        write_trends.write(writer, paths, windows, every)
