"""Environment variables: what was mistyped is said, with the variable's name, its value and what it takes."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest

GOOD = {
    "ICECORE_THREADS": "4",
    "ICECORE_CACHE": "0",
    "ICECORE_RESULT_POOL": " 1000 ",
    "ICECORE_PORTABLE": "0",
    "ICECORE_DURABILITY": "full",
}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("value", ["x", "-1", "1.5", "16MiB", "abc", "99999999999999999999999"])
def test_nonsense_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    repo = tmp_path / "r.icecore"
    icecore.create(repo)
    monkeypatch.setenv(name, value)
    for work in (lambda: icecore.open(repo), lambda: icecore.create(tmp_path / "new")):
        with pytest.raises(icecore.Error, match=name) as caught:
            work()
        assert caught.value.kind == "invalid"
        assert repr(value).strip("'") in caught.value.message
        assert f"export {name}=" in caught.value.hint
    assert not (tmp_path / "new").exists()


def test_what_makes_sense_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in GOOD.items():
        monkeypatch.setenv(name, value)
    np.save(tmp_path / "x.npy", np.arange(5))
    icecore.pack(tmp_path / "x.npy", tmp_path / "r.icecore")
    for name in GOOD:
        monkeypatch.setenv(name, "")
    assert icecore.open(tmp_path / "r.icecore")["/x/x"][...].tolist() == [0, 1, 2, 3, 4]
