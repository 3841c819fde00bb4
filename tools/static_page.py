"""Bundle codecs-js into the package for `icecore view --static`, or check the committed bundle.

python tools/static_page.py            build (needs node)
python tools/static_page.py --check    compare the recorded hash of the sources, and the size; needs no node
"""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODECS = ROOT / "codecs-js"
PLACE = ROOT / "python" / "icecore" / "service" / "static"
BUNDLE = PLACE / "static.js.gz"
RECORD = PLACE / "sources.sha256"
#: bytes of the bundle before compression
LARGEST = 400_000


def sources() -> str:
    """Return the hash of all that determines the bundle, and of the bundle."""
    inputs = [
        *sorted(CODECS.joinpath("src").glob("*.ts")),
        CODECS / "package.json",
        CODECS / "package-lock.json",
    ]
    digest = hashlib.sha256()
    for path in [*inputs, BUNDLE]:
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def build() -> None:
    """Check types, bundle, and store the bundle as gzip; one of the same content keeps its bytes."""
    subprocess.run(["npm", "ci", "--no-fund", "--no-audit"], cwd=CODECS, check=True)
    subprocess.run(["npm", "run", "-s", "build"], cwd=CODECS, check=True)
    subprocess.run(["npm", "run", "-s", "bundle"], cwd=CODECS, check=True)
    content = (CODECS / "dist" / "static.js").read_bytes()
    PLACE.mkdir(exist_ok=True)
    if not BUNDLE.exists() or gzip.decompress(BUNDLE.read_bytes()) != content:
        BUNDLE.write_bytes(gzip.compress(content, 9, mtime=0))
    RECORD.write_text(sources() + "\n")


def check() -> str | None:
    """Return what is wrong with the committed bundle; None if nothing is."""
    if not RECORD.exists() or RECORD.read_text().strip() != sources():
        return "python/icecore/service/static is not the build of codecs-js/: make viewer, and commit both"
    size = len(gzip.decompress(BUNDLE.read_bytes()))
    return f"static.js has {size:,} bytes (limit {LARGEST:,})" if size > LARGEST else None


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        problem = check()
        print(problem or "static.js is the build of its sources")
        return 1 if problem else 0
    build()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
