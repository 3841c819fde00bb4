"""Install what `make test-integration` needs beyond `make test`, each tool by itself.

python tools/integration_deps.py [NAME...]   all tools, or those named

A tool that cannot be installed is reported and skipped; the others are installed all the same. Tools go into
.integration/, Python packages that the tests import into the development environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".integration"
SECONDS = 900
UV = str(Path(sys.executable).with_name("uv"))


class Unavailable(Exception):
    """Why a tool cannot be installed here."""


def run(*command: str, **environment: str) -> None:
    if shutil.which(command[0]) is None:
        raise Unavailable(f"{command[0]} is not installed")
    try:
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} took more than {SECONDS} s") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise Unavailable(next((line for line in lines if "error" in line.lower()), lines[-1])[:300])


def python_packages() -> None:
    """moto (S3), boto3, h5pyd and gwframe: tests import them."""
    run(
        UV,
        "pip",
        "install",
        "-q",
        "--python",
        sys.executable,
        "--group",
        f"{ROOT}/pyproject.toml:integration",
    )


def versitygw() -> None:
    """An S3 server over a directory, with real signatures and multipart uploads."""
    run("go", "install", "github.com/versity/versitygw/cmd/versitygw@latest", GOBIN=str(HOME / "bin"))


def minio() -> None:
    """Another S3 server, which keeps objects in its own way (used by tests as a program of its own)."""
    run("go", "install", "github.com/minio/minio@latest", GOBIN=str(HOME / "bin"))


def fake_gcs_server() -> None:
    """A Google Cloud Storage server."""
    run("go", "install", "github.com/fsouza/fake-gcs-server@latest", GOBIN=str(HOME / "bin"))


def azurite() -> None:
    """An Azure Blob Storage server."""
    place = HOME / "azurite"
    place.mkdir(exist_ok=True)
    (place / "package.json").write_text('{"private": true}\n')
    run("npm", "install", "--no-fund", "--no-audit", "--prefix", str(place), "azurite")


def peers() -> None:
    """uproot and awkward: `tools/compare_root.py` compares with them."""
    venv("peers", "uproot>=5.7", "awkward>=2", "numpy")


def frames() -> None:
    """gwframe and LALFrame: `tools/compare_gwf.py` compares with them, with icecore."""
    venv("frames", "gwframe>=0.8", "gwpy>=4", "lalsuite>=7.26", "-r", f"{ROOT}/pyproject.toml")


def root() -> None:
    """C++ ROOT."""
    venv("root", "root", "--prerelease=allow")


def venv(name: str, *packages: str) -> None:
    place = HOME / name
    run(UV, "venv", "-q", "--allow-existing", "--python", sys.executable, str(place))
    run(UV, "pip", "install", "-q", "--python", str(place / "bin" / "python"), *packages)


def mpi() -> None:
    """mpi4py and MPICH: ranks of a parallel model."""
    run(UV, "pip", "install", "-q", "--python", sys.executable, "mpi4py>=4", "mpich>=4")


def dap() -> None:
    """Clients of OPeNDAP in Python."""
    venv("dap", "netCDF4>=1.7", "pydap>=3.5", "siphon>=0.10", "xarray>=2025.1")


def netcdf() -> None:
    """ncdump, nccopy, NCO and CDO, from Debian."""
    if not all(map(shutil.which, ("ncdump", "ncks", "cdo"))):
        run("apt-get", "install", "-y", "--no-install-recommends", "netcdf-bin", "nco", "cdo")


def chromium() -> None:
    """Playwright, with the system's chromium where there is one."""
    run(UV, "pip", "install", "-q", "--python", sys.executable, "playwright>=1.50")
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        run(sys.executable, "-m", "playwright", "install", "chromium")


def typescript() -> None:
    """The compiler of the TypeScript example, and what makes types from the service's OpenAPI."""
    place = HOME / "typescript"
    if (place / "node_modules" / "typescript").exists():
        return
    packages = ("typescript@5.9.3", "openapi-typescript@7.13.0", "@types/node@20")
    run("npm", "install", "--no-fund", "--no-audit", "--prefix", str(place), *packages)


def codecs_js() -> None:
    """What codecs-js/ is built and tested with."""
    run("npm", "ci", "--no-fund", "--no-audit", "--prefix", str(ROOT / "codecs-js"))


def axe() -> None:
    """axe-core: checks that the page can be used with keyboard and screen reader."""
    place = HOME / "axe"
    place.mkdir(exist_ok=True)
    (place / "package.json").write_text('{"private": true}\n')
    run("npm", "install", "--no-fund", "--no-audit", "--prefix", str(place), "axe-core@4")


STEPS: dict[str, Callable[[], None]] = {
    "python": python_packages,
    "versitygw": versitygw,
    "minio": minio,
    "fake-gcs-server": fake_gcs_server,
    "azurite": azurite,
    "peers": peers,
    "frames": frames,
    "root": root,
    "mpi": mpi,
    "dap": dap,
    "netcdf": netcdf,
    "chromium": chromium,
    "axe": axe,
    "codecs_js": codecs_js,
    "typescript": typescript,
}


def main(names: list[str]) -> int:
    if unknown := [name for name in names if name not in STEPS]:
        print(f"unknown: {', '.join(unknown)}; one of {', '.join(STEPS)}", file=sys.stderr)
        return 2
    HOME.mkdir(exist_ok=True)
    for name in names or STEPS:
        print(f"{name:16} ", end="", flush=True)
        try:
            STEPS[name]()
            print("installed")
        except Unavailable as error:
            print(f"skipped: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
