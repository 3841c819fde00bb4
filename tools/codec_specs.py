"""Write `spec/codecs`: for each `icecore.*` codec a README, a JSON schema and test vectors.

The README's text is the codec's section of docs/format.md. Vectors are encoded by icecore; the decoders
beside them share no code with it. Run it after a change of a codec's text or bytes:
``python tools/codec_specs.py``.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from icecore import _icecore
from icecore.repository.zarr_dtypes import bytes_codec, data_type

ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "spec" / "codecs"
_RAW = {"name": "bytes", "configuration": {"endian": "little"}}
_ZSTD = [_RAW, {"name": "zstd", "configuration": {"level": 3, "checksum": False}}]
_BYTES = [{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 3, "checksum": False}}]
_CHOICE = """Configuration: `choices`, 1 to 256 lists of codecs. The first byte of a chunk is the index of the
list that encoded the rest.
"""
#: what the READMEs of all codecs have in common
_FILES = """## Files

- `schema.json`: JSON schema of the codec's metadata.
- `vectors.json`: test vectors. Each has the data type, the shape, the configuration, the encoded and the
  decoded bytes (base64; decoded numbers are little-endian, in C order; the fill value is 0).
- `decoder.py`: a decoder in NumPy, as a reference.

## Change log

Format version 1: first version. Its meaning will not change; see *Versions of the format* in docs/format.md.

## Current maintainers

The icecore project.
"""
_PCO = [{"name": "numcodecs.pcodec", "configuration": {"level": 8}}]
_LISTS = {"type": "array", "items": {"type": "object", "required": ["name"]}, "minItems": 1}


def _integer(low: int | None = None, high: int | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "integer"}
    return found | ({} if low is None else {"minimum": low}) | ({} if high is None else {"maximum": high})


def _one_of(*values: Any) -> dict[str, Any]:
    return {"enum": [*values]}


@dataclass
class Codec:
    """A codec of the specification.

    Attributes:
        kind: ``array -> array``, ``array -> bytes`` or ``bytes -> bytes``.
        properties: JSON schema of the members of its configuration.
        required: members that must be there.
        cases: name → (configuration, array) of the test vectors.
    """

    kind: str
    properties: dict[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    cases: dict[str, tuple[dict[str, Any], np.ndarray]] = field(default_factory=dict)


def codecs() -> dict[str, Codec]:
    """Return the codecs with their test cases; random numbers are the same in every run."""
    random = np.random.default_rng(46)
    walk = np.cumsum(random.integers(-3, 4, (6, 50)), 1)
    smooth = np.sin(np.arange(600).reshape(20, 30) / 25).astype("f4")
    special = np.array([0, -0.0, np.nan, np.inf, -np.inf, 1e-310, 1, -2.5] * 9)
    texts = np.array([b"a=12;", b"a=7;", b"no", b"a=123456789;", b""] * 20, "S16")
    planes8 = [{"bytes": n, "codecs": _ZSTD} for n in (2, 1, 1, 4)]
    planes4 = [{"bytes": n, "codecs": _ZSTD} for n in (2, 2)]
    both = [[*_BYTES], [_RAW]]
    return {
        "icecore.byteplanes": Codec(
            "array -> bytes",
            {
                "planes": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["bytes", "codecs"],
                        "properties": {"bytes": _one_of(1, 2, 4, 8), "codecs": _LISTS},
                    },
                },
                "fill": _one_of("midpoint", "zero"),
            },
            ("planes",),
            {
                "float32": ({"planes": planes4}, smooth),
                "float64-special": ({"planes": planes8, "fill": "zero"}, special),
                "int64": ({"planes": planes8}, walk.astype("i8")),
                "complex64": ({"planes": planes4}, (smooth + 1j * smooth.T.reshape(20, 30)).astype("c8")),
                "noise": ({"planes": planes8}, random.random((7, 11))),
            },
        ),
        "icecore.choice": Codec(
            "array -> bytes",
            {"choices": {"type": "array", "items": _LISTS, "minItems": 1, "maxItems": 256}},
            ("choices",),
            {"int16": ({"choices": both}, walk.astype("i2")), "one": ({"choices": [_ZSTD]}, smooth)},
        ),
        "icecore.decimal": Codec(
            "array -> array",
            {
                "scale": _integer(-22, 22),
                "dtype": _one_of("int8", "int16", "int32", "int64"),
                "escapes": {"type": "array", "maxItems": 100},
            },
            ("scale", "dtype"),
            {
                "float64": ({"scale": 2, "dtype": "int32"}, walk / 100),
                "float32": ({"scale": 1, "dtype": "int16"}, (walk / 10).astype("f4")),
                "thousands": ({"scale": -3, "dtype": "int8"}, walk % 90 * 1000.0),
                "escapes": (
                    {"scale": 1, "dtype": "int16", "escapes": ["NaN", "Infinity", -0.0]},
                    np.array([1.5, np.nan, np.inf, -0.0, 0, -3.2]),
                ),
            },
        ),
        "icecore.offset": Codec(
            "array -> array",
            {"offset": _integer(-(1 << 63), (1 << 64) - 1)},
            ("offset",),
            {
                "int16": ({"offset": 30000}, (walk + 5).astype("i2")),
                "uint64": ({"offset": -7}, walk.astype("u8")),
                "datetime64": ({"offset": 86400}, (walk * 1000).astype("M8[s]")),
            },
        ),
        "icecore.fpc": Codec(
            "array -> bytes",
            {"axis": _integer()},
            (),
            {
                "float64": ({}, np.cumsum(random.random((5, 33)), 1)),
                "float32-axis-0": ({"axis": 0}, smooth),
                "short": ({}, np.array([1.5, 1.5, -2])),
            },
        ),
        "icecore.pages": Codec(
            "array -> bytes",
            {"page": _integer(1), "level": _integer(0, 12)},
            (),
            {
                "float32": ({"page": 256}, smooth),
                "bool": ({"page": 64}, walk > 0),
                "bytes": ({"page": 32}, texts),
                "runs": ({"page": 16}, np.repeat(np.arange(5, dtype="i4"), 400)),
                "datetime64": ({"page": 100}, (walk * 60).astype("M8[s]")),
            },
        ),
        "icecore.predict": Codec(
            "array -> bytes",
            {
                "modes": {"type": "array"},
                "codecs": {"type": "array", "items": _LISTS, "minItems": 1, "maxItems": 256},
                "mask": {"type": "boolean"},
            },
            (),
            dict(_predictions(walk, smooth, random)),
        ),
        "icecore.text_part": Codec(
            "array -> bytes",
            {
                "length": _integer(1),
                "codecs": _LISTS,
                "rest": _LISTS,
                "after": {"type": "string"},
                "skip": _integer(0),
                "before": {"type": "string"},
            },
            ("length", "codecs", "rest"),
            {
                "numbers": (
                    {"length": 9, "codecs": _BYTES, "rest": _BYTES, "after": "=", "before": ";"},
                    texts,
                ),
                "none": ({"length": 4, "codecs": _BYTES, "rest": _BYTES, "after": "?"}, texts),
            },
        ),
        "icecore.h5bitshuffle": Codec(
            "bytes -> bytes",
            {
                "itemsize": _integer(1),
                "block_size": _integer(0),
                "compression": _one_of("none", "lz4", "zstd"),
            },
            ("itemsize",),
            {
                name: (
                    {"itemsize": 4, "compression": name, "block_size": 64},
                    smooth[:7].view("u1").reshape(-1),
                )
                for name in ("none", "lz4", "zstd")
            },
        ),
        "icecore.h5lz4": Codec(
            "bytes -> bytes",
            {"block_size": _integer(0)},
            (),
            {
                "blocks": ({"block_size": 500}, walk.astype("i4").view("u1").reshape(-1)),
                "noise": ({}, random.integers(0, 256, 300, "u1")),
            },
        ),
        "icecore.h5lzf": Codec(
            "bytes -> bytes", {}, (), {"walk": ({}, walk.astype("i2").view("u1").reshape(-1))}
        ),
    }


def _predictions(
    walk: np.ndarray, smooth: np.ndarray, random: np.random.Generator
) -> Iterator[tuple[str, tuple[dict[str, Any], np.ndarray]]]:
    """Yield a case for each predictor and each kind of values."""
    cube = np.add.outer(np.add.outer(np.arange(4), np.arange(5) * 3), np.arange(40) * 7)
    holes = np.where(random.random((6, 50)) < 0.4, -999, walk)
    steps = {"codecs": [_ZSTD]}
    yield "lag", ({"modes": [{"mode": "lag", "axis": 1, "lag": 2}], **steps}, walk.astype("i4"))
    yield "xor", ({"modes": ["xor"], **steps}, smooth.astype("f8"))
    yield "lorenzo", ({"modes": ["lorenzo"], **steps}, cube.astype("i4"))
    yield "none", ({"modes": ["none"], **steps}, walk.astype("u2"))
    yield "mask", ({"modes": ["lorenzo"], **steps}, holes.astype("i2"))
    yield "lattice", ({"modes": ["lattice"], **steps}, walk / 100)
    yield "binary-lattice", ({"modes": ["lattice"], **steps}, walk / 8)
    yield "rank", ({"modes": ["rank"], **steps}, random.choice([0.1, 7.7, -2.5, 1e9], (8, 40)))
    yield "sortable", ({"modes": ["lorenzo"], **steps}, smooth)
    waves = np.sin(np.arange(1200).reshape(30, 40) / 50.0) * np.arange(1, 41)
    yield "stencil", ({"modes": ["least_squares"], **steps}, waves)
    yield "float-lorenzo", ({"modes": ["float_lorenzo"], **steps}, waves.astype("f4"))
    yield "linear", ({"modes": [{"mode": "lpc", "taps": 12}], **steps}, waves.reshape(2, -1))
    yield "pcodec", ({"modes": ["lorenzo"], "codecs": [_PCO]}, cube.astype("i8"))


def sections() -> dict[str, str]:
    """Return codec → the text of its section in docs/format.md."""
    text = (ROOT / "docs" / "format.md").read_text("utf-8")
    parts = re.split(r"^### `(icecore\.\w+)`\n", text, flags=re.MULTILINE)
    found = {
        name: re.split(r"^#{2,3} ", body, flags=re.MULTILINE)[0]
        for name, body in zip(parts[1::2], parts[2::2], strict=False)
    }
    return {**found, "icecore.choice": _CHOICE}


def readme(name: str, codec: Codec, text: str) -> str:
    """Return the README of a codec, in the form of zarr-extensions."""
    stored = {"array -> array": "an array of the following codec", "array -> bytes": "the bytes of a chunk"}
    example = next(iter(codec.cases.values()))[0]
    document = json.dumps({"name": name, "configuration": example}, indent=2)
    decodes = stored.get(codec.kind, "bytes of a chunk")
    return (
        f"# {name}\n\nA codec of Zarr v3, {codec.kind}: it decodes {decodes}.\n\n"
        f"## Codec metadata\n\n```json\n{document}\n```\n\n"
        "The members of `configuration` are in `schema.json`.\n\n"
        f"## Format\n\n{text.strip()}\n\n{_FILES}"
    )


def schema(name: str, codec: Codec) -> dict[str, Any]:
    """Return the JSON schema of a codec's metadata."""
    configuration = {
        "type": "object",
        "properties": codec.properties,
        "required": [*codec.required],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"name": {"const": name}, "configuration": configuration},
        "required": ["name", *(["configuration"] if codec.required else [])],
        "additionalProperties": False,
    }


def vectors(name: str, codec: Codec) -> list[dict[str, Any]]:
    """Return the test vectors of a codec."""
    found = []
    for case, (configuration, array) in codec.cases.items():
        array = np.ascontiguousarray(array)
        chain: list[Any] = [{"name": name, "configuration": configuration}]
        if codec.kind == "array -> array":
            chain.append(bytes_codec(array.dtype))
        elif codec.kind == "bytes -> bytes":
            chain.insert(0, {"name": "bytes"})
        kind = data_type(array.dtype)
        fill = bytes(array.dtype.itemsize) if array.dtype.kind in "fc" else None
        made = _icecore.Chain(json.dumps(chain), json.dumps(kind), fill)
        encoded = made.encode(array.reshape(-1).view("u1"), array.shape)
        found.append(
            {
                "name": case,
                "data_type": kind,
                "dtype": array.dtype.str,
                "shape": [*array.shape],
                "configuration": configuration,
                "encoded": base64.b64encode(encoded).decode(),
                "decoded": base64.b64encode(array.tobytes()).decode(),
            }
        )
    return found


def files() -> dict[Path, str]:
    """Return the path and the text of every file that this writes."""
    texts, made = sections(), {}
    for name, codec in codecs().items():
        made[SPEC / name / "README.md"] = readme(name, codec, texts[name])
        made[SPEC / name / "schema.json"] = json.dumps(schema(name, codec), indent=2) + "\n"
        made[SPEC / name / "vectors.json"] = json.dumps(vectors(name, codec), indent=1) + "\n"
    return made


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
