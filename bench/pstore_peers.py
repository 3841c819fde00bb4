"""Lossless codecs as their users call them: a block of numbers to bytes and back."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable

import numpy as np

Pack = Callable[[np.ndarray], list[bytes]]
Unpack = Callable[[list[bytes], np.ndarray], bytes]


def make(name: str) -> tuple[Pack, Unpack]:
    """The two ways of a peer; the second gets the block for its shape and type only.

    Raises ImportError where it is not installed.
    """
    kind, _, setting = name.partition(" ")
    return MAKERS[kind](setting)


def _bytes(pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes]) -> tuple[Pack, Unpack]:
    return lambda block: [pack(block.tobytes())], lambda stored, _: unpack(stored[0])


def _shuffled(pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes]) -> tuple[Pack, Unpack]:
    """Bytes of one significance together, as HDF5 has them."""

    def apart(block: np.ndarray) -> list[bytes]:
        return [pack(np.ascontiguousarray(block.view("u1").reshape(-1, block.itemsize).T).tobytes())]

    def again(stored: list[bytes], like: np.ndarray) -> bytes:
        return np.frombuffer(unpack(stored[0]), "u1").reshape(like.itemsize, -1).T.tobytes()

    return apart, again


def _zstd(setting: str) -> tuple[Pack, Unpack]:
    from numcodecs.zstd import Zstd

    codec = Zstd(level=int(setting))
    return _bytes(codec.encode, codec.decode)


def _shuffle_zstd(setting: str) -> tuple[Pack, Unpack]:
    from numcodecs.zstd import Zstd

    codec = Zstd(level=int(setting))
    return _shuffled(codec.encode, codec.decode)


def _lz4(_setting: str) -> tuple[Pack, Unpack]:
    from numcodecs.lz4 import LZ4

    codec = LZ4()
    return _bytes(codec.encode, codec.decode)


def _brotli(setting: str) -> tuple[Pack, Unpack]:
    import brotli

    return _bytes(lambda data: brotli.compress(data, quality=int(setting)), brotli.decompress)


def _blosc2(setting: str) -> tuple[Pack, Unpack]:
    import blosc2

    shuffle, name, level = setting.split()
    blosc2.set_nthreads(1)
    how = {"shuffle": blosc2.Filter.SHUFFLE, "bitshuffle": blosc2.Filter.BITSHUFFLE}[shuffle]
    codec = {"lz4": blosc2.Codec.LZ4, "zstd": blosc2.Codec.ZSTD}[name]

    def pack(block: np.ndarray) -> list[bytes]:
        return [
            blosc2.compress2(block, typesize=block.itemsize, clevel=int(level), filters=[how], codec=codec)
        ]

    return pack, lambda stored, _: blosc2.decompress2(stored[0])


def _pco(setting: str) -> tuple[Pack, Unpack]:
    from pcodec import ChunkConfig, standalone

    config = ChunkConfig(compression_level=int(setting))

    def pack(block: np.ndarray) -> list[bytes]:
        return [standalone.simple_compress(block.reshape(-1), config)]

    return pack, lambda stored, _: standalone.simple_decompress(stored[0]).tobytes()


def _fpzip(_setting: str) -> tuple[Pack, Unpack]:
    import fpzip

    def pack(block: np.ndarray) -> list[bytes]:
        return [fpzip.compress(_at_most_3(block), precision=0, order="C")]

    return pack, lambda stored, _: fpzip.decompress(stored[0], order="C").tobytes()


def _at_most_3(block: np.ndarray) -> np.ndarray:
    """fpzip predicts along three axes, and takes a fourth: axes of length 1 must not be among the three."""
    long = [n for n in block.shape if n > 1]
    return block.reshape(long if len(long) <= 4 else [-1, *long[-3:]])


def _bwc(_setting: str) -> tuple[Pack, Unpack]:
    """PStore's bytewise partition with zlib: the two most significant bytes together, then one by one."""

    def pack(block: np.ndarray) -> list[bytes]:
        rows = block.astype(block.dtype.newbyteorder(">")).view("u1").reshape(-1, block.itemsize)
        planes = [rows[:, :2], *(rows[:, i] for i in range(2, block.itemsize))]
        return [zlib.compress(plane.tobytes(), 6) for plane in planes]

    def unpack(stored: list[bytes], like: np.ndarray) -> bytes:
        planes = [np.frombuffer(zlib.decompress(plane), "u1") for plane in stored]
        rows = np.column_stack([planes[0].reshape(-1, 2), *planes[1:]])
        return rows.reshape(-1).view(like.dtype.newbyteorder(">")).astype(like.dtype).tobytes()

    return pack, unpack


MAKERS: dict[str, Callable[[str], tuple[Pack, Unpack]]] = {
    "zlib": lambda s: _bytes(lambda data: zlib.compress(data, int(s)), zlib.decompress),
    "bzip2": lambda s: _bytes(lambda data: bz2.compress(data, int(s)), bz2.decompress),
    "lzma": lambda s: _bytes(lambda data: lzma.compress(data, preset=int(s)), lzma.decompress),
    "shuffle+zlib": lambda s: _shuffled(lambda data: zlib.compress(data, int(s)), zlib.decompress),
    "shuffle+lzma": lambda s: _shuffled(lambda data: lzma.compress(data, preset=int(s)), lzma.decompress),
    "zstd": _zstd,
    "shuffle+zstd": _shuffle_zstd,
    "lz4": _lz4,
    "brotli": _brotli,
    "blosc2": _blosc2,
    "pco": _pco,
    "fpzip": _fpzip,
    "bwc+zlib": _bwc,
}
