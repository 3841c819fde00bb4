"""Spectra of time series: equal to gwpy and scipy, streamed, with gaps and masks left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import cli, errors
from icecore.samples.gwf import write_frame
from icecore.timeseries import spectra
from icecore.timeseries.spectra import Transform

T0, RATE, SECONDS = 1_000_000_000, 128, 60
NS = 10**9
RNG = np.random.default_rng(7)
X = np.cumsum(RNG.normal(size=RATE * SECONDS)) / 30 + RNG.normal(size=RATE * SECONDS)
Y = 0.5 * X + RNG.normal(size=RATE * SECONDS)


def stored(place: Path, spans: list[tuple[int, int]] | None = None, **channels: np.ndarray) -> str:
    """A repository with channels of float64, whose samples exist in spans of seconds since T0."""
    spans = spans or [(0, SECONDS)]
    segments = [[(T0 + low) * NS, (T0 + high) * NS] for low, high in spans]
    axis = {"epoch": "GPS", "t0_ns": T0 * NS, "step": [1, RATE], "segments": segments}
    with icecore.create(place).writer() as w:
        for name, values in (channels or {"X": X, "Y": Y}).items():
            attrs = {"icecore_time": axis, "channel": f"H1:{name}", "units": "m"}
            w.array(f"/H1/{name}", "f8", (len(values),), ("time",), attrs=attrs)[...] = values
    return str(place)


def column(product: str, where: Any, name: str | None = None, **parameters: Any) -> np.ndarray:
    table = icecore.run(product, where, **parameters).read_all()
    return table[name or product].to_numpy()


def close(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal to 1e-10 of a value, or of the largest where values are differences that cancel."""
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13 * np.nanmax(expected))


@pytest.mark.parametrize("method", ["median", "welch", "bartlett"])
@pytest.mark.parametrize("window", ["hann", "hamming", "blackmanharris", "boxcar"])
def test_densities_equal_gwpy(tmp_path: Path, method: str, window: str) -> None:
    timeseries = pytest.importorskip("gwpy.timeseries")
    where = stored(tmp_path / "r.icecore")
    series = timeseries.TimeSeries(X, t0=T0, sample_rate=RATE, unit="m")
    for length, overlap in ((4.0, None), (3.3, 1.0), (float(SECONDS), None), (0.5, 0.125)):
        given: dict[str, Any] = {"fftlength": length, "overlap": overlap, "window": window, "method": method}
        expected = series.psd(length, overlap, window, method)
        table = icecore.run("psd", where, array="H1:X", **given).read_all()
        np.testing.assert_allclose(table["frequency"], expected.frequencies.value, rtol=1e-12)
        close(table["psd"].to_numpy(), expected.value)
        close(column("asd", where, array="/H1/X", **given), series.asd(length, overlap, window, method).value)


def test_densities_equal_scipy(tmp_path: Path) -> None:
    signal = pytest.importorskip("scipy.signal")
    where = stored(tmp_path / "r.icecore")
    expected = signal.welch(X, RATE, nperseg=4 * RATE, average="mean")[1]
    close(column("psd", where, array="H1:X", method="welch"), expected)
    cut = signal.welch(X[10 * RATE : 31 * RATE], RATE, nperseg=4 * RATE, average="median")[1]
    close(column("psd", where, array="H1:X", t0=T0 + 10, t1=str(T0 + 31)), cut)
    both = signal.coherence(X, Y, RATE, nperseg=2 * RATE)[1]
    close(column("coherence", where, array="H1:X", other="H1:Y", fftlength=2), both)


@pytest.mark.parametrize(("stride", "length"), [(10, 4), (7, 2), (1, 1), (29, 4)])
def test_spectrograms_equal_gwpy(tmp_path: Path, stride: float, length: float) -> None:
    timeseries = pytest.importorskip("gwpy.timeseries")
    where = stored(tmp_path / "r.icecore")
    series = timeseries.TimeSeries(X, t0=T0, sample_rate=RATE)
    try:
        expected = series.spectrogram(stride, length)
    except ValueError:  # gwpy's last part can be shorter than a transform
        expected = series[: (SECONDS // stride) * stride * RATE].spectrogram(stride, length)
    table = icecore.run("spectrogram", where, array="H1:X", stride=stride, fftlength=length).read_all()
    found = table["psd"].to_numpy().reshape(-1, length * RATE // 2 + 1)
    assert found.shape == expected.shape
    close(found, expected.value)
    assert np.unique(table["gps_ns"]).tolist() == [(T0 + i * stride) * NS for i in range(len(found))]


def test_q_transforms_equal_gwpy(tmp_path: Path) -> None:
    timeseries = pytest.importorskip("gwpy.timeseries")
    where = stored(tmp_path / "r.icecore")
    series = timeseries.TimeSeries(X, t0=T0, sample_rate=RATE).crop(T0 + 26, T0 + 38)
    expected = series.q_transform(
        qrange=(4, 16), frange=(8, 50), outseg=(T0 + 30, T0 + 34), tres=0.05, fres=0.5, fftlength=6
    )
    given: dict[str, Any] = {"qlow": 4, "qhigh": 16, "flow": 8, "fhigh": 50, "tres": 0.05, "fres": 0.5}
    found = column("q-transform", where, "energy", array="H1:X", t0=T0 + 30, t1=T0 + 34, **given)
    np.testing.assert_allclose(found, np.asarray(expected.value).reshape(-1), rtol=1e-10)


def test_transforms_never_span_a_gap(tmp_path: Path) -> None:
    signal = pytest.importorskip("scipy.signal")
    values = X.copy()
    values[20 * RATE : 25 * RATE] = 1e9  # never read: outside the segments
    where = stored(tmp_path / "r.icecore", [(0, 20), (25, 60)], X=values)
    table = icecore.run("psd", where, array="H1:X", method="welch", fftlength=2).read_all()
    runs = [X[: 20 * RATE], X[25 * RATE :]]
    counts = [2 * len(run) // (2 * RATE) - 1 for run in runs]
    parts = [signal.welch(run, RATE, nperseg=2 * RATE)[1] for run in runs]
    expected = np.average(parts, axis=0, weights=counts)
    close(table["psd"].to_numpy(), expected)
    assert set(table["transforms"].to_pylist()) == {sum(counts)}
    grid = column("spectrogram", where, "psd", array="H1:X", stride=5, fftlength=1).reshape(12, -1)
    assert np.flatnonzero(np.isnan(grid).all(axis=1)).tolist() == [4]
    assert not np.isnan(np.delete(grid, 4, axis=0)).any()


def test_invalid_samples_are_left_out(tmp_path: Path) -> None:
    where = stored(tmp_path / "r.icecore")
    axis = {"epoch": "GPS", "t0_ns": T0 * NS, "step": [1, 1], "segments": [[T0 * NS, (T0 + SECONDS) * NS]]}
    attrs = {"icecore_time": axis, "flag_masks": [1], "flag_meanings": "DATA"}
    with icecore.open(where).writer() as w:
        mask = np.ones(SECONDS, "i4")
        mask[30:] = 0
        w.array("/H1/MASK", "i4", (SECONDS,), ("second",), attrs=attrs)[...] = mask
    half = column("psd", where, array="H1:X", t1=T0 + 30)
    assert np.array_equal(column("psd", where, array="H1:X", valid=["DATA"]), half)


def test_blocks_and_bands_do_not_change_a_spectrum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = stored(tmp_path / "r.icecore")
    kinds = [("psd", {"method": "median"}), ("psd", {"method": "welch"}), ("coherence", {"other": "H1:Y"})]
    whole = [column(name, where, array="H1:X", **given) for name, given in kinds]
    monkeypatch.setattr(spectra, "BLOCK", 700)
    monkeypatch.setattr(spectra, "MEDIAN", 5000)
    for (name, given), expected in zip(kinds, whole, strict=True):
        close(column(name, where, array="H1:X", **given), expected)


def test_memory_of_a_block_is_bounded() -> None:
    transform = Transform.of(16384.0, 4.0)
    day = [(0, 16384 * 86400)]
    sizes = [last - first for first, last, _ in transform.blocks(day)]
    assert max(sizes) <= spectra.BLOCK + transform.size
    assert sum(n for *_, n in transform.blocks(day)) == transform.count(day) == 43199


@pytest.mark.parametrize(
    ("rate", "length", "overlap", "said"),
    [(16384.0, 1e5, None, "samples"), (16384.0, 64.0, 63.9999, "transforms"), (1.0, 1e12, None, "samples")],
)
def test_what_a_transform_takes_is_bounded(
    rate: float, length: float, overlap: float | None, said: str
) -> None:
    with pytest.raises(errors.Error, match=said) as caught:
        Transform.of(rate, length, overlap)
    assert caught.value.kind == "invalid"


def test_blocks_hold_few_samples_whatever_the_overlap() -> None:
    transform = Transform.of(16384.0, 64.0, 63.5)
    sizes = [n * transform.size for *_, n in transform.blocks([(0, 16384 * 3600)])]
    assert max(sizes) <= spectra.BLOCK


def test_a_median_of_too_many_spectra_is_refused() -> None:
    transform = Transform.of(16384.0, 4.0)
    with pytest.raises(errors.Error, match="median of") as caught:
        spectra.power(transform, lambda *_: pytest.fail("read"), [(0, 16384 * 86400 * 365)])
    assert "welch" in caught.value.hint


def test_files_are_joined_in_time(tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    folder.mkdir()
    for i in range(8):
        part = X[i * RATE : (i + 1) * RATE]
        write_frame(folder / f"H-T-{T0 + i}-1.gwf", T0 + i, {"H1:X": (part, float(RATE))})
    table = icecore.run("psd", folder, array="H1:X", fftlength=2).read_all()
    assert set(table["transforms"].to_pylist()) == {7}
    close(
        table["psd"].to_numpy(),
        column("psd", stored(tmp_path / "r.icecore"), array="H1:X", fftlength=2, t1=T0 + 8),
    )


def test_pictures_and_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    where = stored(tmp_path / "r.icecore")
    for name, extra in (
        ("asd", []),
        ("coherence", ["other=H1:Y"]),
        ("spectrogram", ["stride=5", "fftlength=1"]),
    ):
        picture = tmp_path / f"{name}.png"
        given = [f"--param={each}" for each in ("array=H1:X", *extra)]
        assert cli.run(["run", name, where, *given, "-o", str(picture)]) == 0
        assert picture.read_bytes().startswith(b"\x89PNG")
    assert cli.run(["run", "psd", where, "-p", "array=H1:X", "-p", "flow=10", "-p", "fhigh=11 Hz"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [float(row.split(",")[0]) for row in rows[1:]] == [10, 10.25, 10.5, 10.75, 11]


def test_wrong_parameters(tmp_path: Path) -> None:
    where = stored(tmp_path / "r.icecore", [(0, 3)])
    cases = (
        ("psd", {}, "selection", "fftlength"),
        ("psd", {"fftlength": 1, "overlap": 1}, "invalid", "overlap"),
        ("psd", {"fftlength": 0.001}, "invalid", "2 samples"),
        ("psd", {"fftlength": 1, "flow": 90}, "invalid", "no frequencies"),
        ("spectrogram", {"stride": 1, "fftlength": 2}, "invalid", "stride"),
        ("psd", {"fftlength": 1, "method": "mode"}, "invalid", "method"),
        ("q-transform", {"t0": T0, "t1": T0 + 2, "tres": 1e-9}, "invalid", "energies"),
        ("q-transform", {"t0": T0, "t1": T0 + 2, "qhigh": 1e9}, "invalid", "qhigh"),
        ("q-transform", {"t0": T0, "t1": T0 + 2, "pad": 1e9}, "invalid", "pad"),
    )
    for name, given, kind, said in cases:
        with pytest.raises(errors.Error) as caught:
            icecore.run(name, where, array="H1:X", **given).read_all()
        assert caught.value.kind == kind
        assert said in f"{caught.value.message} {caught.value.hint}"
