"""Reference decoder of icecore.pages: pages of numbers need pcodec, those of bytes Zstandard."""

import numpy as np


def decode(data, configuration, dtype, shape, nested):
    """Return the elements of all pages, or of runs of equal elements."""
    count, page = int(np.prod(shape)), configuration.get("page", 256)
    if not count:
        return np.empty(shape, dtype)
    kind = dtype if dtype.kind in "SV" else np.dtype({"b": "u1", "M": "i8", "m": "i8"}.get(dtype.kind, dtype))
    if data[0]:
        return _pages(data, page, kind, count).view(dtype).reshape(shape)
    runs, size = (int(n) for n in np.frombuffer(data, "<u4", 2, 1))
    at = 13 + 4 * -(-runs // page)  # behind the first element of each page of runs, and the checksum
    lengths = _pages(data[at : at + size], page, np.dtype("u4"), runs)
    return np.repeat(_pages(data[at + size :], page, kind, runs), lengths).view(dtype).reshape(shape)


def _pages(data, page, kind, count):
    width, size = data[0], int(np.frombuffer(data, "<u4", 2, 1)[1])
    number, statistics, at = -(-count // page), data[9 : 9 + size], 9 + size
    lengths = [int.from_bytes(data[at + width * i : at + width * (i + 1)], "little") for i in range(number)]
    at += width * number + 4
    decoded = _bytes(statistics) if kind.kind in "SV" else _numbers(statistics, kind)
    parts = []
    for i, length in enumerate(lengths):
        elements = min(page, count - i * page)
        parts.append(decoded(data[at : at + length], elements, elements * kind.itemsize))
        at += length + 4  # each page is followed by its checksum
    return np.frombuffer(b"".join(parts), kind)


def _numbers(statistics, kind):
    from pcodec.wrapped import FileDecompressor

    file, used = FileDecompressor.new(statistics)
    chunk, _ = file.chunk_decompressor(statistics[used:], f"{kind.kind}{8 * kind.itemsize}")

    def numbers(stored, elements, size):
        out = np.zeros(elements, kind)
        chunk.read_page_into(stored, elements, out)
        return out.tobytes()

    return numbers


def _bytes(statistics):
    try:
        from compression import zstd
    except ModuleNotFoundError:
        from backports import zstd
    content = zstd.decompress(statistics[4:]) if statistics else b""
    prefix = zstd.ZstdDict(content, is_raw=True).as_prefix if len(content) >= 8 else None
    return lambda stored, elements, size: stored if len(stored) == size else zstd.decompress(stored, prefix)
