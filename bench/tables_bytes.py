"""Bytes of the real text tables as repositories, beside ``xz -9e`` over their text.

    python bench/tables_bytes.py [DIRECTORY] [--for GOAL]

Payload is what the columns' chunks and the escapes take; overhead is everything else in the repository's
directory: snapshots, manifests, transaction logs, seals. Seconds are CPU seconds of ``icecore.pack``.
"""

from __future__ import annotations

import argparse
import lzma
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import icecore
from icecore.repository.stored_bytes import stored_bytes

#: bytes of the smallest table that is listed
LEAST = 100_000
#: labels that describe the same file as another one, and data beside a label of its own
LABELS = (".lbl", ".xml", ".fmt", ".des")


def tables(directory: Path) -> Iterator[tuple[Path, Path]]:
    """What is packed (a label where there is one) and its data file, smallest first."""
    for data in sorted(directory.iterdir(), key=lambda path: path.stat().st_size):
        if data.suffix.lower() in (".tab", ".csv") and data.stat().st_size >= LEAST:
            labels = [data.with_suffix(suffix) for suffix in LABELS]
            yield next((label for label in labels if label.is_file()), data), data


def payload(repo: icecore.Repo) -> int:
    """Bytes of all chunks, each counted once."""
    return stored_bytes(node for node in map(repo.get, repo._nodes) if isinstance(node, icecore.Array))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=Path("../shared/data/pds"))
    parser.add_argument("--for", dest="goal", default="balanced")
    options = parser.parse_args()
    print("| table | text | xz -9e | repository | xz / repository | payload | overhead | CPU s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for source, data in tables(options.directory):
        scratch = Path(tempfile.mkdtemp())
        try:
            began = time.process_time()
            icecore.pack(source, into=scratch / "r", group="/t", goal=options.goal)
            seconds = time.process_time() - began
            whole = sum(path.stat().st_size for path in (scratch / "r").rglob("*") if path.is_file())
            chunks = payload(icecore.open(scratch / "r"))
        finally:
            shutil.rmtree(scratch)
        text = data.read_bytes()
        xz = len(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
        print(
            f"| {data.name} | {len(text):,} | {xz:,} | {whole:,} | {xz / whole:.2f} | {chunks:,} | "
            f"{whole - chunks:,} | {seconds:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
