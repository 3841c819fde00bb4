"""Channels over Arrow Flight: the client ``arrakis`` and gwpy read what was stored, and what is appended."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import errors
from icecore.samples.gwf import write_frame

flight = pytest.importorskip("pyarrow.flight")

from icecore.integrations.arrakis import Server  # noqa: E402
from icecore.integrations.arrakis_channels import windows  # noqa: E402

T0, NS, SECONDS = 1_000_000_000, 10**9, 20
FAST = np.random.default_rng(3).normal(size=64 * SECONDS).astype("f4")
SLOW = np.arange(16 * SECONDS, dtype="i4")


def axis(rate: int, *spans: tuple[int, int]) -> dict[str, Any]:
    segments = [[(T0 + low) * NS, (T0 + high) * NS] for low, high in spans]
    return {"epoch": "GPS", "t0_ns": T0 * NS, "step": [1, rate], "segments": segments}


@pytest.fixture
def where(tmp_path: Path) -> str:
    """Two channels; the slow one has a gap from 5 to 7 s."""
    place = tmp_path / "r.icecore"
    fast, slow = axis(64, (0, SECONDS)), axis(16, (0, 5), (7, SECONDS))
    with icecore.create(place).writer() as w:
        for name, values, found in (("FAST", FAST, fast), ("SLOW", SLOW, slow)):
            attrs = {"icecore_time": found, "channel": f"H1:{name}"}
            w.array(f"/H1/{name}", values.dtype, values.shape, ("t",), attrs=attrs)[...] = values
        w.array("/other", "f4", (3,))[...] = 1
    return str(place)


@pytest.fixture
def server(where: str) -> Iterator[Server]:
    """A server on a free port."""
    made = Server([where], port=0)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def client(server: Server) -> Any:
    """The field's own client."""
    arrakis = pytest.importorskip("arrakis")
    return arrakis.Client(f"grpc://127.0.0.1:{server.port}", token=False)


def test_channels_are_found_counted_and_described(client: Any) -> None:
    assert sorted(each.name for each in client.find()) == ["H1:FAST", "H1:SLOW"]
    assert [each.name for each in client.find("H1:F.*")] == ["H1:FAST"]
    assert [each.name for each in client.find(data_type="int32")] == ["H1:SLOW"]
    assert [each.name for each in client.find(min_rate=20)] == ["H1:FAST"]
    assert client.count("L1:.*") == 0
    found = client.describe(["H1:SLOW"])["H1:SLOW"]
    assert (found.data_type, found.sample_rate, found.publisher) == ("int32", 16, "r.icecore")
    assert client.domains() == ["H1"]
    with pytest.raises(flight.FlightServerError, match="no channel H1:NONE"):
        client.describe(["H1:NONE"])


def test_spans_equal_the_samples(client: Any) -> None:
    block = client.fetch(["H1:SLOW", "H1:FAST"], T0 + 8, T0 + 17)
    assert block.time_ns == (T0 + 8) * NS
    np.testing.assert_array_equal(np.asarray(block["H1:FAST"].data), FAST[8 * 64 : 17 * 64])
    np.testing.assert_array_equal(np.asarray(block["H1:SLOW"].data), SLOW[8 * 16 : 17 * 16])


def test_gaps_are_masked(client: Any) -> None:
    data = client.fetch(["H1:SLOW", "H1:FAST"], T0 + 3, T0 + 9)["H1:SLOW"].data
    mask = np.ma.getmaskarray(data)
    assert np.flatnonzero(mask).tolist() == list(range(2 * 16, 4 * 16))
    np.testing.assert_array_equal(data.compressed(), np.r_[SLOW[48:80], SLOW[112:144]])


def test_gwpy_reads_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("arrakis")
    timeseries = pytest.importorskip("gwpy.timeseries")
    pytest.importorskip("gwpy.timeseries.io.arrakis")
    monkeypatch.setenv("ARRAKIS_SERVER", f"grpc://127.0.0.1:{server.port}")
    found = timeseries.TimeSeries.get("H1:FAST", T0 + 2, T0 + 6, source="arrakis")
    np.testing.assert_array_equal(found.value, FAST[128:384])
    assert (found.t0.value, found.sample_rate.value) == (T0 + 2, 64)


def test_appended_samples_are_streamed(tmp_path: Path) -> None:
    arrakis = pytest.importorskip("arrakis")
    place, samples = tmp_path / "r.icecore", np.arange(64 * 60, dtype="f4")

    def second(i: int) -> Path:
        part = {"H1:FAST": (samples[64 * i : 64 * i + 64], 64.0)}
        return write_frame(tmp_path / f"H-T-{T0 + i}-1.gwf", T0 + i, part)

    icecore.link([second(0), second(1)], place)
    server = Server([str(place)], port=0)
    server.start()
    got: list[Any] = []

    def read() -> None:
        client = arrakis.Client(f"grpc://127.0.0.1:{server.port}", token=False)
        for block in client.stream(["H1:FAST"]):
            got.append(block)
            if len(got) == 3:
                return

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    for i in range(2, 60):  # the stream begins at some moment after the request
        reader.join(0.5)
        if not reader.is_alive():
            break
        icecore.link(second(i), place, concat="time", append=True)
    server.stop()
    assert len(got) == 3
    first = got[0].time_ns // NS - T0
    assert first >= 2
    found = np.concatenate([np.asarray(block["H1:FAST"].data) for block in got])
    np.testing.assert_array_equal(found, samples[64 * first : 64 * (first + 3)])


@pytest.mark.parametrize(
    "command",
    [
        b"",
        b"[]",
        b"{}",
        b'{"request": "Publish", "args": {}}',
        b'{"request": "Find", "args": {"pattern": "("}}',
        b'{"request": "Find", "args": {"pattern": 3}}',
        b'{"request": "Stream", "args": {"channels": "H1:FAST", "start": 1, "end": 2}}',
        b'{"request": "Stream", "args": {"channels": ["H1:FAST"], "start": 2, "end": 1}}',
        b'{"request": "Stream", "args": {"channels": ["H1:FAST"], "start": "a", "end": 1}}',
        b'{"request": "Describe", "args": {"channels": ["../x"]}}',
    ],
)
def test_wrong_requests_are_refused_and_the_server_goes_on(server: Server, command: bytes) -> None:
    with flight.connect(f"grpc://127.0.0.1:{server.port}") as plain:
        with pytest.raises(flight.FlightError) as caught:
            plain.do_get(flight.Ticket(command)).read_all()
        assert "Traceback" not in str(caught.value)
        good = flight.Ticket(b'{"request": "Count", "args": {}}')
        assert plain.do_get(good).read_all()["count"].to_pylist() == [2]


def test_second_trends_have_names(tmp_path: Path) -> None:
    place = tmp_path / "r.icecore"
    with icecore.create(place).writer() as w:
        attrs = {"icecore_time": axis(64, (0, SECONDS)), "channel": "H1:FAST"}
        w.array("/H1/FAST", "f4", FAST.shape, ("t",), attrs=attrs)[...] = FAST
    from icecore.ingest.write import write_trends

    write_trends.write(icecore.open(place), ["/H1/FAST"], (1, 60))
    server = Server([str(place)], port=0)
    names = server._catalog.channels()
    server.stop()
    assert "H1:FAST.mean,s-trend" in names
    values, there = names["H1:FAST.max,s-trend"].read((T0 + 1) * NS, (T0 + 4) * NS)
    assert there.all()
    np.testing.assert_array_equal(values, FAST.reshape(-1, 64).max(axis=1)[1:4])


def test_users_and_ports(tmp_path: Path, where: str) -> None:
    from icecore.cli.serve import arrakis_server

    with pytest.raises(errors.Error, match="no login"):
        arrakis_server([where], "127.0.0.1", 0, True, {})
    with pytest.raises(errors.Error, match="needs a repository"):
        arrakis_server([str(tmp_path / "x.h5")], "127.0.0.1", 0, False, {})


def test_windows() -> None:
    assert list(windows(5, 23, 10)) == [(5, 10), (10, 20), (20, 23)]
