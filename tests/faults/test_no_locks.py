"""A file system without locks: writers exclude each other by other means, and no commit is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import icecore
import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs LD_PRELOAD and a C compiler"
)

NO_LOCKS = """
#include <errno.h>
int flock(int file, int what) { errno = NUMBER; return -1; }
"""
NO_LINKS = """
#include <errno.h>
int link(const char *a, const char *b) { errno = EPERM; return -1; }
int linkat(int x, const char *a, int y, const char *b, int flags) { errno = EPERM; return -1; }
"""
COMMITS = """
import sys, icecore, numpy as np
for k in range(int(sys.argv[3])):
    with icecore.open(sys.argv[1]).writer("x") as writer:
        writer.array(f"/p{sys.argv[2]}_{k}", "i8", (3,))[...] = k
"""


def _library(folder: Path, source: str) -> Path:
    code, made = folder / "refuse.c", folder / "refuse.so"
    code.write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", made, code], check=True)
    return made


def _environment(library: Path) -> dict[str, str]:
    return {**os.environ, "LD_PRELOAD": str(library)}


@pytest.mark.parametrize("number", ["ENOSYS", "ENOLCK", "EOPNOTSUPP"])
@pytest.mark.parametrize("links", [True, False])
def test_commits_work_and_say_so_once(tmp_path: Path, number: str, links: bool) -> None:
    source = NO_LOCKS.replace("NUMBER", number) + ("" if links else NO_LINKS)
    library = _library(tmp_path, source)
    place = tmp_path / "r.icecore"
    create = f"import icecore; icecore.create({str(place)!r})\n" + COMMITS
    done = subprocess.run(
        [sys.executable, "-c", create, place, "0", "3"],
        env=_environment(library),
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr.count("has no file locks") == 1
    assert sorted(icecore.open(place).arrays) == ["/p0_0", "/p0_1", "/p0_2"]
    assert not list(place.glob(".icecore.lock.*"))


def test_no_commit_of_eight_processes_is_lost(tmp_path: Path) -> None:
    library = _library(tmp_path, NO_LOCKS.replace("NUMBER", "ENOSYS"))
    place = tmp_path / "r.icecore"
    icecore.create(place)
    # One process in four has locks: as on a cluster whose nodes mount the file system differently.
    environments = [dict(os.environ) if i % 4 == 3 else _environment(library) for i in range(8)]
    first = [sys.executable, "-c", COMMITS, str(place)]
    subprocess.run([*first, "first", "1"], env=_environment(library), check=True, timeout=60)
    running = [
        subprocess.Popen([*first, str(i), "20"], env=environment, stderr=subprocess.DEVNULL)
        for i, environment in enumerate(environments)
    ]
    assert [process.wait(timeout=110) for process in running] == [0] * 8
    repo = icecore.open(place)
    assert sum(name.startswith("/p") for name in repo.arrays) == 161
    assert len(repo.log()) == 162


#: says what is committed
SAYING = """
import sys, icecore
for k in range(int(sys.argv[3])):
    path = f"/p{sys.argv[2]}_{k}"
    with icecore.open(sys.argv[1]).writer("x") as writer:
        writer.array(path, "i8", (3,))[...] = k
    print(path, flush=True)
"""


def commits_with_killed_writers(place: Path, environment: dict[str, str], commits: int = 20) -> None:
    """8 processes commit; 4 of them are killed: no acknowledged commit is lost, and no lock stays."""
    command = [sys.executable, "-c", SAYING, str(place)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    running = [
        subprocess.Popen([*command, str(i), str(commits if i > 3 else 10_000)], env=environment, **pipes)  # type: ignore[call-overload]
        for i in range(8)
    ]
    said: list[str] = []
    for i, process in enumerate(running[:4]):
        said += [process.stdout.readline().strip() for _ in range(1 + i)]
        process.kill()
    for process in running:
        said += process.communicate(timeout=200)[0].split()
    assert [process.returncode for process in running] == [-9] * 4 + [0] * 4
    repo = icecore.open(place)
    assert set(said) <= set(repo.arrays)
    assert sum(name.startswith(("/p4", "/p5", "/p6", "/p7")) for name in repo.arrays) == 4 * commits
    assert not repo.verify(history=True)
    subprocess.run([*command, "last", "1"], env=environment, check=True, timeout=100, capture_output=True)
    assert not (place / ".icecore.lock.holder").exists()
    repo.gc(timedelta(0))
    assert not list(place.glob(".icecore.lock.*"))


def test_killed_writers_leave_no_lock(tmp_path: Path) -> None:
    library = _library(tmp_path, NO_LOCKS.replace("NUMBER", "ENOSYS"))
    icecore.create(tmp_path / "r.icecore")
    commits_with_killed_writers(tmp_path / "r.icecore", _environment(library), 6)


def test_where_nothing_works_the_file_system_is_named_and_nothing_stays(tmp_path: Path) -> None:
    refuse = (
        NO_LINKS
        + """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
int open64(const char *path, int flags, ...) {
  static int (*real)(const char *, int, ...);
  if (!real) real = dlsym((void *)-1L, "open64");
  va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest);
  if (flags & O_EXCL) { errno = ENOSYS; return -1; }
  return real(path, flags, mode);
}
"""
    )
    library = _library(tmp_path, NO_LOCKS.replace("NUMBER", "ENOSYS") + refuse)
    place = tmp_path / "deep" / "r.icecore"
    code = f"import icecore\ntry: icecore.create({str(place)!r})\n"
    code += "except icecore.Error as e: print(e.kind, '|', e)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=_environment(library),
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.startswith("unsupported |"), done
    assert " at /" in done.stdout
    assert not (tmp_path / "deep").exists()
