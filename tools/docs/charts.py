"""Bar charts of measured speed, as SVG in docs/images, from the tables in bench/RESULTS*.md.

python tools/docs/charts.py            writes them
python tools/docs/charts.py --check    status 1 if a committed chart differs from the results
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from html import escape

from results import ROOT, Results, load

IMAGES = ROOT / "docs" / "images"
WIDTH, LABEL, VALUE, BAR, GAP, PANEL, TOP = 760, 210, 90, 18, 6, 26, 34
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600 } .note { fill: #6e7781; font-size: 11px }
  .ours { fill: #0b7285 } .other { fill: #adb5bd } .name { font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .note { fill: #9198a1 } .ours { fill: #3bc9db } .other { fill: #6c757d }
  }"""


@dataclass(frozen=True)
class Panel:
    """Bars with one scale."""

    title: str
    bars: list[tuple[str, float]]
    unit: str = "ms"


def draw(panels: list[Panel], note: str) -> str:
    """The panels below each other; icecore's bars are coloured."""
    parts, y = [], 0
    for panel in panels:
        parts.append(f'<text class="title" x="0" y="{y + 16}">{escape(panel.title)}</text>')
        y += PANEL
        most = max(value for _, value in panel.bars)
        for name, value in panel.bars:
            ours = name.startswith("icecore")
            bold = ' class="name"' if ours else ""
            length = max(value / most * (WIDTH - LABEL - VALUE), 1.5)
            middle = y + BAR - 5
            parts.append(
                f'<text{bold} x="{LABEL - 8}" y="{middle}" text-anchor="end">'
                f"{escape(name)}</text>"
                f'<rect class="{"ours" if ours else "other"}" x="{LABEL}" y="{y}" width="{length:.1f}" '
                f'height="{BAR}" rx="2"/>'
                f'<text x="{LABEL + length + 6:.1f}" y="{middle}">{label(value, panel.unit)}</text>'
            )
            y += BAR + GAP
        y += 12
    parts.append(f'<text class="note" x="0" y="{y + 8}">{escape(note)}</text>')
    titles = escape("; ".join(panel.title for panel in panels))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 16}" width="{WIDTH}" role="img" '
        f'aria-label="{titles}">\n<style>{STYLE}\n</style>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def label(value: float, unit: str) -> str:
    """Three digits and a unit; seconds from 1,000 ms on."""
    if unit == "ms" and value >= 1000:
        value, unit = value / 1000, "s"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}".strip()


def times(results: Results, section: str, column: str, rows: dict[str, str]) -> list[tuple[str, float]]:
    """Bars: label → row of the table."""
    return [(name, results.value(section, row, column)) for name, row in rows.items()]


def sharded(results: Results, codec: str, chunk: str, column: str) -> list[tuple[str, float]]:
    sides = ("icecore", "tensorstore", "zarrs", "zarr-python")
    return times(results, "W3", f"{column}: wall ms", {side: f"{codec}, {chunk}: {side}" for side in sides})


def charts() -> dict[str, str]:
    """File name → SVG."""
    speed, pstore = load("RESULTS.md"), load("RESULTS-pstore.md")
    linked = {
        "icecore": "icecore",
        "hidefix": "hidefix",
        "h5py": "h5py",
        "Icechunk + zarr-python": "icechunk + zarr-python",
    }
    remote = {
        "icecore": "icecore",
        "Icechunk + zarr-python, tuned": "icechunk + zarr-python, tuned",
        "h5coro": "h5coro",
        "Icechunk + zarr-python": "icechunk + zarr-python, as it comes",
    }
    linking = {"icecore": "icecore", "VirtualiZarr to Icechunk": "VirtualiZarr to Icechunk"}
    small = ("icecore", "zarrs", "tensorstore", "zarr-python")
    note = "wall time, shorter is better; two cores; source: bench/RESULTS.md"
    open_all = "open and read all: wall ms"
    w1 = Panel("Read 72 linked HDF5 datasets (700 MB, gzip)", times(speed, "W1", open_all, linked))
    w2 = Panel("Read 10 MB of them over HTTP, 30 ms away", times(speed, "W2", "cold: wall ms", remote))
    w3 = Panel("Read 10 % of a sharded array (904 MB, zstd)", sharded(speed, "zstd", "1.3 MB", "10 % box"))
    w5 = Panel("Link a file of 144,000 chunks", times(speed, "W5", "144,000 chunks: wall ms", linking))
    boxes = [
        Panel(f"{title}, {codec}, chunks of {chunk}", sharded(speed, codec, chunk, column))
        for codec, chunk in (("zstd", "1.3 MB"), ("blosc", "144 kB"))
        for title, column in (("1 % box", "1 % box"), ("series at a point", "series"), ("scan", "scan"))
    ]
    tiny = [
        Panel(
            f"10,000 chunks of 100 elements, {codec}",
            times(speed, "W4", "again: wall ms", {side: f"{codec}: {side}" for side in small}),
        )
        for codec in ("raw", "zstd")
    ]
    starts = {
        "icecore, ready to open": "icecore, ready to open",
        "numpy": "numpy",
        "h5py": "h5py",
        "tensorstore": "tensorstore",
        "zarr": "zarr",
        "icechunk": "icechunk",
    }
    codecs = {
        "icecore archive": "icecore archive", "icecore balanced": "icecore balanced",
        "icecore speed": "icecore speed", "shuffle + lzma 6": "shuffle+lzma 6", "pco 12": "pco 12",
        "fpzip": "fpzip lossless", "blosc2 zstd 9": "blosc2 shuffle zstd 9",
        "shuffle + zlib 6": "shuffle+zlib 6", "zstd 3": "zstd 3", "lz4 1": "lz4 1",
    }  # fmt: skip
    lossless = "PStore: lossless codecs on real fields"
    reading = Panel("Decode, one core", times(pstore, lossless, "read MB/s", codecs), "MB/s")
    ratios = Panel("Compression ratio, harmonic mean of 31 fields",
                   times(pstore, lossless, "harmonic mean", codecs), ": 1")  # fmt: skip
    planes = {f"icecore, {n} of 4 bytes": f"{n} bytes" for n in (4, 3, 2)}
    partial = [
        Panel("Scan of 904 MB over HTTP, 20 ms away, 64 x 3 MB/s",
              times(pstore, "PStore: two of four", "scan, away: wall ms", planes)),
        Panel("10 % box from the page cache",
              times(pstore, "PStore: two of four", "10 % box: wall ms", planes)),
    ]  # fmt: skip
    longer = "longer is better; two cores; source: bench/RESULTS-pstore.md"
    return {
        "speed.svg": draw([w1, w2, w3, w5], note),
        "linked.svg": draw([w1, w2], note),
        "sharded.svg": draw([w3, *boxes], note),
        "small-chunks.svg": draw(tiny, note),
        "linking.svg": draw([w5], note),
        "import.svg": draw(
            [Panel("Import in a fresh process", times(speed, "W6", "import: wall ms", starts))], note
        ),
        "codecs.svg": draw([ratios, reading], longer),
        "partial.svg": draw(partial, note.replace("RESULTS", "RESULTS-pstore")),
    }


def main() -> int:
    drawn = charts()
    if "--check" in sys.argv:
        stale = [
            name
            for name, text in drawn.items()
            if not (IMAGES / name).is_file() or (IMAGES / name).read_text() != text
        ]
        for name in stale:
            print(f"docs/images/{name} differs from bench/RESULTS: run `make docs`", file=sys.stderr)
        return bool(stale)
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, text in drawn.items():
        (IMAGES / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
