"""Generated pages of the documentation: references of commands and products, pages of the root.

    python tools/docs/pages.py

`make docs` runs it before mkdocs; the pages are not committed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
COPIED = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
_LINK = re.compile(r"\]\(([^)#]+)(#[^)]*)?\)")


def command_line() -> str:
    """One section a verb, with its help text."""
    import os

    os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb")
    import typer
    from icecore import cli

    command = typer.main.get_command(cli.table())
    parts = [
        "# Command line\n",
        "`icecore VERB …`. Data go to stdout, messages to stderr. `--json` prints JSON. "
        "Exit status: 0 done, 1 a check failed or nothing was found, 2 an error.\n",
    ]
    with command.make_context("icecore", [], resilient_parsing=True) as context:
        for verb in cli.VERBS:
            child = command.get_command(context, verb)
            with child.make_context(verb, [], parent=context, resilient_parsing=True) as inner:
                parts.append(f"## icecore {verb}\n\n```text\n{child.get_help(inner).rstrip()}\n```\n")
    return "\n".join(parts)


def products() -> str:
    """Return one section per built-in product, from its signature."""
    from icecore.products.registry import BUILT_IN, find

    parts = [
        "# Products\n",
        '`icecore run NAME SRC… --param KEY=VALUE`; `icecore.run("NAME", sources, key=value)`.\n',
    ]
    for name in BUILT_IN:
        signature = find(name).signature
        rows = [[cell.replace("|", "\\|") for cell in row] for row in signature.rows()]
        lines = [f"| `{row[0]}` | {row[1]} | {row[2]} | {row[3]} |" for row in rows]
        head = ["| parameter | default | accepted | description |", "| --- | --- | --- | --- |"]
        parts.append("\n".join([f"## {name}\n", signature.doc, "", *head, *lines, ""]))
    return "\n".join(parts)


def copied(name: str) -> str:
    """A page of the root, its links seen from docs/; links to what the site lacks become plain text."""

    def seen(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        if "://" in target:
            return match[0]
        if target in COPIED:
            return f"]({COPIED[target]}{anchor})"
        return f"]({target.removeprefix('docs/')}{anchor})"

    text = (ROOT / name).read_text(encoding="utf-8")
    for outside in re.findall(r"\[[^\]]+\]\((?!docs/|https?:)[^)]+\)", text):
        if outside.split("](")[1].rstrip(")").split("#")[0] not in COPIED:
            text = text.replace(outside, outside[1:].split("](")[0])
    return _LINK.sub(seen, text)


def main() -> int:
    (DOCS / "reference").mkdir(parents=True, exist_ok=True)
    (DOCS / "reference" / "cli.md").write_text(command_line(), encoding="utf-8")
    (DOCS / "reference" / "products.md").write_text(products(), encoding="utf-8")
    for name, page in COPIED.items():
        (DOCS / page).write_text(copied(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
