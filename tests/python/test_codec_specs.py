"""Specifications of `icecore.*` codecs: files up to date, decoders that share no code with icecore."""

from __future__ import annotations

import base64
import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "spec" / "codecs"
pytest.importorskip("numcodecs")
if not SPEC.is_dir():
    pytest.skip("the specifications are not part of a wheel", allow_module_level=True)


def _module(path: Path) -> Any:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


standard = _module(SPEC / "standard.py")
CASES = [
    pytest.param(folder.name, vector, id=f"{folder.name}-{vector['name']}")
    for folder in sorted(SPEC.glob("icecore.*"))
    for vector in json.loads((folder / "vectors.json").read_text())
]


@pytest.mark.parametrize(("name", "vector"), CASES)
def test_vectors_decode(name: str, vector: dict[str, Any]) -> None:
    encoded, want = (base64.b64decode(vector[key]) for key in ("encoded", "decoded"))
    assert decoded(name, vector, encoded).tobytes() == want


def decoded(name: str, vector: dict[str, Any], encoded: bytes) -> np.ndarray:
    """Decode with the reference decoder; skip what needs a package that isn't installed."""
    dtype, shape, configuration = np.dtype(vector["dtype"]), vector["shape"], vector["configuration"]
    try:
        if name == "icecore.offset":
            return standard.decoder(name).decode(np.frombuffer(encoded, dtype), configuration, dtype)
        if name == "icecore.decimal":
            stored = np.frombuffer(encoded, configuration["dtype"])
            return standard.decoder(name).decode(stored, configuration, dtype)
        if name.startswith("icecore.h5"):
            found = standard.decoder(name).decode(encoded, configuration, standard.decode)
            return np.frombuffer(found, "u1")
        return standard.own(name, encoded, configuration, dtype, tuple(shape))
    except ModuleNotFoundError as error:
        pytest.skip(f"needs {error.name}")


def test_every_codec_has_a_specification() -> None:
    import tomllib

    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["zarr.codecs"]
    # Codecs of linked frame and ROOT files decode what other programs wrote, in formats specified there.
    foreign = {"icecore.gwf_vect", "icecore.root_basket", "icecore.root_page"}
    assert {folder.name for folder in SPEC.glob("icecore.*")} == set(known) - foreign


def test_decoders_are_short_and_import_nothing_of_icecore() -> None:
    for path in SPEC.glob("icecore.*/*.py"):
        lines = path.read_text().splitlines()
        assert len(lines) <= 60, path
        assert not any("import icecore" in line or "from icecore" in line for line in lines), path


def test_files_are_up_to_date() -> None:
    """README and schema follow docs/format.md, and icecore decodes the vectors as before."""
    from icecore import _icecore

    tool = _module(ROOT / "tools" / "codec_specs.py")
    texts = tool.sections()
    for name, codec in tool.codecs().items():
        assert (SPEC / name / "README.md").read_text() == tool.readme(name, codec, texts[name]), name
        assert json.loads((SPEC / name / "schema.json").read_text()) == tool.schema(name, codec), name
        for vector in json.loads((SPEC / name / "vectors.json").read_text()):
            chain: list[Any] = [{"name": name, "configuration": vector["configuration"]}]
            if codec.kind == "array -> array":
                chain.append(tool.bytes_codec(np.dtype(vector["dtype"])))
            elif codec.kind == "bytes -> bytes":
                chain.insert(0, {"name": "bytes"})
            want = np.frombuffer(base64.b64decode(vector["decoded"]), "u1")
            out = np.empty_like(want)
            fill = (
                bytes(np.dtype(vector["dtype"]).itemsize) if np.dtype(vector["dtype"]).kind in "fc" else None
            )
            made = _icecore.Chain(json.dumps(chain), json.dumps(vector["data_type"]), fill)
            made.decode(np.frombuffer(base64.b64decode(vector["encoded"]), "u1"), vector["shape"], out)
            assert np.array_equal(out, want), (name, vector["name"])


def test_vectors_fit_the_schemas() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for folder in SPEC.glob("icecore.*"):
        schema = json.loads((folder / "schema.json").read_text())
        for vector in json.loads((folder / "vectors.json").read_text()):
            jsonschema.validate({"name": folder.name, "configuration": vector["configuration"]}, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"name": folder.name, "configuration": {"unknown": 1}}, schema)
