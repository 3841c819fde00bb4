"""Convert the codecs of a Zarr 2 array to a Zarr v3 list that decodes the same bytes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from icecore import _icecore, errors
from icecore.repository.zarr_dtypes import bytes_codec, same_bytes
from icecore.sources.mapping.array_map import ArrayEntry

_ARRAYS = {"delta", "fixedscaleoffset", "quantize", "astype", "bitround", "packbits"}
_BYTES = {"zlib", "gzip", "zstd", "lz4", "bz2", "lzma", "blosc", "shuffle", "fletcher32"}
_BYTES |= {"crc32", "crc32c", "adler32"}
_TEXTS = {"vlen-utf8", "vlen-bytes"}
#: settings that contain a dtype
_TYPES = ("astype", "dtype", "encode_dtype", "decode_dtype")
#: key of the codec's name, which is not a setting
_ID = "id"


def codecs_of(node: Any, entry: ArrayEntry) -> tuple[list[dict[str, Any]], str]:
    """Return the codecs of the stored chunks of a zarr-python array, or why there are none."""
    metadata = node.metadata
    if metadata.zarr_format == 3:
        document = metadata.to_dict()
        if document["chunk_grid"]["name"] != "regular":
            return [], "chunks of unlike shapes"
        codecs, why = json.loads(json.dumps(list(document["codecs"]))), ""
    else:
        codecs, why = _second(metadata, entry.dtype)
    if not why:
        try:
            _icecore.Chain(json.dumps(codecs), json.dumps(entry.data_type))
        except errors.Error as error:
            return [], error.message
    return codecs, why


def _second(metadata: Any, dtype: np.dtype) -> tuple[list[dict[str, Any]], str]:
    """Return the codecs of version 2: filters, then the compressor, for the stored byte order."""
    steps = [dict(codec.get_config()) for codec in (*(metadata.filters or ()), metadata.compressor) if codec]
    stored = dtype if dtype.kind == "O" else np.dtype(metadata.dtype.to_native_dtype())
    big = stored.newbyteorder("S").isnative and not stored.isnative
    codecs: list[dict[str, Any]] = []
    if metadata.order == "F" and len(metadata.shape) > 1:
        order = list(range(len(metadata.shape)))[::-1]
        codecs.append({"name": "transpose", "configuration": {"order": order}})
    if stored.names is not None and not same_bytes(stored, dtype):
        return [], "records with gaps or mixed byte orders"
    serial = bytes_codec(dtype, big)
    if dtype.kind == "O":
        if not steps or steps[0][_ID] not in _TEXTS:
            return [], f"objects of {steps[0][_ID] if steps else 'unknown'} form"
        serial = {"name": steps.pop(0)[_ID], "configuration": {}}
    while steps and steps[0][_ID] in _ARRAYS:
        step = _named(steps.pop(0))
        codecs.append(step)
        types = [str(step["configuration"].get(key, "")) for key in _TYPES]
        if big or any(each.startswith(">") for each in types):
            return [], f"{step['name']} of big-endian numbers"
        if "astype" in step["configuration"]:
            serial = bytes_codec(np.dtype(step["configuration"]["astype"]))
        elif step["name"] == "numcodecs.packbits":
            serial = bytes_codec(np.dtype("u1"))
    strange = [step[_ID] for step in steps if step[_ID] not in _BYTES]
    if strange:
        return [], f"codec {strange[0]} has no Zarr v3 codec"
    return [*codecs, serial, *map(_named, steps)], ""


def _named(step: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": f"numcodecs.{step[_ID]}",
        "configuration": {key: value for key, value in step.items() if key != _ID},
    }
