"""Model of jobs on 1 to 100 machines: requests, bytes, CPU, memory, money; prints tables of docs/scaling.md.

    python bench/scaling.py

The figures of icecore were measured (`bench/scaling_measure.py`, `bench/cluster_workers.py` and the documents
that are named); those of machines and prices are assumptions.
"""

from __future__ import annotations

from dataclasses import dataclass

HOUR, TB, GB, MB = 3600.0, 1e12, 1e9, 1e6

# Assumptions: a machine of 16 cores in the store's region, list prices in US dollars.
CORES = 16
NETWORK = 1.2 * GB  # bytes a second of a machine, each way
PRICE = 0.80  # an hour of a machine
GETS, PUTS = 5500.0, 3500.0  # requests a second of one prefix of S3
GET_PRICE, PUT_PRICE = 0.4e-6, 5e-6
STORED_PRICE = 0.023 / GB  # a byte and month

# Measured, on two cores of an AMD EPYC.
TEXT_CPU = 2.1 / (303 * MB)  # seconds a byte of Diviner text, out of a zip (design record 0034)
TEXT_RATIO = 38.9  # bytes of text to stored bytes (0034)
ENCODE_CPU = 1 / (100 * MB)  # seconds a byte of floats, read, encoded and stored (cluster_workers.py)
DECODE_CPU = 1 / (1.5 * GB)  # seconds a byte (0012, bench/RESULTS-pstore.md)
TASK = 0.0044  # seconds of the scheduler and the client for a task (scaling_measure.py)
MERGE = 5.4e-6  # seconds a reference that a worker returns
SET, COMMIT = 0.5e-6, 1.6e-6  # seconds a reference (bench/RESULTS.md, W5)
REFERENCE = 8.6  # stored bytes a reference of one linked file; 25 to 30 with objects of their own
REFERENCE_MEMORY = 336  # bytes of the process that commits
NODE, NODE_STORED, NODE_TIME = 2000, 37, 104e-6  # an array: bytes in memory (assumed), stored bytes, seconds
INDEX_CPU = 1.5e-3  # seconds a dataset of an HDF5 file
INDEX_WIRE = 33  # bytes a chunk
OVERHEAD = 0.10  # share of the workers' time that distribution may take (cluster_workers.py)


@dataclass(frozen=True)
class Job:
    """A job: what its tasks read, compute and write, and what one process does alone.

    Attributes:
        cpu: seconds of one core, all tasks together.
        read, written: bytes.
        gets, puts: requests.
        tasks: number of tasks.
        references: references that are merged and committed.
        arrays: arrays of the repository.
        merged: whether workers return the references one by one (else as indexes).
    """

    name: str
    cpu: float
    read: float
    written: float
    gets: float
    puts: float
    tasks: float
    references: float
    arrays: float
    merged: bool = True

    def alone(self) -> float:
        """Seconds of the process that merges and commits."""
        merge = MERGE if self.merged else SET
        return self.tasks * TASK + self.references * (merge + COMMIT) + self.arrays * NODE_TIME

    def parts(self, machines: int) -> dict[str, float]:
        """Seconds of each resource; the largest is the time, if the process that merges works beside."""
        busy = min(machines * CORES, self.tasks)
        return {
            "CPU": self.cpu * (1 + OVERHEAD) / busy,
            "network": max(self.read, self.written) / (machines * NETWORK),
            "store": max(self.gets / GETS, self.puts / PUTS),
            "merge": self.alone(),
        }

    def money(self, machines: int) -> float:
        """Dollars of machines and requests."""
        seconds = max(self.parts(machines).values())
        return machines * PRICE * seconds / HOUR + self.gets * GET_PRICE + self.puts * PUT_PRICE


def diviner(tables: int) -> Job:
    """24 TB of zips: 391,437 files of ten minutes, each with 303 MB of text, in tables of equal length."""
    files, columns, text = 391_437, 33, 303 * MB
    stored = files * text / TEXT_RATIO
    references = files * columns * 2.0
    return Job(
        f"Diviner, {tables:,} tables",
        files * text * TEXT_CPU,
        24 * TB,
        stored,
        files * 4.0,
        stored / (8 * MB),
        tables,
        references,
        tables * (columns + 1.0),
    )


def icesat() -> Job:
    """Link of 150 TB a year: granules of 2 GB with 1,000 datasets and 14,000 chunks."""
    granules = 150 * TB / (2 * GB)
    chunks = granules * 14_000
    return Job(
        "ICESat-2, link of a year",
        granules * 1000 * INDEX_CPU,
        granules * 20 * MB,
        chunks * 30,
        granules * 12,
        chunks * 30 / (4 * MB),
        granules / 16,
        chunks,
        granules * 1000,
        merged=False,
    )


def frames(linked: bool) -> Job:
    """A year of 100,000 channels of 64 float32 samples a second on average, in files of 64 s."""
    channels, seconds, rate = 100_000, 365.25 * 86400, 64
    raw = channels * seconds * rate * 4.0
    files = seconds / 64
    if linked:
        references = channels * files
        cpu = references * 2e-6
        return Job(
            "frames, link",
            cpu,
            references * 100,
            references * 30,
            files * 20,
            references * 30 / (4 * MB),
            files / 16,
            references,
            channels,
            merged=False,
        )
    return Job(
        "frames, pack",
        raw * ENCODE_CPU,
        raw / 2,
        raw / 2.5,
        raw / (16 * MB),
        raw / 2.5 / (13 * MB),
        raw / (128 * MB),
        raw / (32 * MB),
        channels,
    )


def references(count: float = 1e9) -> Job:
    """References to chunks, from ready-made indexes."""
    return Job(
        "10⁹ references",
        count * 1e-6,
        count * 20,
        count * 25,
        1e5,
        count * 25 / (4 * MB),
        1e4,
        count,
        1000,
        merged=False,
    )


JOBS = (diviner(2720), diviner(90), icesat(), frames(False), frames(True), references())


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:.1f} s"


def size(nbytes: float) -> str:
    """Return bytes in the unit that suits them."""
    for unit, name in ((1e15, "PB"), (TB, "TB"), (GB, "GB"), (MB, "MB")):
        if nbytes >= unit:
            return f"{nbytes / unit:,.3g} {name}"
    return f"{nbytes:.0f} B"


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def times() -> str:
    """Time, bound and money of each job on 1, 10 and 100 machines."""
    rows = []
    for job in JOBS:
        row = [job.name]
        for machines in (1, 10, 100):
            parts = job.parts(machines)
            bound = max(parts, key=lambda name: parts[name])
            row.append(f"{duration(parts[bound])} ({bound}), ${job.money(machines):,.0f}")
        rows.append(row)
    return table(["job", "1 machine", "10 machines", "100 machines"], rows)


def amounts() -> str:
    """What each job reads, writes and asks, and the memory of the process that commits, if in one commit."""
    rows = []
    for job in JOBS:
        memory = job.references * REFERENCE_MEMORY + job.arrays * NODE
        rows.append(
            [
                job.name,
                size(job.read),
                size(job.written),
                f"{job.gets:.2g}",
                f"{job.puts:.2g}",
                f"{job.cpu / HOUR:,.0f}",
                f"{job.tasks:,.0f}",
                f"{job.references:.2g}",
                f"{job.arrays:,.0f}",
                size(memory),
                f"${job.written * STORED_PRICE:,.0f}",
            ]
        )
    heads = [
        "job",
        "read",
        "written",
        "GET",
        "PUT",
        "CPU h",
        "tasks",
        "references",
        "arrays",
        "memory, one commit",
        "stored, a month",
    ]
    return table(heads, rows)


def limits() -> str:
    """The size at which each part takes an hour, or 16 GB of memory, in the process that commits."""
    rows = [
        ["references in one commit", "memory 16 GB", f"{16 * GB / REFERENCE_MEMORY:.1g}", "commit in parts"],
        [
            "references of one repository",
            "an hour to set and commit",
            f"{HOUR / (SET + COMMIT):.1g}",
            "several repositories, or larger chunks",
        ],
        [
            "arrays of one repository",
            "16 GB of nodes, read by every open",
            f"{16 * GB / NODE:.1g}",
            "join files; one repository a year",
        ],
        ["tasks", "an hour of the scheduler", f"{HOUR / TASK:.1g}", "larger tasks: 128 MB are planned"],
        [
            "references that workers return",
            "an hour of merging",
            f"{HOUR / MERGE:.1g}",
            "larger shards: 32 MB are planned",
        ],
        [
            "machines on one prefix of a store",
            f"{GETS:,.0f} GET/s of 8 MB each",
            f"{GETS * 8 * MB / NETWORK:.0f}",
            "more prefixes: chunks have random names, S3 divides them itself",
        ],
    ]
    return table(["what", "limit", "reached at", "what helps"], rows)


def study() -> str:
    """100 nodes that read 50 GB/s together: the archive in other forms."""
    text, files = 303 * MB, 391_437
    forms = {
        "zips as they are": (24 * TB, files * text / (300 * MB)),
        "packed, all columns": (files * text / TEXT_RATIO, files * 886_000 * 33 * 8 * DECODE_CPU),
        "packed, 3 of 33 columns": (files * text / TEXT_RATIO * 3 / 33, files * 886_000 * 3 * 8 * DECODE_CPU),
    }
    rows = []
    for name, (nbytes, cpu) in forms.items():
        fetch, decode = nbytes / (50 * GB), cpu / (100 * CORES)
        rows.append(
            [
                name,
                size(nbytes),
                duration(fetch),
                duration(decode),
                duration(max(fetch, decode)),
                f"${100 * PRICE * max(fetch, decode) / HOUR:,.2f}",
            ]
        )
    return table(["form", "bytes", "at 50 GB/s", "CPU of 1,600 cores", "time", "machines"], rows)


def main() -> None:
    for part in (times, amounts, limits, study):
        print(f"{(part.__doc__ or '').strip()}\n\n{part()}\n")


if __name__ == "__main__":
    main()
