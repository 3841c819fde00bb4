"""Branches and fields that the engine can't decode: uproot reads them in a process of its own.

uproot may return memory that it never filled, or allocate without limit, for types that it misreads. Each
branch is therefore decoded twice, over other ranges of entries and into memory with other bytes, and is left
out if the two differ or a limit is reached.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.sources.files.identity import Identity, unchanged
from icecore.sources.root.readers import attribute

if TYPE_CHECKING:
    from icecore.sources.root.parts import Arrays, Branch, Groups

WHY = "read by uproot"
#: limits of the process for one branch: seconds, bytes of address space
SECONDS = 20
MEMORY = 4 << 30
_MISSING = f"uproot could read it: {errors.installing('root')}"


@dataclass(frozen=True)
class Found:
    """Arrays and groups of a branch, paths below it; ``why`` there are none."""

    arrays: Arrays
    groups: Groups
    why: str = ""


def read(branch: Branch) -> Arrays:
    """Return the arrays of a branch.

    Raises:
        Error: ``unsupported`` if uproot can't read it, or reads it in two ways.
    """
    found = decoded(branch)
    if found.why:
        raise errors.make("unsupported", f"{branch.path}: {branch.name}: {found.why}", "leave it out")
    return found.arrays


def names(branch: Branch) -> list[str] | None:
    """Return the paths of a branch's arrays without reading values; None if uproot does not know them."""
    try:
        opened = _opened(branch.path, branch.identity, branch.tree, branch.name)
        form = opened.interpretation.awkward_form(opened.file)
        return list(flattened(form.length_zero_array())[0])
    except Exception:  # uproot raises errors of many classes on what it can't interpret
        return None


#: entries that are compared
_COMPARED = 100


def differs(branch: Branch, arrays: Arrays) -> bool:
    """Whether uproot reads other values in the first entries of a branch that the engine decoded.

    Only for objects without lists of their own, which uproot can't take for larger ones than they are. What
    uproot can't read does not differ.
    """
    try:
        opened = _opened(branch.path, branch.identity, branch.tree, branch.name)
        theirs, _ = flattened(_layout([opened.array(entry_stop=_COMPARED)]))
    except Exception:  # uproot raises errors of many classes on what it can't interpret
        return False
    ours = {part: arrays[part][: len(values)] for part, values in theirs.items() if part in arrays}
    return ours.keys() != arrays.keys() or not _same(ours, theirs)


def decoded(branch: Branch) -> Found:
    """Decode a branch twice in the process of its own."""
    unchanged(branch.path, branch.identity)
    with _LOCK:
        return _process().ask(branch)


@lru_cache(maxsize=2)
def _tree(path: str, identity: Identity, tree: str) -> Any:
    import uproot

    unchanged(path, identity)
    return uproot.open(path)[tree]


def _opened(path: str, identity: Identity, tree: str, branch: str) -> Any:
    opened = _tree(path, identity, tree)
    # Names of branches may contain slashes, those of fields are joined by dots.
    for name in ["/" + branch] if hasattr(opened, "branches") else branch.split("."):
        opened = opened[name]
    return opened


class _Process:
    """Process that runs uproot: pickled branches on stdin, results on stdout."""

    def __init__(self) -> None:
        start = (
            f"import sys; sys.path[:] = {sys.path!r}; from icecore.sources.root.foreign import serve; serve()"
        )
        command = [sys.executable, "-c", start]
        pipe = subprocess.PIPE
        self.owner = os.getpid()
        self.child = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def ask(self, branch: Branch) -> Found:
        """Return the result for a branch; the process ends if it takes too long."""
        timer = threading.Timer(SECONDS, self.child.kill)
        timer.start()
        requests, answers = self.child.stdin, self.child.stdout
        try:
            pickle.dump(branch, requests)  # type: ignore[arg-type]
            requests.flush()  # type: ignore[union-attr]
            answer: Found = pickle.load(answers)  # type: ignore[arg-type]
        except (OSError, ValueError, EOFError, pickle.UnpicklingError):
            late = not timer.is_alive()
            self.close()
            limit = f"uproot needs more than {SECONDS} s" if late else "uproot ended without a result"
            return Found({}, {}, limit)
        finally:
            timer.cancel()
        return answer

    def close(self) -> None:
        """End the process."""
        self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


_LOCK = threading.Lock()
_running: _Process | None = None


def _process() -> _Process:
    global _running
    if _running is None or _running.owner != os.getpid() or _running.child.poll() is not None:
        _running = _Process()
    return _running


def serve() -> None:
    """Loop of the process: decodes branches until its input is closed."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries may print to stdout
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while True:
        try:
            branch = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(_twice(branch), answers)
        answers.flush()


def _twice(branch: Branch) -> Found:
    """Decode a branch as a whole, and in ranges of entries that are not those of the baskets."""
    try:
        opened = _opened(branch.path, branch.identity, branch.tree, branch.name)
        with _filled(0):
            whole = flattened(_layout([opened.array()]))
        count = len(opened.array()) if not hasattr(opened, "num_entries") else opened.num_entries
        bounds = sorted({0, count // 3, count // 2 + 1, count})
        ranges = [(low, high) for low, high in pairwise(bounds) if low < high <= count]
        with _filled(0xA5):
            pieces = [opened.array(entry_start=low, entry_stop=high) for low, high in ranges]
            again = flattened(_layout(pieces or [opened.array()]))
    except ModuleNotFoundError:
        return Found({}, {}, _MISSING)
    except MemoryError:
        return Found({}, {}, f"uproot needs more than {MEMORY >> 30} GiB")
    except Exception as error:
        first = str(error).strip().splitlines()
        return Found({}, {}, f"uproot: {type(error).__name__}: {first[0] if first else ''}"[:120])
    if not _same(whole[0], again[0]):
        return Found({}, {}, "uproot reads other values each time")
    return Found(*whole)


@contextmanager
def _filled(byte: int) -> Any:
    """Let ``numpy.empty`` return memory that is filled with ``byte``."""
    plain = np.empty

    def empty(*args: Any, **kwargs: Any) -> np.ndarray:
        made = plain(*args, **kwargs)
        if not made.dtype.hasobject and made.size:
            made.reshape(-1).view("u1")[...] = byte
        return made

    np.empty = empty  # type: ignore[assignment]
    try:
        yield
    finally:
        np.empty = plain


def _layout(pieces: list[Any]) -> Any:
    import awkward as ak

    return ak.to_packed(ak.concatenate(pieces) if len(pieces) > 1 else pieces[0]).layout


def _same(one: Arrays, two: Arrays) -> bool:
    return one.keys() == two.keys() and all(same(values, two[part]) for part, values in one.items())


def same(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether two arrays have the same values, NaN of any kind included."""
    if one.shape != two.shape or one.dtype != two.dtype:
        return False
    return bool(np.array_equal(one, two, equal_nan=one.dtype.kind in "fc"))


def flattened(layout: Any) -> tuple[Arrays, Groups]:
    """Return the arrays and groups of an Awkward layout: path → values, path → attributes."""
    parts: tuple[Arrays, Groups] = {}, {}
    _flatten(layout, "", parts)
    return parts


def _flatten(layout: Any, at: str, parts: tuple[Arrays, Groups]) -> None:
    import awkward as ak

    arrays, groups = parts
    if layout.is_indexed and not layout.is_option:
        layout = layout.project()
    if layout.parameter("__array__") == "string":
        values = np.empty(len(layout), object)
        values[:] = ak.to_list(ak.Array(layout))
        arrays[at] = values
    elif layout.is_record:
        groups.setdefault(at, {"tuple": True} if layout.is_tuple else {})
        for name in layout.fields:
            _flatten(layout[name], f"{at}/{name.replace('/', '_') or '_'}", parts)
    elif layout.is_numpy or (layout.is_regular and layout.purelist_isregular and _is_plain(layout)):
        arrays[at] = np.asarray(ak.to_numpy(ak.Array(layout)))
    elif layout.is_list:
        packed = layout.to_ListOffsetArray64(True)
        arrays[f"{at}/offsets"] = np.asarray(packed.offsets.data, "i8")
        groups[at] = attribute("offsets", "offsets", "content")
        _flatten(packed.content[: int(packed.offsets[-1])], f"{at}/content", parts)
    else:
        raise TypeError(f"values of type {ak.Array(layout).type}")


def _is_plain(layout: Any) -> bool:
    """Whether an array of fixed shape contains only numbers."""
    while layout.is_regular:
        layout = layout.content
    return bool(layout.is_numpy and layout.parameter("__array__") is None)
