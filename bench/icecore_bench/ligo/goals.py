"""Table 5: measured figures compared with their goals."""

from __future__ import annotations

from icecore_bench.ligo.clock import Time
from icecore_bench.ligo.space import AUXILIARY, Sizes
from icecore_bench.ligo.speed import EVERYTHING, LIMIT, LINKED, PACKED, Speeds
from icecore_bench.study import Table

_ONE = "16 kHz"


def table(
    speeds: Speeds,
    sizes: Sizes,
    linking: dict[str, Time],
    names: dict[str, str],
    strain_bytes: int,
    files: int,
) -> Table:
    """Return a table of each goal and its measurement; ratios are of CPU time.

    Args:
        speeds, sizes, linking: the measurements.
        names: names of the layouts ``short``, ``long`` and ``suppressed``.
        strain_bytes: size in bytes of the samples of the 16 kHz channel.
        files: number of linked files.
    """
    rows: list[tuple[str, str, float | None, float, bool]] = []
    short, long, suppressed = names["short"], names["long"], names["suppressed"]

    def ratio(goal: str, layout: str, what: str, reader: str, other: str, bound: float, most: bool) -> None:
        rows.append((goal, f"{reader} / {other}", speeds.ratio(layout, what, reader, other), bound, most))

    ratio("16 kHz channel, 1 s files, gzip", short, _ONE, LINKED, LIMIT, 1.35, True)
    ratio("16 kHz channel, 1 s files, gzip", short, _ONE, "gwframe", LINKED, 2.3, False)
    ratio("16 kHz channel, 1 s files, gzip", short, _ONE, "LALFrame", LINKED, 7, False)
    ratio("16 kHz channel, 1 s files, zero-suppressed", suppressed, _ONE, "gwframe", LINKED, 2, False)
    one, sixty = speeds.cpu(short, _ONE, LINKED), speeds.cpu(long, _ONE, LINKED)
    rows.append(("16 kHz channel, linked", "1 s files / 60 s files", _over(one, sixty), 1.2, True))
    ratio("all channels, 1 s files, gzip", short, EVERYTHING, "gwframe", LINKED, 2, False)
    ratio("all channels, 60 s files, gzip", long, EVERYTHING, "gwframe", LINKED, 2, False)
    for goal in ("speed", "balanced"):
        packed = speeds.cpu("packed", _ONE, f"{PACKED} for {goal}")
        raw = speeds.cpu("packed", _ONE, "one raw file")
        speed = strain_bytes / packed / 1e9 if packed else None
        rows.append((f"16 kHz channel, packed for {goal}", "GB per CPU second", speed, 2, False))
        rows.append(
            (f"16 kHz channel, packed for {goal}", "time / one raw file", _over(packed, raw), 1.3, True)
        )
    index, link = linking["index"], linking["link"]
    rows.append(("index one-second files", "files per CPU second", files / index.cpu, 1000, False))
    rows.append(("link one-second files", "files per minute", 60 * files / link.wall, 3000, False))
    first = linking["open and read the first second"]
    rows.append((f"open {files} files, read 1 s", "wall ms", first.wall * 1e3, 50, True))
    for way in ("for balanced", "with predict"):
        strain = sizes.ratio(f"packed {way}", suppressed, ("strain",))
        rows.append((f"strain, packed {way}", "bytes / zero-suppressed", strain, 0.92, True))
        auxiliary = sizes.ratio(f"packed {way}", suppressed, AUXILIARY)
        rows.append((f"auxiliary, packed {way}", "bytes / zero-suppressed", auxiliary, 0.9, True))
    result = Table("Table 5: goals", ["goal, measure", "measure", "asked", "measured", "reached"])
    for goal_, measure, value, bound, most in rows:
        asked = f"{'≤' if most else '≥'} {bound:g}"
        reached = None if value is None else "yes" if (value <= bound) == most or value == bound else "no"
        result.rows.append([goal_, measure, asked, value, reached])
    return result


def _over(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None
