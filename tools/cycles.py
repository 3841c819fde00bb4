"""Fails when modules import each other in a circle, in a Rust crate or in the Python package, or when a room
of the Python package imports from a room above it (`ROOMS`).

Rust: `use` lines are resolved through `pub use` re-exports, so `use super::Query` counts as an edge to the
file that defines `Query`. Python: every import counts, also those inside functions; `if TYPE_CHECKING:`
blocks don't.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
Graph = dict[str, set[str]]

#: rooms of the Python package, from the ground up: a room imports only from itself and from those before it
ROOMS = (
    "redaction",
    "errors",
    "options",
    "samples",
    "filesystem",
    "display",
    "cluster",
    "repository",
    "sources",
    "codecs",
    "layout",
    "analyzer",
    "writing",
    "export",
    "tables",
    "service",
    "timeseries",
    "ingest",
    "frames",
    "products",
    "integrations",
    "demo",
    "cli",
)
#: modules at the root that any room may import, or that import any room
ROOT_MODULES = ("__init__", "__main__", "_icecore")


def rust_graph(src: Path) -> Graph:
    files = {module_name(path, src): path for path in sorted(src.rglob("*.rs"))}
    texts = {name: path.read_text().split("#[cfg(test)]")[0] for name, path in files.items()}
    uses = {name: use_paths(text) for name, text in texts.items()}
    exports = {name: re_exports(name, texts[name], files) for name in files}
    reached = {name: {target(name, use, files, exports) for use in uses[name]} for name in files}
    return {name: {t for t in targets if t and t != name} for name, targets in reached.items()}


def use_paths(text: str) -> list[str]:
    """Paths of `use` lines, and those written where they are used: `super::edit_links::link(…)`."""
    text = re.sub(r"//[^\n]*", "", text)
    found = [path for match in re.finditer(r"\buse ([^;]+);", text) for path in expand(match[1])]
    rest = re.sub(r"\buse [^;]+;|\bpub\(in [^)]*\)", "", text)
    return found + re.findall(r"(?<![$\w])(?:crate|super|self)(?:::\w+)+", rest)


def module_name(path: Path, src: Path) -> str:
    parts = list(path.relative_to(src).with_suffix("").parts)
    if parts[-1] in ("mod", "lib"):
        parts.pop()
    return "::".join(["crate", *parts])


def expand(use: str) -> list[str]:
    """`a::{b, c::{d, e}}` → a::b, a::c::d, a::c::e."""
    use = " ".join(use.split())
    brace = use.find("{")
    if brace < 0:
        return [use.split(" as ")[0].strip()]
    prefix, inner, depth, parts, start = use[:brace], use[brace + 1 : use.rfind("}")], 0, [], 0
    for i, ch in enumerate(inner + ","):
        depth += (ch == "{") - (ch == "}")
        if ch == "," and depth == 0:
            parts.append(inner[start:i].strip())
            start = i + 1
    return [prefix + leaf for part in parts if part for leaf in expand(part)]


def re_exports(name: str, text: str, files: dict[str, Path]) -> dict[str, str]:
    found = {}
    for match in re.finditer(r"\bpub(?:\([a-z]+\))? use ([^;]+);", text):
        for path in expand(match[1]):
            head, _, leaf = path.removeprefix("self::").rpartition("::")
            if f"{name}::{head}" in files:
                found[leaf] = f"{name}::{head}"
    return found


def target(name: str, use: str, files: dict[str, Path], exports: dict[str, dict[str, str]]) -> str | None:
    parts = use.split("::")
    if parts[0] == "crate":
        at, parts = "crate", parts[1:]
    elif parts[0] in ("super", "self"):
        at = name
        while parts and parts[0] in ("super", "self"):
            at = at.rpartition("::")[0] if parts[0] == "super" else at
            parts = parts[1:]
    elif f"{name}::{parts[0]}" in files:
        at = name
    else:
        return None
    while parts and f"{at}::{parts[0]}" in files:
        at, parts = f"{at}::{parts[0]}", parts[1:]
    while parts and parts[0] in exports.get(at, {}):
        at = exports[at][parts[0]]
    return at


def python_graph(package: Path) -> Graph:
    files = {}
    for path in sorted(package.rglob("*.py")):
        parts = list(path.relative_to(package.parent).with_suffix("").parts)
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {name: {t for t in imports(name, path, set(files)) if t != name} for name, path in files.items()}


def imports(name: str, path: Path, modules: set[str]) -> set[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    todo: list[ast.AST] = [ast.parse(path.read_text())]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*up, base] if base else up)
            found |= {f"{base}.{a.name}" if f"{base}.{a.name}" in modules else base for a in node.names}
        todo.extend(ast.iter_child_nodes(node))
    return found & modules


def cycles(graph: Graph) -> list[list[str]]:
    """Strongly connected components of more than one node (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(stack[at:])
            del stack[at:]

    for node in graph:
        if node not in index:
            visit(node)
    return found


def room(module: str) -> str:
    """The folder of a module of the package, or the module at its root."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def upward(graph: Graph) -> list[str]:
    """Imports from a higher room, and modules in rooms that `ROOMS` lacks."""
    found = []
    for module, targets in sorted(graph.items()):
        here = room(module)
        if here in ROOT_MODULES:
            continue
        if here not in ROOMS:
            found.append(f"{module} is in a room that tools/cycles.py does not list")
            continue
        above = set(ROOMS[ROOMS.index(here) + 1 :])
        found += [f"{module} imports {t}, which is above it" for t in sorted(targets) if room(t) in above]
    return found


def floors(graph: Graph) -> tuple[int, int]:
    """(rooms, floors): the longest chain of rooms that import each other."""
    below: Graph = {}
    for module, targets in graph.items():
        if room(module) not in ROOT_MODULES:
            others = {room(t) for t in targets} - {room(module), *ROOT_MODULES}
            below.setdefault(room(module), set()).update(others)
    height: dict[str, int] = {}
    for name in ROOMS:
        if name in below:
            height[name] = 1 + max((height.get(other, 0) for other in below[name]), default=0)
    return len(below), max(height.values(), default=0)


def main() -> int:
    graphs = {f"crates/{src.parent.name}": rust_graph(src) for src in sorted(ROOT.glob("crates/*/src"))}
    graphs["python/src"] = rust_graph(ROOT / "python" / "src")
    graphs["python/icecore"] = python_graph(ROOT / "python" / "icecore")
    bad = [(place, cycle) for place, graph in graphs.items() for cycle in cycles(graph)]
    for place, cycle in bad:
        print(f"{place}: modules import each other in a circle: {', '.join(sorted(cycle))}", file=sys.stderr)
    wrong = upward(graphs["python/icecore"])
    for line in wrong:
        print(f"python/icecore: {line}", file=sys.stderr)
    if not bad and not wrong:
        rooms, high = floors(graphs["python/icecore"])
        modules = sum(len(g) for g in graphs.values())
        print(f"no cycles in {modules} modules; {rooms} rooms on {high} floors, no import runs upward")
    return bool(bad or wrong)


if __name__ == "__main__":
    sys.exit(main())
