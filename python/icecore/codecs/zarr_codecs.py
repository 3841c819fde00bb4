"""Codecs for zarr-python, registered with the entry point group ``zarr.codecs``: thin classes over Rust.

There is one class per kind of codec. The codec's name comes from the metadata, so a new codec of a known kind
needs one line in ``pyproject.toml``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from zarr.core.common import parse_named_configuration
from zarr.core.dtype import parse_dtype

from icecore import _icecore

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer

#: array→bytes codec of a chain that consists of one bytes→bytes codec
_RAW = {"name": "bytes", "configuration": {"endian": "little"}}


@lru_cache(maxsize=256)
def _chain(codecs: str, data_type: str, fill: bytes | None = None) -> _icecore.Chain:
    """Return a parsed codec chain; cached, because zarr-python needs it for each chunk."""
    return _icecore.Chain(codecs, data_type, fill)


@dataclass(frozen=True)
class _Named:
    """A codec with its name and configuration; the configuration is JSON text, so codecs are comparable."""

    name: str
    configuration: str = "{}"

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Create the codec from an element of the ``codecs`` list."""
        name, configuration = parse_named_configuration(data, require_configuration=False)
        return cls(name, json.dumps(configuration or {}))

    def to_dict(self) -> dict[str, Any]:
        """Return the codec as an element of the ``codecs`` list."""
        return {"name": self.name, "configuration": json.loads(self.configuration)}

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        """Raise: the encoded size depends on the content."""
        raise NotImplementedError

    async def _decode_single(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any:
        return await asyncio.to_thread(self._decode_sync, chunk_data, chunk_spec)

    async def _encode_single(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any:
        return await asyncio.to_thread(self._encode_sync, chunk_data, chunk_spec)

    def _decode_sync(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any:
        raise NotImplementedError

    def _encode_sync(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any:
        raise NotImplementedError


class ArrayToBytes(_Named, ArrayBytesCodec):
    """An array→bytes codec such as ``icecore.choice``."""

    is_fixed_size = False

    def _of(self, spec: ArraySpec) -> _icecore.Chain:
        data_type = json.dumps(spec.dtype.to_json(zarr_format=3))
        native = _native(spec)
        # Only byte planes of floats use the fill value: they store it exactly.
        fill = np.asarray(spec.fill_value, native).tobytes() if native.kind in "fc" else None
        return _chain(json.dumps([self.to_dict()]), data_type, fill)

    def _decode_sync(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        out = np.empty(chunk_spec.shape, _native(chunk_spec))
        self._of(chunk_spec).decode(_bytes(chunk_data.as_numpy_array()), chunk_spec.shape, _bytes(out))
        return chunk_spec.prototype.nd_buffer.from_numpy_array(out)

    def _encode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> Buffer:
        raw = np.ascontiguousarray(chunk_data.as_numpy_array(), dtype=_native(chunk_spec))
        stored = self._of(chunk_spec).encode(_bytes(raw), chunk_spec.shape)
        return chunk_spec.prototype.buffer.from_bytes(stored)


class ToIntegers(_Named, ArrayArrayCodec):
    """An array→array codec whose output is integers of the configured ``dtype``: ``icecore.decimal``."""

    is_fixed_size = False

    def resolve_metadata(self, chunk_spec: ArraySpec) -> ArraySpec:
        """Return the array specification for the following codecs."""
        return replace(chunk_spec, dtype=parse_dtype(self._integers(), zarr_format=3), fill_value=0)

    def _integers(self) -> np.dtype[Any]:
        return np.dtype(json.loads(self.configuration)["dtype"])

    def _of(self, spec: ArraySpec) -> _icecore.Chain:
        data_type = json.dumps(spec.dtype.to_json(zarr_format=3))
        native = {"name": "bytes", "configuration": {"endian": sys.byteorder}}
        return _chain(json.dumps([self.to_dict(), native]), data_type)

    def _decode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        integers = np.ascontiguousarray(chunk_data.as_numpy_array(), dtype=self._integers())
        out = np.empty(chunk_spec.shape, _native(chunk_spec))
        self._of(chunk_spec).decode(_bytes(integers), chunk_spec.shape, _bytes(out))
        return chunk_spec.prototype.nd_buffer.from_numpy_array(out)

    def _encode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        raw = np.ascontiguousarray(chunk_data.as_numpy_array(), dtype=_native(chunk_spec))
        stored = self._of(chunk_spec).encode(_bytes(raw), chunk_spec.shape)
        integers = np.frombuffer(stored, self._integers()).reshape(chunk_spec.shape)
        return chunk_spec.prototype.nd_buffer.from_numpy_array(integers)


class SameType(ToIntegers):
    """An array→array codec of integers and times that keeps their type: ``icecore.offset``."""

    def resolve_metadata(self, chunk_spec: ArraySpec) -> ArraySpec:
        """Return the array specification for the following codecs."""
        return chunk_spec

    def _decode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        stored = np.ascontiguousarray(chunk_data.as_numpy_array(), dtype=_native(chunk_spec))
        out = np.empty(chunk_spec.shape, _native(chunk_spec))
        self._of(chunk_spec).decode(_bytes(stored), chunk_spec.shape, _bytes(out))
        return chunk_spec.prototype.nd_buffer.from_numpy_array(out)

    def _encode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        native = _native(chunk_spec)
        raw = np.ascontiguousarray(chunk_data.as_numpy_array(), dtype=native)
        stored = self._of(chunk_spec).encode(_bytes(raw), chunk_spec.shape)
        return chunk_spec.prototype.nd_buffer.from_numpy_array(
            np.frombuffer(stored, native).reshape(chunk_spec.shape)
        )


class BytesToBytes(_Named, BytesBytesCodec):
    """A bytes→bytes codec such as HDF5's filters and ``icecore.h5bitshuffle``."""

    is_fixed_size = False

    def _of(self) -> _icecore.Chain:
        return _chain(json.dumps([_RAW, self.to_dict()]), '"uint8"')

    def _decode_sync(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer:
        expected = prod(chunk_spec.shape) * _native(chunk_spec).itemsize
        raw = self._of().unpack(_bytes(chunk_data.as_numpy_array()), expected)
        return chunk_spec.prototype.buffer.from_bytes(raw)

    def _encode_sync(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer:
        raw = _bytes(chunk_data.as_numpy_array())
        return chunk_spec.prototype.buffer.from_bytes(self._of().encode(raw, (raw.size,)))


def _native(spec: ArraySpec) -> np.dtype[Any]:
    return spec.dtype.to_native_dtype().newbyteorder("=")


def _bytes(array: np.ndarray) -> np.ndarray:
    """Return the memory of a C-contiguous array."""
    return array.reshape(-1).view(np.uint8)
