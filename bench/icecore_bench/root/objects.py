"""Tables 2 and 3: the study's three objects in plain baskets, with RAC, and in pages."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import icecore
import numpy as np

from icecore_bench.root import trees
from icecore_bench.root.clock import clock, size
from icecore_bench.study import Outcome, Table

_BASKET, _LEVEL, _RANDOM = 32_000, 6, 2000
#: name → (bytes of an object, objects)
_OBJECTS = {"Tlarge": (4_000_000, 16), "Tsmall": (4_000, 16_000), "Tint": (39, 1_600_000)}


@dataclass(frozen=True)
class Store:
    """Objects in one form: how some of them (in order), or all, are read into columns."""

    name: str
    path: Path
    read: Callable[[np.ndarray[Any, Any] | None], Any]


def measure(folder: Path, source: str | None, work: Path, say: Callable[[str], None], quick: bool) -> Outcome:
    """Measure ratio, random and sequential reads, with a warm and a cold page cache."""
    heads = ["object, store", "bytes", "ratio", "loss, %"]
    ratios = Table(f"Table 2: sizes; the loss is against baskets of 32 kB with zlib-{_LEVEL}", heads)
    heads = [
        "object, store",
        "random, ms",
        "random, CPU ms",
        "random, cold, ms",
        "all, ms",
        "all, CPU ms",
        "all, cold, ms",
    ]
    reads = Table(f"Table 3: up to {_RANDOM:,} random objects, and all objects", heads)
    for name, (length, count) in _OBJECTS.items():
        count = max(count // 10, 4) if quick else count
        columns = _columns(name, count)
        raw = sum(column.nbytes for column in columns.values())
        if raw != length * count:
            raise AssertionError(f"{name} has {raw / count} bytes an object")
        chosen = np.sort(np.random.default_rng(5).choice(count, min(_RANDOM, count // 4), replace=False))
        plain = 0.0
        for make in (_plain, _linked, _rac, _pages):
            say(f"objects: {name}, {make.__name__.strip('_')}")
            store = make(name, columns, work)
            _check(store, columns, chosen)
            stored = size(store.path)
            plain = plain or raw / stored
            label = f"{name}, {store.name}"
            if make is not _linked:
                ratios.rows.append([label, stored, raw / stored, 100 * (1 - raw / stored / plain)])
            some = partial(store.read, chosen)
            repeats = 3 if quick or make is _rac else 5
            times = [*clock(some, repeats), clock(some, 3, [store.path])[0]]
            whole = partial(store.read, None)
            reads.rows.append([label, *times, *clock(whole, 3), clock(whole, 3, [store.path])[0]])
    return Outcome("root", [ratios, reads])


def _columns(name: str, count: int) -> trees.Columns:
    if name == "Tlarge":
        return {"data": trees.detector(count * 1_000_000, 1)["c0"].reshape(count, 1_000_000)}
    if name == "Tsmall":
        return {"data": trees.detector(count * 1000, 1)["c0"].reshape(count, 1000)}
    random = np.random.default_rng(11)
    scales = (3, 10, 40, 200, 900, 4000, 20_000, 90_000)
    made = {f"i{n}": random.poisson(scale, count).astype("i4") for n, scale in enumerate(scales)}
    made["number"] = np.arange(count, dtype="i4") + 7_000_000
    return made | {f"b{n}": random.integers(0, 4 + 8 * n, count).astype("i1") for n in range(3)}


def _check(store: Store, columns: trees.Columns, chosen: np.ndarray[Any, Any]) -> None:
    found = store.read(chosen)
    for name, values in columns.items():
        if not np.array_equal(found[name], values[chosen]):
            raise AssertionError(f"{store.name} reads other values of {name}")


def _plain(name: str, columns: trees.Columns, work: Path) -> Store:
    """The file with plain baskets, read by uproot basket by basket."""
    import uproot

    path = work / f"{name}.root"
    row = max(column.nbytes // len(column) for column in columns.values())
    trees.write(path, columns, f"zlib-{_LEVEL}", max(_BASKET // row, 1))
    tree = uproot.open(path, array_cache=None, object_cache=None)["Events"]  # no arrays are kept

    def read(rows: np.ndarray[Any, Any] | None) -> Any:
        if rows is None:
            return tree.arrays(list(columns), library="np")
        found = {}
        for column in columns:
            branch = tree[column]
            edges = np.array(branch.entry_offsets)
            at = np.searchsorted(edges, rows, "right") - 1
            parts = []
            for number in np.unique(at):
                values = branch.array(entry_start=edges[number], entry_stop=edges[number + 1], library="np")
                parts.append(values[rows[at == number] - edges[number]])
            found[column] = np.concatenate(parts)
        return found

    return Store("plain baskets, uproot", path, read)


def _linked(name: str, columns: trees.Columns, work: Path) -> Store:
    """The same file, linked."""
    repo = work / f"{name}-linked.icecore"
    icecore.link(work / f"{name}.root", repo, group="/")
    return Store("plain baskets, icecore", work / f"{name}.root", _reader(repo, columns))


def _pages(name: str, columns: trees.Columns, work: Path) -> Store:
    path = work / f"{name}-pages.icecore"
    icecore.pack(dict(columns), path, "/Events", goal="random")
    return Store("icecore --for random", path, _reader(path, columns))


def _reader(path: Path, columns: trees.Columns) -> Callable[[np.ndarray[Any, Any] | None], Any]:
    table = icecore.open(path).table("/Events")
    names = list(columns)
    return lambda rows: (
        table.arrays(names, library="np") if rows is None else table.arrays(names, entries=rows, library="np")
    )


def _rac(name: str, columns: trees.Columns, work: Path) -> Store:
    """Each object compressed by itself (RAC), one behind the other, with a table of offsets."""
    parts = [np.ascontiguousarray(c).view("u1").reshape(len(c), -1) for c in columns.values()]
    objects = np.concatenate(parts, axis=1)
    packed = [zlib.compress(each.tobytes(), _LEVEL) for each in objects]
    ends = np.cumsum([len(each) for each in packed], dtype="u8")
    path = work / f"{name}.rac"
    path.write_bytes(ends.astype("u4").tobytes() + b"".join(packed))
    kinds = [(name, c.dtype, c.shape[1:]) for name, c in columns.items()]

    def read(rows: np.ndarray[Any, Any] | None) -> Any:
        with open(path, "rb") as file:
            edges = np.concatenate([[0], np.frombuffer(file.read(4 * len(ends)), "u4")]).astype("i8")
            found = []
            if rows is None:
                data = file.read()
                for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
                    found.append(zlib.decompress(data[start:end]))
            else:
                for row in rows.tolist():
                    file.seek(4 * len(ends) + int(edges[row]))
                    found.append(zlib.decompress(file.read(int(edges[row + 1] - edges[row]))))
        records = np.frombuffer(b"".join(found), np.dtype(kinds))
        return {column: records[column] for column in columns}

    return Store("RAC, zlib by Python", path, read)
