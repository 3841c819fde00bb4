"""Codecs that other specifications define, for the reference decoders: bytes, compressors, checksums, pcodec.

`decode(codecs, data, dtype, shape)` decodes a list of Zarr v3 codecs. Lists may also name the codecs of this
folder. Everything but NumPy's own work is done by numcodecs and pcodec.
"""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numcodecs
import numpy as np

HERE = Path(__file__).parent
_CHECKSUMS = ("crc32c", "numcodecs.crc32c")


def decoder(name, file="decoder"):
    """Return the module of a reference decoder, or another file beside it."""
    spec = spec_from_file_location(f"{name.replace('.', '_')}_{file}", HERE / name / f"{file}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def own(name, data, configuration, dtype, shape):
    """Decode the bytes of a chunk with a codec of this folder."""
    more = (
        [decoder(name, file) for file in ("predictors", "number_values", "guesses")]
        if name == "icecore.predict"
        else []
    )
    return decoder(name).decode(bytes(data), configuration, np.dtype(dtype), shape, decode, *more)


def decode(codecs, data, dtype, shape):
    """Return the array of a chunk."""
    dtype, steps = np.dtype(dtype), list(codecs)
    while len(steps) > 1 and steps[-1]["name"] in _CHECKSUMS:
        data, _ = data[:-4], steps.pop()
    while len(steps) > 1:
        data = _unpacked(steps.pop(), data)
    name, configuration = steps[0]["name"], steps[0].get("configuration", {})
    if name.startswith("icecore."):
        return own(name, data, configuration, dtype, shape)
    if name.endswith("pcodec"):
        return pco(data, dtype).reshape(shape)
    order = {"big": ">", "little": "<"}.get(configuration.get("endian"), "=")
    return np.frombuffer(data, dtype.newbyteorder(order)).reshape(shape)


def pco(data, dtype):
    """Decode pco's standalone format."""
    from pcodec import standalone

    return np.asarray(standalone.simple_decompress(bytes(data))).view(dtype)


def _unpacked(codec, data):
    name, configuration = codec["name"].removeprefix("numcodecs."), codec.get("configuration", {})
    if codec["name"].startswith("icecore."):
        return decoder(codec["name"]).decode(bytes(data), configuration, decode)
    if name == "lz4":
        return numcodecs.LZ4().decode(data)
    known = {"gzip": numcodecs.GZip, "zlib": numcodecs.Zlib, "zstd": numcodecs.Zstd, "blosc": numcodecs.Blosc}
    return known[name]().decode(data)
