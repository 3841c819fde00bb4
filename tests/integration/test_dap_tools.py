"""Programs that read OPeNDAP, unchanged, on the service: netCDF's own tools, NCO, CDO, pydap, siphon, xarray.

A tool that is not installed is skipped (``python tools/integration_deps.py netcdf dap``).
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

pytestmark = pytest.mark.integration
DATA = Path(__file__).parents[2].parent / "shared" / "data"
PYTHON = Path(__file__).parents[2] / ".integration" / "dap" / "bin" / "python"
FILES = sorted(
    path.relative_to(DATA).as_posix()
    for folder in ("climate", "hdf5", "frames")
    for path in (DATA / folder).glob("*")
    if path.suffix in (".nc", ".nc4", ".h5", ".hdf5", ".hdf", ".he5")
)
GRID = "climate/80.nc"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not there")


def needs(*tools: str) -> Any:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed")


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from test_hostile import serving

    folders = [f"{name}={DATA / name}" for name in ("climate", "hdf5", "frames")]
    with serving(*folders, "--cache", tmp_path_factory.mktemp("cache")) as service:
        yield f"http://127.0.0.1:{service.port}"


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def variables(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    group.set_auto_maskandscale(False)
    group.set_auto_chartostring(False)
    for name, variable in group.variables.items():
        yield above + name, variable
    for name, inner in group.groups.items():
        yield from variables(inner, f"{above}{name}/")


def plain(name: str, separator: str) -> str:
    """Return a path as clients of DAP show it: names stay escaped."""
    escaped = re.sub(r"[^A-Za-z0-9_/-]", lambda sign: "".join(f"%{b:02X}" for b in sign[0].encode()), name)
    return escaped.replace("/", separator)


def texts(values: Any) -> list[str]:
    """Return the texts of an array of strings or of single characters."""
    values = np.asarray(values)
    if values.dtype.kind == "S" and values.dtype.itemsize == 1 and values.ndim:
        rows = values.reshape(-1, values.shape[-1])
        return [b"".join(each or b"\0" for each in row).rstrip(b"\0").decode() for row in rows.tolist()]
    flat = np.atleast_1d(values).ravel().tolist()
    return [(each.decode() if isinstance(each, bytes) else str(each)).rstrip("\0") for each in flat]


def same(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype.kind in "SUO" or other.dtype.kind in "SUO":
        return texts(one) == texts(other)
    return one.shape == other.shape and bool(np.array_equal(one, other, equal_nan=True))


def _close(one: Any, other: Any) -> bool:
    is_float = np.asarray(one).dtype == np.float32 and np.asarray(other).dtype == np.float32
    return is_float and bool(np.allclose(one, other, rtol=1e-6, equal_nan=True))


def differences(file: Any, served: Any, name: Any, text: Any, protocol: str = "") -> list[str]:
    """Return what of a file a client does not get; what the service names as left out does not count.

    Two faults of netCDF-C 4.9 are passed over: by DAP2 it gives variables of one name in several groups the
    attributes of one of them; by DAP4 it asks for other names than those with a dot.
    """
    found = dict(variables(served))
    wrong = []
    names = Counter(path.rpartition("/")[2] for path, _ in variables(file))
    for path, variable in variables(file):
        # Types that netCDF4-python can't read in the file either.
        if not isinstance(variable.dtype, np.dtype) and variable.dtype is not str:
            continue
        last = path.rpartition("/")[2]
        if protocol == "[dap4]" and "." in last:
            continue
        other = found.get(name(path))
        if other is None:
            wrong += [] if f"{path}" in text else [f"{path} is missing"]
        elif not same(variable[...], other[...]):
            wrong.append(f"{path}: {variable[...]!r:.80} {other[...]!r:.80}")
        elif protocol or names[last] == 1:
            for key in variable.ncattrs():
                value = other.getncattr(key) if key in other.ncattrs() else None
                # netCDF-C shows texts of DAP4 as XML escapes them, and loses the last digits of float32.
                value = html.unescape(value) if isinstance(value, str) else value
                if not same(variable.getncattr(key), value) and not _close(variable.getncattr(key), value):
                    wrong.append(f"{path}:{key}: {variable.getncattr(key)!r:.80} {value!r:.80}")
    return wrong


@needs_data
@pytest.mark.parametrize("protocol", ["", "[dap4]"])
@pytest.mark.parametrize("file", FILES)
def test_netcdf_reads_every_file(endpoint: str, file: str, protocol: str) -> None:
    import urllib.request

    try:
        netCDF4.Dataset(DATA / file).close()
    except OSError as error:
        pytest.skip(f"netCDF-C can't open the file itself: {error}")
    with urllib.request.urlopen(f"{endpoint}/dap/{file}.html") as page:
        text = page.read().decode()
    left_out = text.partition("Not served")[2]
    code = "import sys, test_dap_tools as t; t.compare(*sys.argv[1:])"
    # A process of its own: a crash of the client's library is one failure.
    done = subprocess.run(
        [sys.executable, "-c", code, str(DATA / file), f"{endpoint}/dap/{file}", protocol, left_out],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode < 0:
        pytest.skip(f"netCDF-C crashed: {done.stderr.strip().splitlines()[:1]}")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-1000:]


def compare(file: str, address: str, protocol: str, left_out: str) -> None:
    """Print what differs between a file and its address."""
    names = {"": lambda path: plain(path, "."), "[dap4]": lambda path: path}
    with netCDF4.Dataset(file) as own, netCDF4.Dataset(protocol + address) as served:
        for line in differences(own, served, names[protocol], left_out, protocol):
            print(line)


@needs_data
@needs("ncdump", "nccopy")
def test_ncdump_and_nccopy(endpoint: str, tmp_path: Path) -> None:
    own, served = run("ncdump", DATA / GRID), run("ncdump", f"{endpoint}/dap/{GRID}")
    numbers = re.compile(r"^ (\w+) =\n?([^;]*);", re.M)
    assert dict(numbers.findall(own.partition("data:")[2])) == dict(
        numbers.findall(served.partition("data:")[2])
    )
    for prefix in ("", "[dap4]"):
        run("nccopy", f"{prefix}{endpoint}/dap/{GRID}", tmp_path / "copy.nc")
        with netCDF4.Dataset(DATA / GRID) as file, netCDF4.Dataset(tmp_path / "copy.nc") as copy:
            assert differences(file, copy, lambda path: path, "") == []


@needs_data
@needs("ncks", "ncwa")
def test_nco(endpoint: str, tmp_path: Path) -> None:
    for number, source in enumerate((DATA / GRID, f"{endpoint}/dap/{GRID}")):
        run("ncks", "-O", "-v", "T", "-d", "lev,0,3", "-d", "lat,10,20,2", source, tmp_path / f"k{number}.nc")
        run("ncwa", "-O", "-v", "TS", "-a", "lat,lon", source, tmp_path / f"w{number}.nc")
    for name, variable in (("k", "T"), ("w", "TS")):
        with (
            netCDF4.Dataset(tmp_path / f"{name}0.nc") as one,
            netCDF4.Dataset(tmp_path / f"{name}1.nc") as two,
        ):
            assert same(one[variable][...], two[variable][...])


@needs_data
@needs("cdo")
def test_cdo(endpoint: str) -> None:
    for operators in (["sinfon"], ["outputf,%.9g", "-fldmean", "-selname,TS"], ["showdate", "-selmonth,2"]):
        own, served = (
            run("cdo", "-s", *operators, place) for place in (DATA / GRID, f"{endpoint}/dap/{GRID}")
        )
        keep = re.compile(r"^.*(Time|File format|Date).*$", re.M)
        assert keep.sub("", own) == keep.sub("", served) or operators == ["sinfon"], operators


CLIENT = """
import sys, warnings
import numpy as np, xarray as xr
from siphon.catalog import TDSCatalog
warnings.simplefilter("ignore")
endpoint, file = sys.argv[1:]
own = xr.open_dataset(file, decode_times=False)
catalog = TDSCatalog(f"{endpoint}/thredds/catalog.xml").catalog_refs["climate"].follow()
address = catalog.datasets["80.nc"].access_urls["OPENDAP"]
for url, engine in ((address, "netcdf4"), (address, "pydap"), (address.replace("http", "dap4"), "pydap")):
    served = xr.open_dataset(url, engine=engine, decode_times=False)
    xr.testing.assert_equal(own.T[:, 3:6, ::5].load(), served.T[:, 3:6, ::5].load())
    assert {name: own.T.attrs[name] for name in own.T.attrs} == {n: served.T.attrs[n] for n in own.T.attrs}
print("equal")
"""


@needs_data
@pytest.mark.skipif(not PYTHON.exists(), reason="pydap and siphon not installed")
def test_pydap_siphon_and_xarray(endpoint: str) -> None:
    assert run(PYTHON, "-c", CLIENT, endpoint, DATA / GRID) == "equal\n"


@needs("ncdump", "nccopy", "ncks", "ncwa", "cdo", "curl")
def test_the_page_for_users_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "docs"))
    import doc_pages

    page = Path(__file__).parents[2] / "docs" / "how-to" / "use-your-own-tools.md"
    # Blocks of tools that are not in every environment are marked as bash.
    copy = tmp_path / page.name
    copy.write_text(page.read_text().replace("```bash", "```sh"))
    monkeypatch.chdir(tmp_path)
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    doc_pages.run(copy, {**os.environ, "PATH": search})
    for name in ("whole.nc", "part.nc", "mean.nc", "february.nc", "january.nc"):
        with netCDF4.Dataset(tmp_path / name) as file:
            assert file["t2m"][...].size, name
