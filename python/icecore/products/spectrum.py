"""``psd``, ``asd`` and ``coherence``: spectra of a stretch of a time series."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np

from icecore.products.inputs import Inputs
from icecore.products.rows import Rows
from icecore.products.series import (
    ARRAY,
    HIGH,
    LENGTH,
    LOW,
    METHOD,
    OVERLAP,
    START,
    STOP,
    VALID,
    WINDOW,
    Stretch,
    band,
    common,
    stretch,
    stretches,
)
from icecore.products.signature import Field
from icecore.tables.query.scan import arrow
from icecore.timeseries import spectra
from icecore.timeseries.spectra import Transform


def _density(name: str, doc: str, of: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Rows]:
    """Return the product ``name``: a function of the power spectral density."""

    def product(
        inputs: Inputs,
        array: ARRAY,
        t0: START = None,
        t1: STOP = None,
        fftlength: LENGTH = 4.0,
        overlap: OVERLAP = None,
        window: WINDOW = "hann",
        method: METHOD = "median",
        valid: VALID = None,
        flow: LOW = 0.0,
        fhigh: HIGH = None,
    ) -> Rows:
        one = _Spectrum(fftlength, overlap, window, method, flow, fhigh)
        return one.rows(name, inputs, array, t0, t1, valid, of)

    product.__name__ = product.__qualname__ = name
    product.__doc__ = doc
    return product


psd = _density(
    "psd",
    """Power spectral density of a time series, one-sided, in its squared unit a Hz; one row a frequency.

    As scipy.signal.welch and gwpy's TimeSeries.psd define it. Transforms with missing or invalid samples are
    left out; the column transforms counts the others.
    """,
    lambda values: values,
)
asd = _density(
    "asd",
    "Amplitude spectral density of a time series: the square root of psd; one row a frequency.",
    np.sqrt,
)


def coherence(
    inputs: Inputs,
    array: ARRAY,
    other: Annotated[str, Field("The second channel or path, of the same rate.")],
    t0: START = None,
    t1: STOP = None,
    fftlength: LENGTH = 4.0,
    overlap: OVERLAP = None,
    window: WINDOW = "hann",
    valid: VALID = None,
    flow: LOW = 0.0,
    fhigh: HIGH = None,
) -> Rows:
    """Magnitude-squared coherence of two time series, 0 to 1; one row a frequency.

    As scipy.signal.coherence and gwpy's TimeSeries.coherence define it. Transforms with missing or invalid
    samples of either series are left out.
    """
    one = _Spectrum(fftlength, overlap, window, "welch", flow, fhigh)

    def batches() -> Iterator[Any]:
        for source in inputs.joined():
            found = stretch(source.name, source.series(array), t0, t1, valid)
            second = stretch(source.name, source.series(other), t0, t1, valid)
            runs = common(found, second)
            shift = second.axis.index(found.axis.t0)
            transform = one.transform(found)
            read = lambda first, last, s=second, n=shift: s.read(first + n, last + n)  # noqa: E731
            values = spectra.coherence(transform, found.read, read, runs)
            yield one.batch("coherence", inputs, found, transform, values, transform.count(runs))

    return Rows(one.schema("coherence", inputs), batches())


class _Spectrum:
    """Parameters that spectra have in common."""

    def __init__(
        self,
        fftlength: float,
        overlap: float | None,
        window: str,
        method: str,
        flow: float,
        fhigh: float | None,
    ) -> None:
        self.lengths = fftlength, overlap, window, method
        self.method = method
        self.edges = flow, fhigh

    def transform(self, found: Stretch) -> Transform:
        """Return the transform for the rate of a series."""
        return Transform.of(found.axis.rate, *self.lengths)

    def schema(self, name: str, inputs: Inputs) -> Any:
        """Return the schema of the rows."""
        pa = arrow()
        origin = [pa.field("source", pa.large_string())] if inputs.are_joined_several else []
        values = [pa.field("frequency", pa.float64()), pa.field(name, pa.float64())]
        return pa.schema([*origin, *values, pa.field("transforms", pa.int64())])

    def rows(
        self,
        name: str,
        inputs: Inputs,
        path: str,
        t0: Any,
        t1: Any,
        valid: list[str] | None,
        of: Callable[[np.ndarray], np.ndarray],
    ) -> Rows:
        """Return the spectrum of each source."""

        def batches() -> Iterator[Any]:
            for found in stretches(inputs, path, t0, t1, valid):
                transform = self.transform(found)
                values = of(spectra.power(transform, found.read, found.runs, self.method))
                yield self.batch(name, inputs, found, transform, values, transform.count(found.runs))

        return Rows(self.schema(name, inputs), batches())

    def batch(
        self, name: str, inputs: Inputs, found: Stretch, transform: Transform, values: np.ndarray, count: int
    ) -> Any:
        """Return the rows of one source."""
        pa = arrow()
        part = band(transform.frequencies, *self.edges)
        chosen = transform.frequencies[part]
        columns = [pa.array(chosen), pa.array(values[part], from_pandas=True)]
        columns.append(pa.array(np.full(len(chosen), count, "i8")))
        if inputs.are_joined_several:
            columns.insert(0, pa.array([found.name] * len(chosen), pa.large_string()))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema(name, inputs))


psd.picture = asd.picture = coherence.picture = "icecore.products.spectrum_pictures:spectrum"  # type: ignore[attr-defined]
