"""``icecore info``: metadata and storage of a group or array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from icecore import errors
from icecore.cli.console import Json, RepoArgument, StorageOption, emit, open_repo

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.group import Group
    from icecore.repository.repo import Repo


#: kinds of chunk references
_KINDS = ("cells", "native", "linked", "inline", "missing")
#: rules of the expiration that is estimated
_LAST, _DAILY = 30, 90
#: number of source files of a table that are listed
_SHOWN = 5

EXAMPLES = (
    "icecore info icecore-demo/demo.icecore /grid/t2m",
    "icecore info icecore-demo/demo.icecore@linked --files",
)


def info(
    repo: RepoArgument,
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="An array or a group.")] = "/",
    file_system: Annotated[
        bool,
        typer.Option(
            "--file-system",
            help="Instead: locks, renames, synchronisation and free space of REPO's directory.",
        ),
    ] = False,
    versions: Annotated[
        bool,
        typer.Option(
            "--versions", help="Also the bytes that each version alone holds (reads all references)."
        ),
    ] = False,
    files: Annotated[
        bool,
        typer.Option(
            "--files", help="Instead: the linked files, and the parts of the arrays in each of them."
        ),
    ] = False,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Show metadata and storage of a group or array.

    Prints shape, dtype, chunks, codecs, compression ratio, storage of the chunks, and attributes.
    """
    from icecore.repository.array import Array
    from icecore.repository.list_columns import has_lists

    if file_system:
        found = _file_system(repo)
        emit(found, json, _file_system_text(found))
        return
    item = open_repo(repo, storage)[path]
    if files:
        _print_files(item, json)
        return
    if isinstance(item, Array):
        facts = _array(item)
    else:
        facts = _lists(item) if has_lists(item._node) else _group(item)
    if versions:
        facts["versions"] = _versions(item.repo)
    emit(facts, json, _text(facts))


def _print_files(item: Array | Group, json: bool) -> None:
    """Print the linked files of an array, or of all arrays below a group."""
    from icecore.display import text
    from icecore.repository.array import Array
    from icecore.repository.link_table import linked_files

    nodes = [item._node] if isinstance(item, Array) else item.repo._below(item.path)
    found = linked_files(Array(item.repo, node) for node in nodes if node.is_array)
    lines = []
    for file in found:
        lines.append(f"{file.url}  {text.plural(file.chunks, 'chunk')}, {text.size(file.bytes)}")
        for part in file.parts:
            box = ", ".join(f"{start}:{stop}" for start, stop in part.box)
            some = "" if part.is_all else " of those in it"
            count = f"{text.plural(part.chunks, 'chunk')}{some}, {text.size(part.bytes)}"
            lines.append(f"  {part.array}[{box}]  {count}")
    emit([file.to_dict() for file in found], json, "\n".join(lines) or "no linked files")


def _file_system(repo: str) -> dict[str, Any]:
    """Return what the file system of a repository offers, and the number of the repository's files."""
    import os
    from pathlib import Path

    from icecore.filesystem.capabilities import capabilities
    from icecore.repository import address

    place = address.location(repo)
    if address.is_url(place) and not place.startswith("file://"):
        message = f"{place} is in an object store, which needs no locks"
        raise errors.make("unsupported", message, "--file-system needs a directory")
    folder = Path(place.removeprefix("file://"))
    while not folder.is_dir():
        folder = folder.parent
    files = sum(len(names) for _, _, names in os.walk(folder)) if (folder / "repo").exists() else 0
    return {**capabilities(str(folder)), "files": files}


def _file_system_text(found: dict[str, Any]) -> str:
    from icecore.display import text

    shown = {**found, "bytes_free": text.size(found["bytes_free"])}
    shown["files_free"] = "no limit" if found["files_free"] is None else f"{found['files_free']:,}"
    shown["files"] = f"{found['files']:,}"
    lines = text.pairs([(name.replace("_", " "), value) for name, value in shown.items()])
    if found["locks"] != "yes":
        lines += "\nwriters claim the directory with a file (.icecore.lock.holder) instead of a lock"
    return lines


def _array(array: Array) -> dict[str, Any]:
    from icecore.codecs.readers import readers

    stored = array.storage
    return {
        "path": array.path,
        "version": array.repo.snapshot_id,
        "shape": array.shape,
        "dims": array.dims,
        "dtype": array._node.dtype_label,
        "fill_value": array.fill_value,
        "chunks": array.chunks if array.chunks is not None else array._native.chunks,
        "shards": array.shards,
        "codecs": array.codecs,
        "readable_by": readers(array._node.document),
        "measured": array._node.ours.get("codec", {}),
        "bytes_raw": array.nbytes,
        "bytes_stored": array.nbytes_stored,
        **_loss(array),
        "summary": _summary(array),
        "trends": _trends(array),
        "references": {name: getattr(stored, name) for name in _KINDS},
        "linked_files": [
            {"url": url, "chunks": chunks, "bytes": nbytes} for url, (chunks, nbytes) in stored.urls.items()
        ],
        "attributes": array.attrs,
    }


def _loss(array: Array) -> dict[str, str]:
    """Return the bound of the stored values' errors, if they were rounded."""
    from icecore.codecs.rounding import Rounding

    rule = Rounding.of(array._node.ours)
    return {} if rule is None else {"rounded": str(rule)}


def _summary(array: Array) -> str | None:
    from icecore.tables.summaries import write as summaries
    from icecore.tables.summaries.zones import ZONE

    try:
        state = summaries.state(array)
    except errors.Error as error:
        state = error.kind  # for example, a linked file has changed
    return None if state == "none" else f"{state}, zones of {ZONE:,} rows"


def _trends(array: Array) -> str | None:
    from icecore.timeseries.stored_trend import levels

    found = levels(array.repo, array.path)
    old = any(level.rows != array.shape[0] for level in found)
    lengths = ", ".join(f"{level.seconds}s" for level in found)
    return f"{'stale' if old else 'fresh'}, windows of {lengths}" if found else None


def _lists(group: Group) -> dict[str, Any]:
    """Return the facts of a column of lists: its type, and the sums of the arrays that hold it."""
    from icecore.codecs.readers import summary
    from icecore.repository.array import Array
    from icecore.repository.list_columns import JAGGED, ListNode
    from icecore.repository.stored_bytes import stored_bytes

    node = ListNode(group._node, group.repo._node, group.repo._members)
    arrays = [Array(group.repo, part) for part in node.arrays()]
    return {
        "path": group.path,
        "version": group.repo.snapshot_id,
        "shape": node.shape,
        "dims": node.dims,
        "dtype": node.dtype_label,
        "parts": [array.path for array in arrays],
        "bytes_raw": sum(array.nbytes for array in arrays),
        "bytes_stored": stored_bytes(arrays),
        "linked_arrays": sum(array.linked for array in arrays),
        "readable_by": summary(array._node.document for array in arrays),
        "attributes": {key: value for key, value in group.attrs.items() if key != JAGGED},
    }


def _group(group: Group) -> dict[str, Any]:
    from icecore.codecs.readers import summary
    from icecore.repository.array import Array
    from icecore.repository.list_columns import has_lists
    from icecore.repository.stored_bytes import stored_bytes

    below = group.repo._below(group.path)
    arrays = [Array(group.repo, node) for node in below if node.is_array]
    lists = sum(map(has_lists, group._members()))
    return {
        "path": group.path,
        "version": group.repo.snapshot_id,
        "groups": len(group.groups) - lists,
        **({"lists": lists} if lists else {}),
        "arrays": len(group.arrays),
        "arrays_below": len(arrays),
        "bytes_raw": sum(array.nbytes for array in arrays),
        "bytes_stored": stored_bytes(arrays),
        "linked_arrays": sum(array.linked for array in arrays),
        "readable_by": summary(array._node.document for array in arrays),
        **({"manifests": _manifests(group)} if group.path == "/" else {}),
        "sources": _sources(group),
        "attributes": group.attrs,
    }


def _manifests(group: Group) -> dict[str, Any]:
    """Return the number of chunk references in this version's manifests, and their bytes."""
    count, nbytes = group.repo._native.references()
    each = round(nbytes / count, 2) if count else None
    return {"references": count, "bytes": nbytes, "bytes_per_reference": each}


def _versions(repo: Repo) -> dict[str, Any]:
    """Return the bytes that each version alone holds, and those that a usual expiration would free."""
    held = repo.held(_LAST, _DAILY)
    commits = {commit.id: commit for branch in repo.branches for commit in repo.at(branch).log()}
    return {
        "alone": [
            {"id": id_, "bytes": nbytes, **({"message": commits[id_].message} if id_ in commits else {})}
            for id_, nbytes in held.alone.items()
        ],
        "expiring": len(held.expiring),
        "freed": held.freed,
    }


def _version_lines(versions: dict[str, Any]) -> list[tuple[str, Any]]:
    from icecore.display import text

    rows = [
        (
            f"version {item['id']}",
            f"{text.size(item['bytes'])} alone, {text.shorten(item.get('message', ''), 60)}",
        )
        for item in versions["alone"]
    ]
    count, freed = text.plural(versions["expiring"], "version"), text.size(versions["freed"])
    return [*rows, (f"expire --keep-last {_LAST} --keep-daily {_DAILY}", f"{count}, frees {freed}")]


def _sources(group: Group) -> list[dict[str, Any]]:
    """Return the files that a table was packed from, with notes on content that no column contains."""
    kept = group._node.ours.get("table", {}).get("sources", [])
    return [{"name": s["name"], "rows": s["rows"], "notes": s.get("notes", [])} for s in kept]


def _text(facts: dict[str, Any]) -> str:
    from icecore.display import text

    rows: list[tuple[str, Any]] = []
    for name, value in facts.items():
        if name == "attributes" or (name in ("summary", "trends") and value is None):
            continue
        if name == "measured":
            rows += _measured(value)
            continue
        if name == "codecs":
            value = " → ".join(_codec(codec) for codec in value)
        elif name == "references":
            value = ", ".join(
                text.plural(count, "cell") if kind == "cells" else f"{count:,} {kind}"
                for kind, count in value.items()
                if count or kind == "cells"
            )
        elif name == "linked_files":
            rows += [("linked file", _file(item)) for item in value[:10]]
            if len(value) > 10:
                rows.append(("", f"and {len(value) - 10:,} more"))
            continue
        elif name == "sources":
            rows += _files(value)
            continue
        elif name == "versions":
            rows += _version_lines(value)
            continue
        elif name == "manifests":
            each = value["bytes_per_reference"]
            size = f" in {text.size(value['bytes'])}" + (f", {each:g} bytes each" if each else "")
            value = text.plural(value["references"], "chunk reference") + size
        elif name.startswith("bytes"):
            value = f"{text.size(value)} ({value:,} bytes)"
        rows.append((name.replace("_", " "), value))
        if name == "bytes_stored":
            rows.append(("ratio", text.ratio(facts["bytes_raw"], facts["bytes_stored"])))
    attributes = [(f"  {name}", text.shorten(str(value), 100)) for name, value in facts["attributes"].items()]
    head = text.pairs(rows)
    return f"{head}\nattributes\n{text.pairs(attributes)}" if attributes else head


def _files(sources: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """Return the first source files of a table, and all files with notes."""
    rows: list[tuple[str, Any]] = []
    for i, source in enumerate(sources):
        if i < _SHOWN or source["notes"]:
            first, end = source["rows"]
            rows.append(("packed from", f"{source['name']} (rows {first:,} to {end:,})"))
            rows += [("  note", note) for note in source["notes"]]
    return rows


def _measured(record: Any) -> list[tuple[str, Any]]:
    """Return the recorded measurement that led to the choice of codecs."""
    from icecore.display import text

    try:
        goal = record["goal"] + (f" at {text.size(record['bandwidth'])}/s" if "bandwidth" in record else "")
        speeds = f"writes {record['write']} MB/s, reads {record['read']} MB/s per core"
        sample = record["sample"]
        where = f"a sample of {sample['chunks']:,} of {sample['of']:,} chunks"
        rows = [
            ("chosen", f"{record['chosen']} for {goal}"),
            ("on", f"{where}: {record['ratio']:g}x, {speeds}"),
        ]
        losers = [
            f"{name} ({ratio:g}, {write} and {read} MB/s)" for name, ratio, write, read in record["losers"]
        ]
        rows.append(("instead of", ", ".join(losers[:4]) or "nothing"))
        if "drift" in record:
            rows.append(("drift", record["drift"]))
        return rows
    except (KeyError, TypeError, ValueError):
        return []  # written by a version with another format


def _codec(codec: dict[str, Any]) -> str:
    settings = ", ".join(f"{key}={value}" for key, value in codec.get("configuration", {}).items())
    return f"{codec['name']}({settings})" if settings else codec["name"]


def _file(item: dict[str, Any]) -> str:
    from icecore.display import text

    return f"{item['url']} ({text.plural(item['chunks'], 'chunk')}, {text.size(item['bytes'])})"
