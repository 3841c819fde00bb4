"""Read plan: requests, bytes and chunks of a read, known before any data is fetched."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from icecore.display import text


@dataclass(frozen=True, repr=False)
class Plan:
    """Requests and bytes of one read. Its ``repr`` is a readable table.

    Attributes:
        requests: number of reads or GETs for data, after neighbouring byte ranges were merged.
        bytes_wanted: stored bytes of the chunks that the selection needs.
        bytes_fetched: stored bytes that the requests transfer: ``bytes_wanted`` plus gaps that are cheaper to
            read than to skip.
        bytes_decoded: output bytes of the decoders.
        bytes_out: bytes of the result.
        chunks: number of chunks that the selection touches.
        chunks_missing: how many of them were never written (they read as the fill value).
        chunks_inline: how many are stored in the manifest itself.
        chunks_cached: how many are in the cache of decoded chunks.
        index_requests, index_bytes: requests and bytes for shard indexes and byte-plane tables, read before
            the data.
        rtol_bound: the largest relative error of a number in the result; 0 for an exact read.
        objects: one dictionary per file or object: name, requests, bytes_wanted, bytes_fetched, and what was
            assumed of its store: latency (s), bandwidth (bytes/s of a connection), gap (bytes).
        arrays: one dictionary per array: path, shape of the result, codecs.

    Example:
        >>> import icecore
        >>> repo = icecore.create("memory://")
        >>> with repo.writer() as w:
        ...     w.array("/t2m", "f4", (100,), chunks=(10,))[...] = range(100)
        >>> plan = repo.at("main")["/t2m"].plan(slice(5, 25))
        >>> plan.chunks, plan.bytes_out
        (3, 80)
    """

    requests: int
    bytes_wanted: int
    bytes_fetched: int
    bytes_decoded: int
    bytes_out: int
    chunks: int
    chunks_missing: int
    chunks_inline: int
    chunks_cached: int
    index_requests: int
    index_bytes: int
    rtol_bound: float = 0.0
    objects: list[dict[str, Any]] = field(default_factory=list)
    arrays: list[dict[str, Any]] = field(default_factory=list)

    def __str__(self) -> str:
        waste = (self.bytes_fetched - self.bytes_wanted) / self.bytes_wanted if self.bytes_wanted else 0.0
        others = [
            ("missing", self.chunks_missing),
            ("inline", self.chunks_inline),
            ("cached", self.chunks_cached),
        ]
        chunks = ", ".join([f"{self.chunks:,}", *(f"{count:,} {name}" for name, count in others if count)])
        index = f" (and {self.index_requests:,} for indexes, {text.size(self.index_bytes)})"
        head = text.pairs(
            [
                ("requests", f"{self.requests:,}{index if self.index_requests else ''}"),
                ("bytes wanted", text.size(self.bytes_wanted)),
                ("bytes fetched", f"{text.size(self.bytes_fetched)} ({waste:+.1%})"),
                ("bytes decoded", text.size(self.bytes_decoded)),
                ("bytes out", text.size(self.bytes_out)),
                ("chunks", chunks),
                *self._assumed(),
                *([("relative error", f"at most {self.rtol_bound:.2g}")] if self.rtol_bound else []),
            ]
        )
        return "\n\n".join([head, self._arrays(), *([self._objects()] if self.objects else [])])

    __repr__ = __str__

    def _assumed(self) -> list[tuple[str, str]]:
        """What was assumed of each remote store: learned from its requests, or the preset."""
        stores: dict[str, dict[str, Any]] = {}
        for item in self.objects:
            scheme, is_url, rest = item["name"].partition("://")
            if is_url and scheme != "file":
                stores.setdefault(f"{scheme}://{rest.partition('/')[0]}", item)
        return [
            (
                "assumed",
                f"{store}: {item['latency'] * 1e3:.3g} ms to the first byte, "
                f"{text.size(round(item['bandwidth']))}/s a connection, "
                f"gaps up to {text.size(item['gap'])} are read",
            )
            for store, item in stores.items()
        ]

    def _arrays(self) -> str:
        rows = [[item["path"], item["shape"], " → ".join(item["codecs"])] for item in self.arrays]
        return text.table(["array", "result", "codecs"], rows)

    def _objects(self, limit: int = 20) -> str:
        rows = [
            [
                f"{item['requests']:,}",
                text.size(item["bytes_wanted"]),
                text.size(item["bytes_fetched"]),
                item["name"],
            ]
            for item in self.objects[:limit]
        ]
        rest = len(self.objects) - limit
        more = f"\n… and {text.plural(rest, 'object')} more" if rest > 0 else ""
        return text.table(["requests", "wanted", "fetched", "object"], rows, (0, 1, 2)) + more
