"""Ctrl-C at any line of a writer: what is committed afterwards is whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.writing.array_writer import ArrayWriter

_FILES = ("arraywriter.py", "appending.py", "writer.py", "suiting.py")


@contextmanager
def ctrl_c_at(line: int) -> Iterator[list[int]]:
    """Stop at this line of the writer's modules, counted as they run; what is left says if it came."""
    left = [line]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if Path(frame.f_code.co_filename).name not in _FILES:
            return None
        left[0] -= event == "line"
        if left[0] == 0:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield left
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)


def rows(first: int, count: int) -> np.ndarray:
    return (np.arange(first, first + count)[:, None] * 300 + np.arange(300)).astype("f8")


@pytest.mark.parametrize("again", [0, 25])
@pytest.mark.parametrize(
    ("chunks", "stored", "use", "shapes"),
    [
        ((5, 300), 5, lambda a: a.append(rows(5, 6)), range(5, 12)),  # a whole shard, and the rest
        (None, 1, lambda a: a.append(rows(1, 200)), range(1, 202)),  # longer shards
        (None, 40, lambda a: a._writer.commit(), [40]),  # shorter ones
        ((5, 300), 13, lambda a: a.resize((7, 300)), [7, 13]),
    ],
)
def test_what_is_committed_afterwards_is_whole(
    chunks: tuple[int, ...] | None,
    stored: int,
    use: Callable[[ArrayWriter], None],
    shapes: Any,
    again: int,
) -> None:
    for line in range(1, 400):
        repo = icecore.create("memory://")
        w = repo.writer()
        a = w.array("/a", "f8", (0, 300), chunks=chunks, codec="zstd")
        a.append(rows(0, stored))
        if stored == 1:
            w.commit()
        with ctrl_c_at(line) as left:
            use(a)
        length = a.shape[0]
        assert length in shapes
        if again:
            with ctrl_c_at(again):
                w.attrs("/a", {"units": "m"})
        w["/a"].append(rows(length, 2))
        w.commit()
        assert a.shape == (length + 2, 300)
        np.testing.assert_array_equal(repo.at("main")["/a"][...], rows(0, length + 2))
        if left[0] > 0:
            return
    raise AssertionError("more lines than were tried")


def test_a_checksum_that_came_halfway(tmp_path: Path) -> None:
    """An array that does without one gets it before it changes, in metadata and data."""
    data = np.arange(30_000) % 100
    np.save(tmp_path / "a.npy", data)
    repo = icecore.create("memory://")
    icecore.pack(tmp_path / "a.npy", repo, "/", goal="archive")
    repo = repo.at("main")
    for line in range(1, 400):
        repo.branch(f"b{line}")
        w = repo.writer(branch=f"b{line}")
        with ctrl_c_at(line) as left:
            w["/a"][3] = 3
        w.attrs("/a", {"line": line})
        w.commit()
        np.testing.assert_array_equal(repo.at(f"b{line}")["/a"][...], data)
        if left[0] > 0:
            return
    raise AssertionError("more lines than were tried")
