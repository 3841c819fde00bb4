"""The registry of codecs, the table in docs/format.md and the entry points name the same codecs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from icecore import _icecore

ROOT = Path(__file__).resolve().parents[2]
#: the words of docs/format.md for the kinds
KINDS = {
    "array→array": "array_to_array",
    "array→bytes": "array_to_bytes",
    "bytes→bytes": "bytes_to_bytes",
    "checksum": "bytes_to_bytes",
}


def documented() -> dict[str, str]:
    """Names and kinds in the table of codecs."""
    found: dict[str, str] = {}
    for line in (ROOT / "docs/format.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) < 3 or cells[1] not in KINDS:
            continue
        names = re.findall(r"`([^`{]+)`", cells[0])
        if cells[0].endswith("and with `numcodecs.`"):
            names = [name for each in names[:-1] for name in (each, f"numcodecs.{each}")]
        found |= dict.fromkeys(names, KINDS[cells[1]])
    return found


def test_the_table_of_codecs_is_the_registry() -> None:
    # Addresses are names of older versions of zarrs; `endian` is `bytes` in early drafts of Zarr v3.
    known = {n: kind for n, kind in _icecore.codec_names() if "://" not in n and n != "endian"}
    assert known == documented()


def test_zarr_python_finds_our_codecs() -> None:
    project = ROOT / "pyproject.toml"
    if not project.is_file():
        pytest.skip("no pyproject.toml beside the tests")
    points = tomllib.loads(project.read_text("utf-8"))["project"]["entry-points"]["zarr.codecs"]
    ours = {name for name, _ in _icecore.codec_names() if name.startswith("icecore.")}
    assert set(points) == ours
