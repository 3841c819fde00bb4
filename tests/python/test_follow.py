"""``icecore pack --follow``: files as they appear, a commit a look, going on where it stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from icecore.ingest import report as icecore_report
from icecore.ingest.follow import follower as follow
from icecore.ingest.follow import ledger
from icecore.ingest.follow.follower import Event, Follower
from icecore.ingest.follow.ledger import Arrivals, Seen, look
from icecore.ingest.options import PackOptions

RNG = np.random.default_rng(29)


def step(path: Path, first: int, count: int = 1) -> None:
    """One output file of a model: ``count`` times from ``first`` on."""
    with h5py.File(path, "w") as file:
        time_ = file.create_dataset("time", data=np.arange(first, first + count, dtype="f8"))
        y = file.create_dataset("y", data=np.linspace(0, 1, 40))
        for scale, name in ((time_, "time"), (y, "y")):
            scale.make_scale(name)
        values = file.create_dataset("t2m", data=field(first, count))
        values.dims[0].attach_scale(time_)
        values.dims[1].attach_scale(y)


def field(first: int, count: int) -> np.ndarray:
    return (np.arange(first, first + count, dtype="f4")[:, None] * 100 + np.arange(40, dtype="f4")).copy()


def done(events: list[Event]) -> list[str]:
    """Names of the files that were packed; a failure's kind."""
    return [event.name if event.failure is None else event.failure.kind for event in events]


def both(follower: Follower) -> list[str]:
    """Two looks: what did not change in between is complete."""
    return done([*follower.step(), *follower.step()])


def test_what_is_complete(tmp_path: Path) -> None:
    arrivals = Arrivals()
    for name in ("b.nc", ".hidden.nc", "c.nc.tmp", "a.nc", "x.txt"):
        (tmp_path / name).write_bytes(b"123")
    os.mkdir(tmp_path / "folder.nc")

    def complete() -> tuple[list[str], list[str]]:
        ready, growing = arrivals.complete(look(tmp_path, "*.nc"))
        return [file.name for file in ready], [file.name for file in growing]

    assert complete() == ([], ["a.nc", "b.nc"])
    (tmp_path / "b.nc").write_bytes(b"1234")
    assert complete() == (["a.nc"], ["b.nc"])
    assert complete() == (["a.nc", "b.nc"], [])
    (tmp_path / "c.nc.tmp").rename(tmp_path / "c.nc")
    (tmp_path / "c.nc.done").touch()
    assert complete() == (["a.nc", "b.nc", "c.nc"], []), "marked: no need to wait"


def test_a_look_compares_each_file_once() -> None:
    compared = []

    class Counted(Seen):
        def __eq__(self, other: object) -> bool:
            compared.append(other)
            return super().__eq__(other)

        __hash__ = Seen.__hash__

    files = [Counted(f"{i:04}", 1, 1) for i in range(500)]
    arrivals = Arrivals()
    assert arrivals.complete(files) == ([], files)
    compared.clear()
    assert len(arrivals.complete(files)[0]) == 500
    assert len(compared) == 500


def test_a_file_may_vanish_in_the_middle_of_a_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.nc", "b.nc"):
        (tmp_path / name).write_bytes(b"123")

    class Entry:
        """An entry whose kind came with its name, as on most file systems, so that only stat() looks."""

        def __init__(self, entry: os.DirEntry[str]) -> None:
            self.name, self.stat = entry.name, entry.stat

        def is_file(self) -> bool:
            return True

    with os.scandir(tmp_path) as found:
        listed = [Entry(entry) for entry in found]
    (tmp_path / "a.nc").unlink()
    monkeypatch.setattr("icecore.ingest.follow.ledger.os.scandir", lambda _: nullcontext(listed))
    assert [seen.name for seen in look(tmp_path, "*.nc")] == ["b.nc"]


def test_a_run_is_followed_and_resumed(tmp_path: Path) -> None:
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    follower = Follower(run, into, concat="time", pattern="*.h5")
    assert both(follower) == []
    assert not into.exists()
    step(run / "000.h5", 0)
    step(run / "001.h5", 1)
    assert both(follower) == ["000.h5", "001.h5"]
    step(run / "002.h5", 2, 3)
    assert both(follower) == ["002.h5"]
    assert both(Follower(run, into, concat="time", pattern="*.h5")) == [], "it is known what was taken"
    step(run / "005.h5", 5)
    again = Follower(run, into, concat="time", pattern="*.h5")
    assert both(again) == ["005.h5"]
    repo = icecore.open(into)
    np.testing.assert_array_equal(repo["/run/t2m"].read(), field(0, 6))
    np.testing.assert_array_equal(repo["/run/time"].read(), np.arange(6))
    assert repo["/run/y"].shape == (40,)
    assert [c.message for c in repo.log()][:3] == ["pack 005.h5", "pack 002.h5", "pack 000.h5, 001.h5"]
    chunks = repo["/run/t2m"].chunks
    assert chunks is not None
    assert chunks[0] > 100, "planned for an axis that grows"
    assert "/__followed__" not in str(list(repo))
    assert repo.verify(deep=True) == []


def test_bad_late_and_changed_files_are_named(tmp_path: Path) -> None:
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    follower = Follower(run, into, group="/a/b", concat="time", keep_going=True)
    step(run / "010.h5", 0)
    (run / "011.h5").write_bytes(b"this is no file of a known format")
    step(run / "012.h5", 1)
    assert both(follower) == ["010.h5", "format", "012.h5"]
    assert both(follower) == [], "named once"
    step(run / "005.h5", 7)
    assert both(follower) == ["conflict"]
    step(run / "012.h5", 9, 2)
    assert both(follower) == ["source-changed"]
    np.testing.assert_array_equal(icecore.open(into)["/a/b/t2m"].read(), field(0, 2))
    assert set(ledger.taken(icecore.open(into), "/a/b")) == {"010.h5", "012.h5"}
    assert ledger.taken(icecore.open(into), "/other") == {}


def test_chunks_may_be_given_by_names_of_what_does_not_grow(tmp_path: Path) -> None:
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    for number in range(2):
        step(run / f"{number}.h5", number)
        with h5py.File(run / f"{number}.h5", "a") as file:
            file.create_dataset("z", data=np.arange(9.0)).make_scale("z")
    assert both(Follower(run, into, concat="time", chunk={"z": 4})) == ["0.h5", "1.h5"]
    assert icecore.open(into)["/run/z"].chunks == (4,)


def test_a_file_that_grows_holds_up_the_later_ones(tmp_path: Path) -> None:
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    step(run / "0.h5", 0)
    step(run / "1.h5", 1)
    follower = Follower(run, into, concat="time")
    assert done(list(follower.step())) == []
    os.utime(run / "0.h5", ns=(1, 1))
    assert done(list(follower.step())) == [], "1.h5 is complete and waits"
    assert done(list(follower.step())) == ["0.h5", "1.h5"]
    each = Follower(run, tmp_path / "each.icecore")
    assert both(each) == ["0.h5", "1.h5"]
    repo = icecore.open(tmp_path / "each.icecore")
    np.testing.assert_array_equal(repo["/1/t2m"].read(), field(1, 1))


@pytest.mark.parametrize("concat", [None, "time"])
@pytest.mark.parametrize("keep_going", [False, True])
def test_a_file_whose_writer_only_paused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, concat: str | None, keep_going: bool
) -> None:
    """It is neither noted in a state that it no longer has, nor left out, nor overtaken."""
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    for number in range(3):
        step(run / f"{number}.h5", number)
    whole = (run / "1.h5").read_bytes()
    (run / "1.h5").write_bytes(whole[: len(whole) // 2])
    pauses = [len(whole) * 3 // 4, len(whole)]
    before = follow.pack

    def meanwhile(options: PackOptions) -> Any:
        if pauses and any(Path(path).name == "1.h5" for path in options.sources):
            (run / "1.h5").write_bytes(whole[: pauses.pop(0)])
        return before(options)

    monkeypatch.setattr(follow, "pack", meanwhile)
    follower = Follower(run, into, concat=concat, keep_going=keep_going)
    events = done([event for _ in range(9) for event in follower.step()])
    assert events == (["0.h5", "1.h5", "2.h5"] if concat else ["0.h5", "2.h5", "1.h5"])
    assert done(list(Follower(run, into, concat=concat).step())) == []
    path = "/run/t2m" if concat else "/1/t2m"
    np.testing.assert_array_equal(icecore.open(into)[path].read(), field(*((0, 3) if concat else (1, 1))))


def test_files_that_are_there_share_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each commit writes the unfinished chunks again, and copies the list of versions."""
    run = tmp_path / "run"
    run.mkdir()
    for number in range(60):
        step(run / f"{number:02}.h5", number)
    (run / "41.h5").write_bytes(b"nothing")
    follower = Follower(run, tmp_path / "r.icecore", concat="time", keep_going=True)
    events = [*follower.step(), *follower.step()]
    assert [event.name for event in events] == [f"{number:02}.h5" for number in range(60)]
    assert [event.name for event in events if event.failure is not None] == ["41.h5"]
    repo = icecore.open(tmp_path / "r.icecore")
    assert len(repo.log()) < 10, "the bad one is found by halves"
    assert events[0].as_dict()["files"] == len(events[0].together) == 30
    assert next(event.name for event in events if event.is_last and event.report is not None) == "29.h5"
    np.testing.assert_array_equal(repo["/run/time"].read(), [n for n in range(60) if n != 41])
    chunks = repo["/run/t2m"].chunks
    monkeypatch.setattr("icecore.ingest.follow.follower._FILES", 1)
    single = Follower(run, tmp_path / "single.icecore", concat="time", keep_going=True)
    assert len(both(single)) == 60
    assert icecore.open(tmp_path / "single.icecore")["/run/t2m"].chunks == chunks, "the next come one by one"
    monkeypatch.setattr("icecore.ingest.follow.follower._FILES", 256)
    monkeypatch.setattr("icecore.ingest.follow.follower._BYTES", 3 * (run / "00.h5").stat().st_size)
    apart = Follower(run, tmp_path / "apart.icecore", group="/a")
    events = [*apart.step(), *apart.step()]
    assert max(len(event.together) for event in events) == 3
    np.testing.assert_array_equal(icecore.open(tmp_path / "apart.icecore")["/a/07/t2m"].read(), field(7, 1))


def test_a_bad_file_holds_up_the_later_ones(tmp_path: Path) -> None:
    """Where rows are added at the end, what comes after it could not be taken back."""
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    follower = Follower(run, into, concat="time")
    for number in range(4):
        step(run / f"{number}.h5", number)
    whole = (run / "1.h5").read_bytes()
    (run / "1.h5").write_bytes(whole[: len(whole) // 2])
    events = [*follower.step(), *follower.step()]
    assert [event.name for event in events] == ["0.h5", "1.h5"]
    assert events[1].failure is not None
    assert "later files wait for it" in events[1].failure.hint
    assert "--keep-going" in events[1].failure.hint
    assert both(follower) == [], "named once"
    (run / "1.h5").write_bytes(whole)
    assert both(follower) == ["1.h5", "2.h5", "3.h5"]
    (run / "4.h5").write_bytes(whole[:99])
    step(run / "5.h5", 4)
    assert both(follower) == ["corrupt"]
    (run / "4.h5").unlink()
    assert both(follower) == ["5.h5"]
    (run / "3.h5").write_bytes(whole)
    step(run / "6.h5", 5)
    assert both(follower) == ["source-changed", "6.h5"], "its rows are in, nobody waits for it"
    np.testing.assert_array_equal(icecore.open(into)["/run/time"].read(), np.arange(6))


def test_a_long_wait_is_said(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    step(run / "1.h5", 1)
    step(run / "2.h5", 2)
    follower = Follower(run, tmp_path / "r.icecore", concat="time")
    said = []
    for look_ in range(30):
        (run / "0.h5").write_bytes(b"x" * look_)
        said += list(follower.step())
    assert [event.as_dict() for event in said] == [{"event": "waiting", "name": "0.h5", "later": 2}]
    (run / "0.h5").unlink()
    assert both(follower) == ["1.h5", "2.h5"]


def test_two_followers_take_each_file_once(tmp_path: Path) -> None:
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    step(run / "0.h5", 0)
    followers = [Follower(run, into, concat="time") for _ in range(2)]
    for number in range(1, 4):
        step(run / f"{number}.h5", number)
        for follower in followers:
            list(follower.step())
        taken = [done(list(follower.step())) for follower in followers]
        assert sum(map(len, taken)) == (2 if number == 1 else 1)
        followers.reverse()
    np.testing.assert_array_equal(icecore.open(into)["/run/t2m"].read(), field(0, 4))


@pytest.mark.parametrize("first", [True, False])
def test_somebody_takes_a_file_in_the_same_moment(
    tmp_path: Path, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it was looked up, before it is packed: also where there was no repository yet."""
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    quick, slow = Follower(run, into, concat="time"), Follower(run, into, concat="time")
    if not first:
        step(run / "0.h5", 0)
        assert both(quick) == ["0.h5"]
    for number in (1, 2):
        step(run / f"{number}.h5", number)
    list(slow.step())
    pack = Follower._pack

    def late(self: Follower, file: Seen) -> icecore_report.Report:
        monkeypatch.undo()
        assert both(quick) == ["1.h5", "2.h5"]
        return pack(self, file)

    monkeypatch.setattr(Follower, "_pack", late)
    assert list(slow.step()) == []
    times = icecore.open(into)["/run/time"].read()
    np.testing.assert_array_equal(times, np.arange(1 if first else 0, 3))


def test_processes_that_follow_one_folder(tmp_path: Path) -> None:
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    started = [
        subprocess.Popen(command(run, into, "--until-idle", "3s"), stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for number in range(12):
        step(run / f".{number:02}", number)
        (run / f".{number:02}").rename(run / f"{number:02}.h5")
        time.sleep(0.15)
    lines = [
        json.loads(line)
        for process in started
        for line in process.communicate(timeout=60)[0].split("\n")
        if line
    ]
    assert sorted(line["name"] for line in lines if line["event"] != "end") == [
        f"{n:02}.h5" for n in range(12)
    ]
    assert [process.returncode for process in started] == [0, 0, 0]
    np.testing.assert_array_equal(icecore.open(into)["/run/t2m"].read(), field(0, 12))


def test_what_makes_no_sense(tmp_path: Path) -> None:
    for folder, poll, kind in ((tmp_path / "none", 1.0, "not-found"), (tmp_path, 0.0, "invalid")):
        with pytest.raises(icecore.Error) as caught:
            Follower(folder, tmp_path / "r.icecore", poll=poll)
        assert caught.value.kind == kind
    assert Seen("a", 1, 2) != Seen("a", 1, 3)


def command(run: Path, into: Path, *more: str) -> list[str]:
    follow = [
        "pack",
        "--follow",
        str(run),
        "--into",
        str(into),
        "--concat",
        "time",
        "--poll",
        "50ms",
        "--json",
    ]
    return [sys.executable, "-m", "icecore", *follow, *more]


def test_on_the_command_line_until_idle(tmp_path: Path) -> None:
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    step(run / "0.h5", 0)
    (run / "1.h5").write_bytes(b"nothing")
    ended = subprocess.run(
        command(run, into, "--until-idle", "500ms", "--glob", "*.h5"),
        capture_output=True,
        text=True,
        timeout=60,
    )
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [line["event"] for line in lines] == ["packed", "failed", "end"], ended.stderr
    assert lines[0]["snapshot"] == icecore.open(into).snapshot_id
    assert lines[2]["failed"] == ["1.h5"]
    assert ended.returncode == 2
    wrong = subprocess.run(command(run, into, "x.nc"), capture_output=True, text=True, timeout=60)
    assert wrong.returncode == 2
    assert "error[invalid]" in wrong.stderr


@pytest.mark.parametrize(
    "options",
    [
        {"codec": "nothing"},
        {"codec": "zstd:99"},
        {"codec": "[{]"},
        {"chunk": (4, 0)},
        {"shard": {"time": -1}},
        {"goal": "best"},
        {"bandwidth": "fast"},
        {"access": "time"},
        {"memory": "0"},
        {"trust": "me"},
    ],
)
def test_what_no_file_can_be_packed_with_is_refused_at_once(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(icecore.Error) as following:
        Follower(tmp_path, tmp_path / "r.icecore", **options)
    with pytest.raises(icecore.Error) as packing:
        icecore.pack(tmp_path / "nothing.h5", tmp_path / "r.icecore", **options)
    assert str(packing.value) == str(following.value)
    assert following.value.kind in ("codec", "format", "invalid")


def test_columns_that_were_written_anew_are_named(tmp_path: Path) -> None:
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    follow = [
        word for word in command(run, into, "--until-idle", "500ms", "--group", "/t") if word != "--json"
    ]
    for name, rows in (("0.csv", b"n,a\n1,1\n"), ("1.csv", b"n,a\n2,2.5\n")):
        (run / name).write_bytes(rows)
        ended = subprocess.run(follow, capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, ended.stderr
    message = (
        "column a became float64 with 1 decimals, was int64: 1.csv needs it; its 1 row were written again"
    )
    told = " ".join((ended.stdout + ended.stderr).split()).replace(f"{run}/", "")
    assert message in told
    assert icecore.open(into)["/t/a"][...].tolist() == [1, 2.5]


def test_ctrl_c_ends_it_and_it_goes_on(tmp_path: Path) -> None:
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    for number in range(3):
        step(run / f"{number}.h5", number)
    process = subprocess.Popen(command(run, into), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(3):
        assert json.loads(process.stdout.readline())["event"] == "packed"
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert json.loads(said.splitlines()[-1]) == {"event": "end", "why": "stopped", "packed": 3, "failed": []}
    assert process.returncode == 0


#: the command line with commits of three files at most
_IN_THREES = (
    "from icecore.ingest.follow import follower; from icecore.cli import main; follower._FILES = 3; main()"
)


def test_killed_it_loses_and_repeats_nothing(tmp_path: Path) -> None:
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    for number in range(30):
        step(run / f"{number:03}.h5", number)
    for _ in range(2):
        arguments = command(run, into)[3:]
        process = subprocess.Popen(
            [sys.executable, "-c", _IN_THREES, *arguments], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(RNG.uniform(0, 0.2))
        process.kill()
        process.wait()
    known = len(ledger.taken(icecore.open(into), "/run"))
    assert 2 <= known < 30, "the kills came too early or too late to test anything"
    assert icecore.open(into)["/run/t2m"].shape[0] == known
    follower = Follower(run, into, concat="time")
    assert len(both(follower)) == 30 - known
    np.testing.assert_array_equal(icecore.open(into)["/run/t2m"].read(), field(0, 30))


def test_no_name_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unset variable of a shell must not stand for the folder that one is in."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(icecore.Error, match="'' is not a directory"):
        Follower("", tmp_path / "r.icecore")


def appeared(follower: Follower) -> list[str]:
    """Kinds of the events of two polls, in order."""
    events = [*follower.step(), *follower.step()]
    return [str(event.as_dict()["event"]) for event in events]


def test_linked_files_may_be_late(tmp_path: Path) -> None:
    """Nothing waits for a file that still grows; it is inserted where it belongs."""
    run, into = tmp_path / "run", tmp_path / "r.icecore"
    run.mkdir()
    follower = Follower(run, into, concat="time", link=True)
    step(run / "0.h5", 0)
    step(run / "2.h5", 2)
    (run / "1.h5").write_bytes(b"x")
    list(follower.step())
    (run / "1.h5").write_bytes(b"xx")
    assert done(list(follower.step())) == ["0.h5", "2.h5"]
    step(run / "1.h5", 1)
    assert appeared(follower) == ["linked"]
    repo = icecore.open(into)
    assert repo["/run/time"][...].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(repo["/run/t2m"].read(), field(0, 3))
    assert appeared(Follower(run, into, concat="time", link=True)) == [], "it goes on where it stopped"


@pytest.mark.parametrize("link", [False, True])
def test_frames_continue_their_channels(tmp_path: Path, link: bool) -> None:
    from icecore.samples.gwf import write_frame

    run, t0 = tmp_path / "run", 1_400_000_000
    run.mkdir()

    def frame(second: int) -> None:
        values = np.arange(second * 4, second * 4 + 4, dtype="f4")
        write_frame(run / f"H-{second:03}.gwf", t0 + second, {"H1:X": (values, 4.0)})

    follower = Follower(run, tmp_path / "r", link=link)
    for second in (0, 1, 3) if link else (0, 1, 2):
        frame(second)
        assert len(appeared(follower)) == 1
    if link:
        frame(2)
        assert appeared(follower) == ["linked"]
    repo = icecore.open(tmp_path / "r")
    assert repo["/H1/X"][...].tolist() == list(range(16 if link else 12))
    assert repo["/H1/X"].linked is link


def test_a_list_of_files_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    cache = tmp_path / "files.txt"
    for number in range(2):
        step(tmp_path / "a" / f"{number}.h5", number)
        cache.write_text("".join(f"a/{n}.h5\n" for n in range(number + 1)))
        if number == 0:
            follower = Follower(f"@{cache}", tmp_path / "r", concat="time", pattern="*.h5", link=True)
        assert appeared(follower) == ["linked"]
    cache.write_text("")
    assert appeared(follower) == [], "as if it were being replaced"
    assert icecore.open(tmp_path / "r")["/files/time"][...].tolist() == [0, 1]


def test_short_chunks_are_merged_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("icecore.ingest.follow.follower._COMMITS", 4)
    run = tmp_path / "run"
    run.mkdir()
    followers = [
        Follower(run, tmp_path / name, concat="time", compact=how)
        for name, how in (("a", "auto"), ("b", None))
    ]
    for number in range(8):
        step(run / f"{number}.h5", number)
        for follower in followers:
            assert appeared(follower) == ["packed"]
    compacted, plain = (icecore.open(tmp_path / name) for name in ("a", "b"))
    np.testing.assert_array_equal(compacted["/run/t2m"].read(), plain["/run/t2m"].read())
    messages = [commit.message for commit in compacted.log()]
    assert messages.count("compact") <= 2
    assert "compact" not in [commit.message for commit in plain.log()]
    with pytest.raises(icecore.Error, match="compact must be"):
        Follower(run, tmp_path / "a", compact="always")
