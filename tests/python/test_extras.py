"""The distribution has one name, and one function states how to install an extra."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import icecore
import pytest
from icecore import errors

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OURS = errors.DISTRIBUTION
EXTRA = "|".join(errors.EXTRAS)
#: what may follow the words "pip install" where the command installs icecore
OWN = re.compile(
    rf"""'{OURS}\[({EXTRA}|\{{package\}}|\{{extra\}})\]'    # with an extra, also in a test's pattern
    | '{OURS}(\[({EXTRA})\])?\ @\ file://[^']+\.whl'    # a wheel, with an extra
    | {OURS}\b(?!\[)
    | \S*icecore_archive-\S+\.whl
    | \./bench""",
    re.VERBOSE,
)
#: files of the package that install packages of others
OTHERS = {
    f"python/icecore/{name}.py"
    for name in (
        "integrations/dask_awkward",
        "integrations/nanoevents",
        "repository/storage/aws_profiles",
        "sources/zarr/store",
    )
}
NO_SUFFIX = {"Makefile", "Containerfile"}
#: where the name is a variable
COMPUTED = {"python/icecore/errors.py", "tools/check_wheel.sh"}


def tracked() -> list[Path]:
    """The text files of the source tree; design records quote old names."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    kinds = {".md", ".py", ".rs", ".sh", ".toml", ".yml", ".yaml", ".cff", ".ts", ".tsx", ".service"}
    names = [
        name for name in listed.stdout.splitlines() if not name.startswith(("docs/design/", "tests/golden/"))
    ]
    files = [ROOT / name for name in names if Path(name).suffix in kinds or Path(name).name in NO_SUFFIX]
    return [file for file in files if file.is_file() and file != Path(__file__)]


def words(requirement: str) -> tuple[str, str]:
    """A requirement's name on the index, and the name that Python imports."""
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None
    return name[0], name[0].replace("-", "_").partition(".")[0]


def test_extras_are_those_of_the_project() -> None:
    declared = {extra: items for extra, items in PROJECT["optional-dependencies"].items() if extra != "test"}
    assert list(declared) == list(errors.EXTRAS)
    for extra, requirements in declared.items():
        modules = {words(requirement)[1] for requirement in requirements}
        for module in errors.EXTRAS[extra]:
            assert module in modules or module == "numcodecs", f"{extra} does not install {module}"
        if extra != "all":
            everything = {words(requirement)[0] for requirement in declared["all"]}
            assert {words(requirement)[0] for requirement in requirements} <= everything, extra
            for module in modules:
                known = errors.EXTRAS[errors.extra_of(module)]
                assert module in known, f"errors.EXTRAS does not name {module} of {extra}"
    assert PROJECT["name"] == OURS


def test_an_error_of_a_missing_extra() -> None:
    error = errors.needs("table", "Parquet needs pyarrow")
    assert (error.kind, error.message) == ("unsupported", "Parquet needs pyarrow")
    assert error.hint == f"pip install '{OURS}[table]'"
    assert errors.needs("pds", "x", "unzstd it").hint.endswith(", or unzstd it")
    assert [errors.extra_of(name) for name in ("pyarrow.lib", "igwn_segments", "other")] == [
        "table",
        "gw",
        "all",
    ]


@pytest.mark.parametrize("extra", ["tabel", "", "test"])
def test_an_unknown_extra_is_refused(extra: str) -> None:
    with pytest.raises(errors.Error, match="has no extra") as caught:
        errors.needs(extra, "x")
    assert caught.value.kind == "invalid"
    assert "table" in caught.value.hint


def test_the_tree_installs_no_other_name() -> None:
    wrong, seen = [], 0
    for file in tracked():
        name = file.relative_to(ROOT).as_posix()
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            for found in re.finditer(r"pip install((?: -\S+)*) +(.*)", line):
                seen += 1
                in_package = name.startswith("python/icecore/") and name not in OTHERS
                names_us = "icecore" in found[2].split("--")[0]
                if (in_package or names_us) and name not in COMPUTED and not OWN.match(found[2]):
                    wrong.append(f"{name}:{number}: {line.strip()}")
            if re.search(rf"(?<![\w./-])icecore\[(?:{EXTRA})\]", line):
                wrong.append(f"{name}:{number}: {line.strip()}")
    assert not wrong, "\n".join(wrong)
    assert seen > 10


WITHOUT = """
import sys
import builtins
real = builtins.__import__
def hidden(name, *rest):
    if name.partition(".")[0] == {package!r}:
        raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
    return real(name, *rest)
builtins.__import__ = hidden
import icecore
from icecore import errors
repo = icecore.create("memory://")
with repo.writer() as w:
    w.array("/t/x", "f4", (3,))[...] = [1, 2, 3]
repo = repo.at("main")
try:
    {use}
except errors.Error as error:
    print(error.kind, error.hint)
"""


@pytest.mark.parametrize(
    ("package", "use", "extra"),
    [
        ("pandas", 'repo.table("/t").to_pandas()', "table"),
        ("pyarrow", 'repo.table("/t").to_pandas()', "table"),
        ("pyarrow", 'list(repo.table("/t").scan())', "table"),
        ("polars", 'repo.table("/t").to_polars()', "table"),
        ("dask", 'repo["/t/x"].to_dask()', "dask"),
        ("dask", 'repo.table("/t").to_dask()', "dask"),
        ("xarray", 'repo.to_xarray("/t")', "xarray"),
        ("zarr", 'repo.store(via="icecore")', "zarr"),
        ("distributed", 'icecore.pack("x.npy", into="memory://", client="tcp://127.0.0.1:1")', "dask"),
        ("gwpy", 'icecore.gwpy(repo["/t/x"], 0, 1)', "gw"),
    ],
)
def test_each_function_names_its_extra(tmp_path: Path, package: str, use: str, extra: str) -> None:
    code = WITHOUT.format(package=package, use=use)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert done.stdout.strip() == f"unsupported pip install '{OURS}[{extra}]'", done.stdout + done.stderr


OPTIONAL = [
    "pyarrow",
    "pandas",
    "polars",
    "xarray",
    "dask",
    "distributed",
    "zarr",
    "matplotlib",
    "astropy",
    "pvl",
]
BASE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
import h5py, icecore, numpy
with h5py.File("a.h5", "w") as file:
    file["x"] = numpy.arange(9.0)
with open("t.csv", "w") as file:
    file.write("a,b\\n" + "".join(f"{{n}},{{n / 2}}\\n" for n in range(99)))
icecore.link("a.h5", into="r.icecore")
icecore.pack("a.h5", into="r.icecore", group="/packed")
icecore.pack("t.csv", into="r.icecore")
icecore.pack({{"t": numpy.arange(3)}}, into="r.icecore", group="/memory")
repo = icecore.open("r.icecore")
assert repo["/a/x"][...].sum() == repo["/packed/x"][...].sum() == 36
assert repo.table("/t").to_numpy(where="a > 90")["a"].tolist() == [*range(91, 99)]
assert repo.verify(deep=True) == []
assert not [name for name in sys.modules if name.partition(".")[0] in {packages!r}]
"""


def test_the_base_install_links_packs_and_queries(tmp_path: Path) -> None:
    """No package of an extra is imported, neither directly nor on the way."""
    packages = {module for modules in errors.EXTRAS.values() for module in modules}
    assert set(OPTIONAL) <= packages
    command = [sys.executable, "-c", BASE.format(packages=packages)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def test_the_version_is_that_of_the_workspace() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert icecore.__version__ == cargo["workspace"]["package"]["version"]


def imported(folder: Path) -> set[str]:
    """Top-level modules that the files below a folder import."""
    found: set[str] = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found


def test_types_of_packages_beside_do_not_matter() -> None:
    """mypy skips every imported package that neither the base install nor an extra brings."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    skipped = {name.removesuffix(".*") for each in settings["overrides"] for name in each["module"]}
    listed = [
        *PROJECT["dependencies"],
        *(r for items in PROJECT["optional-dependencies"].values() for r in items),
    ]
    installed = {words(requirement)[1] for requirement in listed} | {
        "cloudpickle",
        "cftime",
    }  # dask's, netCDF4's
    ours = {"icecore", "icecore_bench", "compression"}
    used = set().union(*(imported(ROOT / folder) for folder in settings["files"]))
    beside = used - set(sys.stdlib_module_names) - installed - ours
    assert beside == skipped
