"""Real tables of planetary archives: restored byte for byte, and their values against other readers'."""

from __future__ import annotations

import lzma
from pathlib import Path

import icecore
import numpy as np
import pytest
from files import DATA, params
from icecore.errors import Error
from icecore.tables.text.restore import restore

pytest.importorskip("pvl")
FOLDER = DATA / "pds"
LABELS = sorted(FOLDER.glob("*.xml")) + sorted(FOLDER.glob("*.lbl"))
PLAIN = [path for path in sorted(FOLDER.glob("*.csv")) if "hyb2" not in path.name]
#: the largest is restored after it was compared with pdr
RIGHT = [path for path in LABELS if "reclen95" not in path.name and "cassini" not in path.name]


def data_of(label: Path) -> Path:
    stem = label.stem.replace("_reclen96", "")
    return next(p for p in FOLDER.glob(f"{stem}.*") if p.suffix.lower() in (".tab", ".csv"))


def packed(source: Path, folder: Path) -> icecore.Repo:
    icecore.pack(source, into=folder / "r", group="/t")
    return icecore.open(folder / "r")


@pytest.mark.parametrize("source", params([*RIGHT, *PLAIN]))
def test_restored(source: Path, tmp_path: Path) -> None:
    repo = packed(source, tmp_path)
    restore(repo, "/t", tmp_path / "again")
    original = data_of(source) if source.suffix in (".xml", ".lbl") else source
    assert (tmp_path / "again").read_bytes() == original.read_bytes()
    assert len(repo.table("/t")) > 30


@pytest.mark.parametrize("label", params([p for p in RIGHT if p.name.startswith(("ORB12", "hyb2", "uvis"))]))
def test_smaller_than_lzma(label: Path, tmp_path: Path) -> None:
    """The whole repository, restorable, beside the best of whole-file compressors. (A table of many columns
    and few rows, such as mix_cal's 93 and 583, has more metadata than data, and is larger.)
    """
    packed(label, tmp_path)
    stored = sum(path.stat().st_size for path in (tmp_path / "r").rglob("*") if path.is_file())
    best = lzma.compress(data_of(label).read_bytes(), preset=9 | lzma.PRESET_EXTREME)
    assert stored * 1.3 < len(best)


@pytest.mark.parametrize("label", params([path for path in LABELS if "reclen95" in path.name]))
def test_a_wrong_label(label: Path, tmp_path: Path) -> None:
    with pytest.raises(Error, match="are 95 bytes long, in the file they are 96 bytes long"):
        packed(label, tmp_path)
    icecore.pack(label, into=tmp_path / "r", group="/t", trust="data")
    restore(icecore.open(tmp_path / "r"), "/t", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (FOLDER / "ORB12_EUR_EPHIO.TAB").read_bytes()


def same(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Numbers as doubles, texts without the spaces around them."""
    if ours.dtype.kind == "S":
        texts = [v.decode() if isinstance(v, bytes) else str(v).strip().strip('"').strip() for v in theirs]
        assert [value.decode("latin-1").strip() for value in ours] == texts
    elif ours.dtype.kind in "iuf":
        np.testing.assert_array_equal(ours.astype("f8"), theirs.astype("f8"))


@pytest.mark.parametrize(
    ("label", "name"),
    [("cassini_iss_index.lbl", "IMAGE_INDEX_TABLE"), ("pos10001.tab", "TABLE")],
)
def test_against_pdr(label: str, name: str, tmp_path: Path) -> None:
    pdr = pytest.importorskip("pdr")
    if not (FOLDER / label).is_file():
        pytest.skip("no real files at ../shared/data")
    for file in FOLDER.glob(label.split(".")[0] + ".*"):
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "POS.FMT").symlink_to(FOLDER / "pos.fmt")
    theirs = pdr.read(str(tmp_path / label))[name]
    table = packed(FOLDER / label, tmp_path).table("/t")
    assert len(table.columns) == len(theirs.columns)
    for (_, array), (_, column) in zip(table.columns.items(), theirs.items(), strict=True):
        if array.dtype.kind != "S" or column.dtype.kind == "O":  # pdr takes some texts for numbers
            same(array[...], column.to_numpy())
    restore(icecore.open(tmp_path / "r"), "/t", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == data_of(FOLDER / label).read_bytes()


@pytest.mark.parametrize("label", params(sorted(FOLDER.glob("hyb2*.xml"))))
def test_against_pandas(label: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    theirs = pandas.read_csv(data_of(label), header=None)
    table = packed(label, tmp_path).table("/t")
    assert len(table.columns) == len(theirs.columns)
    for (_, array), (_, column) in zip(table.columns.items(), theirs.items(), strict=True):
        if column.dtype.kind in "if":
            same(array[...], column.to_numpy())
