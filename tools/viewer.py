"""Build the page of viewer/ into the package, or check that the committed build is that of its sources.

python tools/viewer.py            build (needs node)
python tools/viewer.py --check    compare the recorded hash of the sources, and the size; needs no node
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VIEWER = ROOT / "viewer"
PAGE = ROOT / "python" / "icecore" / "service" / "page"
RECORD = PAGE / "sources.sha256"
#: compressed bytes before lazy parts
LARGEST = 600_000


def sources() -> str:
    """Return the hash of all that determines the build, and of the built files."""
    inputs = [
        *sorted(VIEWER.joinpath("src").rglob("*")),
        *(VIEWER / name for name in ("index.html", "vite.config.ts", "package.json", "package-lock.json")),
    ]
    outputs = sorted(PAGE.rglob("*.gz"))
    digest = hashlib.sha256()
    for path in [*(each for each in inputs if each.is_file()), *outputs]:
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def build() -> None:
    """Build with Vite and store each file as gzip."""
    subprocess.run(["npm", "ci", "--no-fund", "--no-audit"], cwd=VIEWER, check=True)
    subprocess.run(["npx", "tsc", "-p", "."], cwd=VIEWER, check=True)
    subprocess.run(["npx", "vite", "build"], cwd=VIEWER, check=True)
    store(VIEWER / "dist")


def store(built: Path) -> None:
    """Store files as gzip; one whose content is the same keeps its bytes, whatever zlib makes."""
    before = {path.relative_to(PAGE): path.read_bytes() for path in PAGE.rglob("*.gz")}
    shutil.rmtree(PAGE, ignore_errors=True)
    for path in sorted(each for each in built.rglob("*") if each.is_file()):
        target = PAGE / f"{path.relative_to(built).as_posix()}.gz"
        target.parent.mkdir(parents=True, exist_ok=True)
        content, old = path.read_bytes(), before.get(target.relative_to(PAGE))
        is_same = old is not None and gzip.decompress(old) == content
        target.write_bytes(old if is_same else gzip.compress(content, 9, mtime=0))
    RECORD.write_text(sources() + "\n")


def first_bytes() -> int:
    """Return the compressed bytes of what index.html names."""
    index = gzip.decompress((PAGE / "index.html.gz").read_bytes()).decode()
    named = [each for each in PAGE.rglob("*.gz") if each.name.removesuffix(".gz") in index]
    return sum(each.stat().st_size for each in named) + (PAGE / "index.html.gz").stat().st_size


def check() -> str | None:
    """Return what is wrong with the committed build; None if nothing is."""
    if not RECORD.exists() or RECORD.read_text().strip() != sources():
        return "python/icecore/service/page is not the build of viewer/: make viewer, and commit both"
    if first_bytes() > LARGEST:
        return f"the page has {first_bytes():,} bytes before lazy parts (limit {LARGEST:,})"
    return None


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        problem = check()
        print(problem or f"the page is the build of its sources: {first_bytes():,} bytes before lazy parts")
        return 1 if problem else 0
    build()
    print(f"{PAGE.relative_to(ROOT)}: {first_bytes():,} bytes before lazy parts")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
