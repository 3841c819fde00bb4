"""What somebody meets who tries things out: quotes, pipes, names left short, folders of everything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: ``a b ü.h5``, and a repository that links it and holds a table of 50,000 rows."""
    folder = tmp_path / "new user ü"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    with h5py.File("a b ü.h5", "w") as file:
        file["x"] = np.arange(10.0)
    Path("t.csv").write_text("n,v\n" + "".join(f"{i},{i % 7}\n" for i in range(50_000)))
    icecore.link("a b ü.h5", into="moon.icecore")
    icecore.pack("t.csv", into="moon.icecore")
    return folder


def test_no_verb_is_no_error(run: Any) -> None:
    status, _, err = run()
    assert status == 2
    assert err.startswith("Usage: icecore")


def test_homes_and_links(place: Path, run: Any) -> None:
    os.symlink("a b ü.h5", "link.h5")
    os.symlink("moon.icecore", "moonlink")
    for i, source in enumerate(("~/a b ü.h5", "link.h5", "./a b ü.h5", "a b*.h5")):
        assert run("link", source, "--into", "~/made.icecore", "--group", f"/g{i}")[0] == 0
    assert (place / "made.icecore").is_dir()
    assert run("read", "~/made.icecore", "/g0/x", "1:3")[0] == 0
    assert "x" in run("ls", "moonlink")[1]


def test_a_name_left_short(place: Path, run: Any) -> None:
    status, _, err = run("ls", "moon")
    assert status == 2
    assert f"did you mean {place}/moon.icecore?" in err
    assert "make one" in run("ls", "sun")[2]


def test_a_mistyped_source(place: Path, run: Any) -> None:
    for source, hint in (("a b u.h5", "did you mean a b ü.h5?"), ("no/a.h5", "directory no does not exist")):
        status, _, err = run("link", source, "--into", "new.icecore")
        assert status == 2
        assert f"no file at {source}" in err
        assert hint in err
    said = run("pack", "@names.txt", "--into", "new.icecore")[2]
    assert "can't read the list names.txt: No such file or directory" in said


def test_a_folder_that_holds_repositories(place: Path, run: Any) -> None:
    """Their own files are nobody's data, though a seal looks like a table."""
    _, out, err = run("link", ".", "--into", "all.icecore", "--dry-run", "--keep-going")
    assert "seals" not in out + err
    icecore.pack(".", into="packed.icecore")
    assert set(icecore.open("packed.icecore").arrays) == {"/a b ü/x", "/t/n", "/t/v"}
    # A repository that is named is a source.
    assert run("link", "moon.icecore", "--into", "again.icecore")[0] == 0
    again, moon = (icecore.open(f"{name}.icecore") for name in ("again", "moon"))
    assert all((again[path][...] == moon[path][...]).all() for path in moon.arrays)


def test_a_folder_called_snapshots_makes_no_repository(place: Path, run: Any) -> None:
    """Simulations have one."""
    Path("run/snapshots").mkdir(parents=True)
    np.save("run/snapshots/s0.npy", np.arange(4))
    for verb in ("link", "pack"):
        assert run(verb, "run", "--into", "run.icecore", "--replace")[0] == 0
    assert set(icecore.open("run.icecore").arrays) == {"/s0/s0"}
    Path("moon.icecore/repo").unlink()
    status, _, err = run("pack", "moon.icecore", "--into", "again.icecore")
    assert (status, "without its file `repo`" in err) == (2, True)


def test_a_pipe_is_no_source(place: Path, run: Any) -> None:
    os.mkfifo("pipe.h5")
    for verb in ("link", "pack"):
        status, _, err = run(verb, "pipe.h5", "--into", "p.icecore")
        assert status == 2
        assert "error[format]: pipe.h5 is a pipe or a device, not a file" in err
    assert not Path("p.icecore").exists()


def test_a_reader_that_leaves(place: Path) -> None:
    """As ``head`` does: nothing is said, and a script with ``pipefail`` goes on."""
    command = [sys.executable, "-m", "icecore", "query", "moon.icecore", "/t"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.readline() == b'"n","v"\n'
    child.stdout.close()
    assert (child.stderr.read(), child.wait(timeout=60)) == (b"", 0)


def said(*words: str) -> bytes:
    """What a command of its own process writes to stdout."""
    return subprocess.run([sys.executable, "-m", "icecore", *words], capture_output=True, check=True).stdout


def test_data_go_to_stdout(place: Path, run: Any) -> None:
    """``-o -`` is stdout with every verb that writes data, and nothing else is written there."""
    assert said("restore", "moon.icecore", "/t", "-o", "-") == Path("t.csv").read_bytes()
    assert said("read", "moon.icecore", "/a b ü/x", "1:3", "-o", "-") == b"phony_dim_0,x\n1,1.0\n2,2.0\n"
    rows = json.loads(said("query", "moon.icecore", "/t", "--limit", "2", "-o", "-", "--json"))
    assert rows == [{"n": 0, "v": 0}, {"n": 1, "v": 1}]
    assert json.loads(said("read", "moon.icecore", "/a b ü/x", "1:3", "-o", "-", "--json"))["data"] == [1, 2]
    assert not Path("-").exists()
    assert said("restore", "moon.icecore", "/t", "-o", "again.csv") == b""
    status, _, err = run("restore", "moon.icecore", "/t", "-o", "-", "--json")
    assert status == 2
    assert "both write to stdout" in err
    Path("u.csv").write_text("n,v\n1,2\n")
    icecore.pack(["t.csv", "u.csv"], "moon.icecore", "/two", "rows")
    status, _, err = run("restore", "moon.icecore", "/two", "-o", "-")
    assert status == 2
    assert "/two was packed from 2 files, and stdout takes one" in err


def test_json_tells_of_a_file_that_was_written(place: Path, run: Any) -> None:
    status, out, _ = run("query", "moon.icecore", "/t", "--limit", "3", "-o", "q.csv", "--json")
    assert status == 0
    assert json.loads(out) == {"file": "q.csv", "rows": 3, "columns": ["n", "v"]}


def test_no_rows_are_what_was_asked_for(place: Path, run: Any) -> None:
    """The names of the columns alone, as SQL's ``limit 0`` gives them: not "no row matches"."""
    assert run("query", "moon.icecore", "/t", "--limit", "0", "-o", "q.csv")[0] == 0
    assert Path("q.csv").read_text() == '"n","v"\n'
    assert run("query", "moon.icecore", "/t", "--where", "n < 0", "-o", "q.csv")[0] == 1


def test_a_link_to_a_file_stays_a_link(place: Path, run: Any) -> None:
    """``/dev/stdout`` is one: of what the shell opened, which no file may take the place of."""
    os.symlink("there.csv", "link.csv")
    for _ in range(2):  # there is no such file yet, then there is one
        assert run("restore", "moon.icecore", "/t", "-o", "link.csv")[0] == 0
        assert os.readlink("link.csv") == "there.csv"
        assert Path("there.csv").read_bytes() == Path("t.csv").read_bytes()


def test_the_root_has_one_slash(place: Path, run: Any) -> None:
    assert run("diff", "moon.icecore", "1CECHNKREP0F1RSTCMT0")[1].splitlines()[0] == "+ /"


def test_a_path_stands_apart_from_its_repository(place: Path, run: Any) -> None:
    """REPO:/path is for sources; as a destination it made a folder of that name."""
    for words in (["ls", "moon.icecore:/t"], ["link", "a b ü.h5", "--into", "moon.icecore:/t"]):
        status, _, err = run(*words)
        assert status == 2
        assert "moon.icecore:/t names /t inside a repository" in err
        assert "give them separately: moon.icecore /t" in err
    assert not Path("moon.icecore:").exists()
    assert "make one" in run("ls", "sun.icecore:/t")[2]


def test_a_path_in_a_repository_is_no_repository(place: Path, run: Any) -> None:
    """As zarr-python takes it; as a destination it made a repository among the files of the other."""
    status, _, err = run("ls", "moon.icecore/t")
    assert (status, "separately: moon.icecore /t" in err) == (2, True)
    for name in ("moon.icecore/wrf/d01", Path("moon.icecore").absolute() / "wrf" / "d01"):
        status, _, err = run("link", "a b ü.h5", "--into", name)
        assert (status, "error[invalid]" in err, "--group /wrf/d01 --into" in err) == (2, True, True)
    assert not Path("moon.icecore/wrf").exists()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("s3:/bucket/moon", "s3://bucket/moon"),
        ("s3:bucket", "s3://bucket"),
        ("HTTP:/host/moon", "http://host/moon"),
        ("file:/data/moon", "file:///data/moon"),
    ],
)
def test_a_url_of_one_slash(place: Path, run: Any, written: str, meant: str) -> None:
    """As a destination it made a folder ``s3:``."""
    for words in (["ls", written], ["link", "a b ü.h5", "--into", written]):
        status, _, err = run(*words)
        assert (status, f"a URL has two slashes: {meant}\n" in err) == (2, True)
    assert not Path(written.split(":")[0] + ":").exists()


def test_a_folder_may_be_called_like_a_scheme(place: Path, run: Any) -> None:
    Path("s3:").mkdir()
    assert run("link", "a b ü.h5", "--into", "s3:/moon")[0] == 0
    assert run("ls", "s3:/moon")[0] == 0


def test_commands_keep_nothing_in_memory(place: Path, run: Any) -> None:
    """It said that it had linked, and nothing was left."""
    for words in (["ls", "memory://m"], ["link", "a b ü.h5", "--into", "memory://m"], ["gc", "memory://"]):
        status, _, err = run(*words)
        assert (status, "is in memory" in err) == (2, True)
    with pytest.raises(FileNotFoundError, match=r"icecore\.create"):
        icecore.open("memory://nobody-made-it")


def test_no_version_behind_the_at(place: Path, run: Any) -> None:
    """As ``REPO@$TAG`` comes out where TAG is not set; as a destination it made a folder of that name."""
    for words in (["ls", "moon.icecore@"], ["pack", "t.csv", "--into", "moon.icecore@"]):
        status, _, err = run(*words)
        assert status == 2
        assert "moon.icecore@: the version after the @ is missing" in err
    assert not Path("moon.icecore@").exists()


def test_h_is_help(run: Any) -> None:
    assert run("-h") == run("--help")
    assert run("link", "-h") == run("link", "--help")
    assert "SRC..." in run("link", "-h")[1]


def test_chunks_that_are_for_no_array(place: Path, run: Any) -> None:
    """They were not heeded, as if chunks had been planned for what was asked."""
    status, _, err = run("pack", "a b ü.h5", "--into", "moon.icecore", "--group", "/p", "--chunk", "1,2")
    assert status == 2
    assert "chunk (1, 2) needs arrays of 2 dimensions" in err
    assert "arrays have 1" in err


def test_a_shell_completes_verbs_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_ICECORE_COMPLETE", "complete_bash")
    for typed, at, wanted in (("icecore li", "1", {b"link"}), ("icecore gc --ol", "2", {b"--older-than"})):
        monkeypatch.setenv("COMP_WORDS", typed)
        monkeypatch.setenv("COMP_CWORD", at)
        assert set(said().split()) == wanted
    monkeypatch.delenv("_ICECORE_COMPLETE")
    # Else typer looks for a shell among the parents, of which a daemon's child has none.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert b"complete -o default -F _icecore_completion" in said("--show-completion", "bash")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_stdout_is_named(place: Path) -> None:
    for words in (["query", "/t"], ["query", "/t", "--json"], ["read", "/t/n"], ["restore", "/t"]):
        command = [sys.executable, "-m", "icecore", words[0], "moon.icecore", *words[1:], "-o", "-"]
        with open("/dev/full", "w") as full:
            ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE)
        assert ran.returncode == 2
        assert b"error[io]: standard output: No space left" in ran.stderr


def test_rows_that_cannot_be_read_are_no_half_a_document(place: Path, run: Any) -> None:
    with h5py.File("a b ü.h5", "a") as file:
        file["y"] = 1
    status, out, err = run("query", "moon.icecore", "/a b ü", "--json")
    assert (status, out) == (2, "")
    assert "error[source-changed]" in err


def test_a_group_of_arrays_of_several_lengths(place: Path, run: Any) -> None:
    """What is named says which of them make the table."""
    with h5py.File("g.h5", "w") as file:
        file["lat"], file["lon"], file["scale"] = np.arange(3.0), np.arange(5.0), 2.5
        file["height"] = np.arange(5.0) * 10
    icecore.link("g.h5", "g.icecore")
    status, _, err = run("query", "g.icecore", "/g")
    assert (status, "--columns A,B" in err) == (2, True)
    status, out, err = run("query", "g.icecore", "/g", "--columns", "lon", "--where", "height > 25", "--json")
    assert (status, json.loads(out)) == (0, [{"lon": 3.0}, {"lon": 4.0}])
    assert "columns of this table: height, lon" in err
    assert json.loads(run("query", "g.icecore", "/g", "--reduce", "max:lat", "--json")[1]) == [{"max:lat": 2}]
    for columns in ("lat,lon", "scale", "nothing"):
        assert "error[mismatch]" in run("query", "g.icecore", "/g", "--columns", columns)[2]
