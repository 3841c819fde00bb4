"""Texts of NumPy's own dtype of any length."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np


def test_texts_of_numpys_own_dtype(tmp_path: Path) -> None:
    texts = np.array(["a", "", "déjà"], dtype=np.dtypes.StringDType())
    with icecore.create(tmp_path / "r.icecore").writer(message="texts") as w:
        w.array("/t/s", dtype=texts.dtype, shape=(3,))[:] = texts
    assert icecore.open(tmp_path / "r.icecore")["/t/s"][:].tolist() == ["a", "", "déjà"]
