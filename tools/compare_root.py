"""Compare icecore-root with uproot on real ROOT files: branch lists, kinds, and every value.

Usage: python tools/compare_root.py DUMP FILE_OR_FOLDER...
DUMP is the built example `dump` of the crate icecore-root. Needs uproot 5.7 and awkward 2.
"""

from __future__ import annotations

import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

Counts = collections.Counter[str]


def kind_in_uproot(branch: Any) -> str:
    interpretation = branch.interpretation
    name = type(interpretation).__name__
    if name == "AsDtype":
        return "record" if interpretation.from_dtype.base.fields else "flat"
    if name == "AsJagged":
        inner = type(interpretation.content).__name__
        return "jagged" if inner == "AsDtype" else f"AsJagged({inner})"
    return {"AsStrings": "string", "AsGrouped": "group"}.get(name, name)


def wrong(ours: dict[str, Any], branch: Any, folder: Path) -> str | None:
    """What differs, or None."""
    parts = [(folder / name).read_bytes() for name in ours["values"]]
    if ours["kind"] == "string":
        lengths = np.frombuffer(parts[1], "u4")
        ends = np.cumsum(lengths, dtype="i8")
        found = [parts[0][end - n : end] for end, n in zip(ends, lengths, strict=True)]
        expected = [s.encode("utf-8", "surrogateescape") for s in branch.array(library="np")]
        return None if found == expected else "strings"
    if ours["kind"] == "record":
        table = branch.array(library="np")
        for (name, dtype, shape), raw in zip(ours["fields"], parts, strict=True):
            field = table[name]
            if not same(np.frombuffer(raw, dtype).reshape(-1, *shape), field):
                return f"member {name}"
        return None
    content = np.frombuffer(parts[0], ours["dtype"]).reshape(-1, *ours["shape"])
    if ours["kind"] == "flat":
        return None if same(content, branch.array(library="np")) else "values"
    array = branch.array(library="ak")
    if len(array) == 0:
        return None if not len(content) else "content of no entries"
    if not np.array_equal(np.frombuffer(parts[1], "u4"), ak.to_numpy(ak.num(array, axis=1))):
        return "counts"
    expected = ak.to_numpy(ak.flatten(array, axis=1))
    expected = expected if len(content) else expected.reshape(content.shape)
    return None if same(content, expected) else "content"


def same(a: np.ndarray, b: np.ndarray) -> bool:
    if b.dtype.kind == "f" and a.dtype.kind == "f" and a.dtype != b.dtype:
        return bool(np.array_equal(a.astype(b.dtype), b, equal_nan=True))  # Double32_t without a range
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def compare_tree(ours: dict[str, Any], tree: Any, folder: Path, label: str, counts: Counts) -> None:
    if ours["entries"] != tree.num_entries:
        counts["WRONG entries"] += 1
        print(f"{label}: {ours['entries']} entries, uproot {tree.num_entries}")
    theirs = list(tree.itervalues(recursive=True))
    if [b["path"].split("/")[-1] for b in ours["branches"]] != [b.name for b in theirs]:
        counts["WRONG branch list"] += 1
        print(f"{label}: another list of branches")
        return
    for mine, branch in zip(ours["branches"], theirs, strict=True):
        name = f"{label}:{mine['path']}"
        kind = kind_in_uproot(branch)
        plain = kind in {"flat", "record", "jagged", "string"}
        if mine["kind"] in {"unsupported", "group", "nested"}:  # values of nested ones: tools/corpus
            counts[f"{mine['kind']}, uproot {kind}"] += 1
            if plain and mine["kind"] != "nested":
                print(f"{name}: {mine['kind']} {mine.get('type')}, uproot {branch.interpretation}")
        elif mine["kind"] != kind and (mine["kind"], kind) != ("jagged", "AsObjects"):
            counts[f"WRONG kind: {mine['kind']}, uproot {kind}"] += 1
            print(f"{name}: {mine['kind']}, uproot {branch.interpretation}")
        elif "error" in mine:
            counts[f"refused {kind}"] += 1
            try:
                branch.array(library="np")
                print(f"{name}: {mine['error']} (uproot reads it)")
            except Exception as error:
                print(f"{name}: {mine['error']} (uproot: {type(error).__name__})")
        else:
            try:
                difference = wrong(mine, branch, folder)
            except Exception as error:
                counts[f"uproot fails on {kind}"] += 1
                print(f"{name}: uproot: {type(error).__name__} {str(error)[:80]!r}")
                continue
            counts[f"equal {kind}" if difference is None else f"WRONG {kind}"] += 1
            if difference is not None:
                print(f"{name}: {difference} differ")


def compare_ntuple(ours: dict[str, Any], ntuple: Any, folder: Path, label: str, counts: Counts) -> None:
    """Compare each column, cluster by cluster, with uproot's decoder of columns."""
    if ours["entries"] != ntuple.num_entries:
        counts["WRONG entries"] += 1
        print(f"{label}: {ours['entries']} entries, uproot {ntuple.num_entries}")
    records = ntuple.column_records
    if len(records) < len(ours["columns"]):
        counts["WRONG columns"] += 1
        print(f"{label}: {len(ours['columns'])} columns, uproot {len(records)}")
        return
    for number, column in enumerate(ours["columns"]):
        for cluster, mine in enumerate(column["clusters"]):
            name = f"{label}:column {number} ({column['type']}), cluster {cluster}"
            if "values" not in mine:
                counts["column suppressed" if "error" not in mine else "column refused"] += 1
                if "error" in mine:
                    print(f"{name}: {mine['error']}")
                continue
            raw = (folder / mine["values"]).read_bytes()
            try:
                expected = np.asarray(ntuple.read_cluster_range(number, cluster, cluster + 1))
            except Exception as error:
                counts["uproot fails on a column"] += 1
                print(f"{name}: uproot: {type(error).__name__} {str(error)[:80]!r}")
                continue
            if raw == expected.tobytes() or same_column(raw, column, expected):
                counts["equal column in a cluster"] += 1
            else:
                counts["WRONG column"] += 1
                theirs = f"{expected.dtype}{expected.shape} {expected[:4]}"
                print(f"{name}: {len(raw)} bytes {raw[:16].hex()}, uproot {theirs}")


def same_column(raw: bytes, column: dict[str, Any], expected: np.ndarray) -> bool:
    if column["dtype"] is None:
        return False
    found = np.frombuffer(raw, column["dtype"])
    if found.shape == expected.shape and np.array_equal(found, expected, equal_nan=found.dtype.kind == "f"):
        return True
    # uproot puts a 0 before the ends of collections and counts them from the start of the array.
    return len(expected) == len(found) + 1 and np.array_equal(found, expected[1:])


def compare(dump: str, path: Path, counts: Counts) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = subprocess.run([dump, str(path), name], capture_output=True, text=True, check=False)
        if run.returncode:
            counts["WRONG file refused"] += 1
            print(f"{path.name}: {run.stderr.strip()[:300]}")
            return
        index = json.loads((folder / "index.json").read_text())
        file = uproot.open(path)
        if sorted(key for key, _ in index["keys"]) != sorted(file.keys(recursive=True, cycle=True)):
            counts["WRONG keys"] += 1
            print(f"{path.name}: another list of keys")
        counts["files"] += 1
        for part, check in (("trees", compare_tree), ("ntuples", compare_ntuple)):
            for ours in index[part]:
                label = f"{path.name}:{ours['key']}"
                if "error" in ours:
                    counts[f"refused {part}"] += 1
                    print(f"{label}: {ours['error']}")
                    continue
                counts[part] += 1
                check(ours, file[ours["key"]], folder, label, counts)


def main() -> int:
    counts: Counts = collections.Counter()
    for arg in map(Path, sys.argv[2:]):
        for path in sorted(arg.rglob("*.root")) if arg.is_dir() else [arg]:
            compare(sys.argv[1], path, counts)
    for name, count in sorted(counts.items()):
        print(f"{count:7} {name}")
    return int(any(name.startswith("WRONG") for name in counts))


if __name__ == "__main__":
    raise SystemExit(main())
