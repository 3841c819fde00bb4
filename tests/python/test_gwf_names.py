"""Names of channels and lists of frame files as other tools write them; frame files on a server."""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore import cli, errors
from icecore.samples.gwf import write_frame

T0 = 1_400_000_000


def frame(path: Path, start: int = T0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = np.arange(16, dtype="f4") + 16 * (start - T0)
    return write_frame(
        path, start, {"H1:X": (data, 16.0), "H1:Y.mean": (data * 2, 16.0), "L1:X": (data, 16.0)}
    )


@pytest.mark.parametrize("group", [None, "/P/Q"])
def test_a_channel_is_found_by_its_name(tmp_path: Path, group: str | None) -> None:
    icecore.link(frame(tmp_path / "0.gwf"), tmp_path / "r.icecore", group=group, summaries=True)
    repo, top = icecore.open(tmp_path / "r.icecore"), group or ""
    for name in ("H1:X", "H1:Y.mean", "L1:X"):
        path = f"{top}/{name.replace(':', '/')}"
        assert (repo[name].path, repo[f"{top}/{name}"].path, name in repo) == (path, path, True)
        assert repo.read({name: slice(2, 4)})[name].tolist() == repo[path][2:4].tolist()
        trend = repo[f"{name}.max,s-trend"]
        assert trend[...].tolist() == [repo[path][...].max()]
        assert repo[f"{path}.max,s-trend"].path == trend.path
    for name in ("H1:Z", "V1:X", "H1", "H1:X.max,h-trends"):
        assert (name in repo) == (name == "H1" and group is None)
        with pytest.raises(KeyError):
            repo["V1:" + name]


def test_a_channel_of_two_groups_is_named_with_both(tmp_path: Path) -> None:
    for group in ("/P", "/Q"):
        icecore.link(frame(tmp_path / "0.gwf"), tmp_path / "r.icecore", group=group)
    repo = icecore.open(tmp_path / "r.icecore")
    with pytest.raises(errors.Error, match="H1:X is at /P/H1/X and /Q/H1/X") as caught:
        repo["H1:X"]
    assert caught.value.kind == "invalid"
    assert repo["/Q/H1:X"].path == "/Q/H1/X"
    assert repo["/P"]["H1:X"].path == "/P/H1/X"


@pytest.mark.parametrize(
    "words",
    [
        ["read", "REPO", "H1:X", "0:3"],
        ["read", "REPO", "H1:X.mean,s-trend"],
        ["trend", "REPO", "H1:X"],
        ["explain", "REPO", "H1:X"],
        ["info", "REPO", "H1:X"],
        ["ls", "REPO", "H1:X"],
        ["plot", "REPO", "H1:X", "-o", "FILE.png"],
        ["diff", "REPO:/H1:X", "REPO:/L1:X"],
        ["query", "REPO", "/H1", "--columns", "X", "--where", "X > 3"],
    ],
)
def test_names_on_the_command_line(tmp_path: Path, words: list[str]) -> None:
    where = str(tmp_path / "r.icecore")
    icecore.link(frame(tmp_path / "0.gwf"), where, summaries=True)
    command = [word.replace("REPO", where).replace("FILE", str(tmp_path / "o")) for word in words]
    assert cli.run(command) == 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"variables": "H1:X"}, {"/H1/X"}),
        ({"variables": "H1:*"}, {"/H1/X", "/H1/Y.mean"}),
        ({"variables": ["L1:X", "/H1/X"]}, {"/H1/X", "/L1/X"}),
        ({"variables": "X"}, {"/H1/X", "/L1/X"}),
        ({"exclude": "H1:*"}, {"/L1/X"}),
        ({"variables": "*:X", "exclude": "L1:X"}, {"/H1/X"}),
    ],
)
@pytest.mark.parametrize("verb", ["link", "pack"])
def test_channels_are_chosen_by_name(tmp_path: Path, verb: str, options: dict, expected: set[str]) -> None:
    getattr(icecore, verb)(frame(tmp_path / "0.gwf"), tmp_path / "r.icecore", **options)
    assert set(icecore.open(tmp_path / "r.icecore").arrays) == expected


FORMS = {
    "ffl": "{path} {gps} 1 0 0\n",
    "ffl with addresses": "file://localhost{path} {gps}.0 1.0 0 0\n",
    "ffl with two slashes less": "file://{path} {gps} 1.000 0.000 0.000\n",
    "lal": "H T {gps} 1 file://localhost{path}\n",
    "lal without facts": "- - - - file://localhost{path}\n",
    "one path a line": "{path}\n",
    "one address a line": "file://localhost{path}\n",
    "relative": "d/{name}\n",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["a.ffl", "a.lcf", "a.cache", "@a.cache"])
def test_lists_of_every_form(tmp_path: Path, form: str, name: str) -> None:
    files = [
        frame(
            tmp_path / f"d/H-T-{T0 + i}-1 of 2.gwf" if "relative" not in form else tmp_path / f"d/{i}.gwf",
            T0 + i,
        )
        for i in range(2)
    ]
    if form not in ("one path a line",):
        files = [file.rename(file.with_name(file.name.replace(" ", "_"))) for file in files]
    lines = [FORMS[form].format(path=file, gps=T0 + i, name=file.name) for i, file in enumerate(files)]
    listed = tmp_path / name.removeprefix("@")
    listed.write_text("# made by a test\n\n" + "".join(lines))
    icecore.link(f"@{listed}" if name[0] == "@" else listed, tmp_path / "r.icecore")
    assert icecore.open(tmp_path / "r.icecore")["/H1/X"][...].tolist() == list(range(32))


def test_lists_of_lists(tmp_path: Path) -> None:
    files = [frame(tmp_path / f"d/{i}.gwf", T0 + i) for i in range(2)]
    for i, file in enumerate(files):
        (tmp_path / f"{i}.ffl").write_text(f"{file} {T0 + i} 1 0 0\n")
    (tmp_path / "all.ffl").write_text(f"0.ffl {T0} {T0 + 1}\n{tmp_path}/1.ffl {T0 + 1} {T0 + 2}\n")
    icecore.link(tmp_path / "all.ffl", tmp_path / "r.icecore")
    assert icecore.open(tmp_path / "r.icecore")["/H1/X"].shape == (32,)
    (tmp_path / "0.ffl").write_text(f"all.ffl {T0} {T0 + 1}\n")
    with pytest.raises(errors.Error, match="names itself"):
        icecore.link(tmp_path / "all.ffl", tmp_path / "s.icecore")


def test_a_list_of_another_form_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.lcf").write_text("# a list\n/a.gwf\none two\n")
    with pytest.raises(errors.Error, match="line 3 has 2 fields") as caught:
        icecore.link(tmp_path / "a.lcf", tmp_path / "r.icecore")
    assert caught.value.kind == "format"


class Served(http.server.SimpleHTTPRequestHandler):
    """Serves ranges of files, and counts the bytes."""

    sent = 0

    def log_message(self, *_: object) -> None:
        return

    def do_GET(self) -> None:
        data = Path(self.translate_path(self.path)).read_bytes()
        first, last = (int(x) for x in self.headers["Range"].removeprefix("bytes=").split("-"))
        part = data[first : last + 1]
        type(self).sent += len(part)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("ETag", '"1"')
        self.end_headers()
        self.wfile.write(part)


def test_frames_on_a_server_are_linked_without_their_samples(tmp_path: Path) -> None:
    data = np.random.default_rng(1).normal(size=1 << 20)
    write_frame(tmp_path / "0.gwf", T0, {"H1:X": (data, float(1 << 20))})
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Served, directory=str(tmp_path))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        Served.sent = 0
        icecore.link(f"http://127.0.0.1:{server.server_port}/0.gwf", tmp_path / "r.icecore")
        assert Served.sent <= 1 << 20 < (tmp_path / "0.gwf").stat().st_size
        assert np.array_equal(icecore.open(tmp_path / "r.icecore")["H1:X"][...], data)
    finally:
        server.shutdown()
        server.server_close()


def test_trends_have_the_gaps_of_their_channel(tmp_path: Path) -> None:
    start = T0 // 60 * 60
    for late in (0, 60, 600):
        data = np.arange(60 * 16, dtype="f4") + late * 16
        write_frame(tmp_path / f"{late}.gwf", start + late, {"H1:X": (data, 16.0)})
    icecore.link(tmp_path, tmp_path / "r.icecore", summaries=True)
    repo = icecore.open(tmp_path / "r.icecore")
    for letter, seconds in (("s", 1), ("m", 60)):
        trend = repo[f"H1:X.mean,{letter}-trend"]
        spans = [((start + low) * 10**9, (start + high) * 10**9) for low, high in ((0, 120), (600, 660))]
        assert trend.segments == spans
        with pytest.raises(errors.Error, match="no samples"):
            trend.between(start + 120, start + 600)
        assert trend.between(start + 120, start + 600, gaps="ignore").shape == (0,)
        there = trend.between(start, start + 660, gaps="ignore")
        assert there.shape == (180 // seconds,)
        assert not np.isnan(there).any()
        assert np.isnan(trend.between(start, start + 660, gaps="pad")).sum() == 480 // seconds


def test_times_of_any_library() -> None:
    from datetime import UTC, date, datetime, timedelta, timezone
    from decimal import Decimal
    from fractions import Fraction

    import pandas as pd
    from icecore.timeseries.gps import clock_ns, gps_ns

    time = pytest.importorskip("astropy.time").Time
    text, gps = "2015-09-14T09:50:45.390000000", 1126259462_390000000
    stamp = np.datetime64(text, "ns")
    same = [
        text,
        "2015-09-14T11:50:45.39+02:00",
        "2015-09-14 04:20:45.39 -0530",
        stamp,
        np.array(stamp),
        pd.Timestamp(text),
        pd.Timestamp(text, tz="UTC").tz_convert("Asia/Tokyo"),
        datetime(2015, 9, 14, 9, 50, 45, 390000),
        datetime(2015, 9, 14, 9, 50, 45, 390000, UTC),
        datetime(2015, 9, 14, 11, 50, 45, 390000, timezone(timedelta(hours=2))),
        time(text, scale="utc"),
        time(text, scale="utc").tai,
        time(1126259462, 0.39, format="gps"),
        Decimal("1126259462.39"),
        Fraction(112625946239, 100),
        1126259462.39,
        np.float64(1126259462.39),
    ]
    for value in same:
        assert gps_ns(value) == gps, repr(value)
        assert clock_ns(value, "UTC") == int(stamp.astype("i8")), repr(value)
    for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"):
        cut = np.datetime64(text).astype(f"M8[{unit}]")
        assert gps_ns(cut) == gps_ns(str(cut.astype("M8[ns]"))), unit
    assert gps_ns(date(2015, 9, 14)) == gps_ns("2015-09-14")
    assert gps_ns(pd.Timestamp("2015-09-14T09:50:45.123456789")) == 1126259462_123456789
    wrong = [
        np.datetime64("NaT", "s"),
        pd.NaT,
        timedelta(1),
        np.timedelta64(1, "s"),
        pd.Timedelta("1s"),
        True,
        None,
    ]
    wrong += [float("nan"), 1.4e18, "soon", "", [1], np.arange(2), np.datetime64("3000-01-01")]
    for value in wrong:
        with pytest.raises(errors.Error) as caught:
            gps_ns(value)
        assert caught.value.kind == "invalid", repr(value)
