#!/usr/bin/env bash
# tools/check_wheel.sh WHEEL PYTHON: install the wheel without Rust on the path and run it with the base install and each extra.
set -euo pipefail
wheel=$(realpath "$1")
python=$2
most=$((20 * 1024 * 1024))
size=$(stat -c %s "$wheel" 2>/dev/null || stat -f %z "$wheel")
echo "$(basename "$wheel"): $((size / 1024)) KiB"
if [ "$size" -gt "$most" ]; then
    echo "the wheel has $size bytes, at most $most are allowed" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
uv=$(command -v uv || dirname "$python" | sed 's|$|/uv|')
# A PATH with the system's tools but without cargo, rustc and compilers of the user's own.
export PATH=/usr/bin:/bin
for tool in cargo rustc; do
    if command -v $tool >/dev/null; then echo "$tool is still on the PATH" >&2; exit 1; fi
done
install() {  # install NAME [EXTRA]
    "$uv" venv -q --python "$python" "$work/$1"
    "$uv" pip install -q --python "$work/$1/bin/python" "$wheel${2:+[$2]}"
}
cd "$work"
install base
"$work/base/bin/icecore" --version
"$work/base/bin/icecore" demo "$work/demo" >"$work/demo.log" 2>&1 || { cat "$work/demo.log"; echo "icecore demo failed" >&2; exit 1; }
echo "base: icecore demo ran"
"$work/base/bin/python" -c 'from importlib.resources import files
page = files("icecore.service") / "page"
assert page.joinpath("index.html.gz").is_file() and any(page.joinpath("assets").iterdir()), "the page is not in the wheel"'
echo "base: the page is in the wheel"
"$work/base/bin/python" - <<'PY'
import icecore
with icecore.create("extras.icecore").writer("x") as writer:
    writer.array("/x", dtype="f4", shape=(4,))[...] = range(4)
repo = icecore.open("extras.icecore")
with open("table.csv", "w") as file:
    file.write("a,b\n" + "".join(f"{n},{2 * n}\n" for n in range(50)))
icecore.pack("table.csv", into="table.icecore")
with open("label.lbl", "w") as file:
    file.write("PDS_VERSION_ID = PDS3\nRECORD_TYPE = FIXED_LENGTH\nEND\n")
table = icecore.open("table.icecore").table("/table")
lacking = {
    "dask": lambda: repo["/x"].to_dask(),
    "zarr": repo.store,
    "pds": lambda: icecore.pack("label.lbl", into="label.icecore"),
    "table": table.to_pandas,
}
for extra, use in lacking.items():
    try:
        use()
    except icecore.errors.Error as error:
        assert f"pip install 'icecore-archive[{extra}]'" in str(error), f"{extra}: {error}"
    else:
        raise SystemExit(f"{extra}: works without its extra")
print("base: errors name the extra that is missing")
PY
extras=$("$work/base/bin/python" -c '
from importlib.metadata import metadata
print(*[e for e in metadata("icecore-archive").get_all("Provides-Extra") if e != "test"])')
for extra in $extras; do
    install "$extra" "$extra"
    "$work/$extra/bin/python" - "$extra" <<'PY'
import importlib.metadata as m, re, sys
import icecore  # noqa: F401
extra = sys.argv[1]
missing = []
for line in m.requires("icecore-archive"):
    name, _, marker = line.partition(";")
    if f"extra == '{extra}'" in marker.replace('"', "'"):
        package = re.match(r"[\w.-]+", name)[0]
        try:
            m.version(package)
        except m.PackageNotFoundError:
            missing.append(package)
print(f"{extra}: installed" + (f", not for this Python: {missing}" if missing else ""))
PY
    rm -rf "${work:?}/$extra"
done
