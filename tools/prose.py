"""Reject phrases that make readers stop, in new lines of prose, comments, messages and docstrings.

python tools/prose.py           lines that the working tree adds to the merge base with main, and all
                                lines of the rooms in REWRITTEN; status 1 if any
python tools/prose.py --all     counts over all tracked files; status 0
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("*.md", "*.py", "*.pyi", "*.rs", "Makefile", "*.toml")
#: this file quotes what it rejects; licences and generated text are not ours to word
EXEMPT = ("tools/prose.py", "LICENSE")
#: rooms without markers: all their lines are checked, not only new ones; this list may only grow
REWRITTEN = (
    "ARCHITECTURE.md",
    "crates/icecore-catalog/",
    "crates/icecore-chunk/",
    "crates/icecore-grid/",
    "crates/icecore-where/",
    "crates/icecore/",
    "docs/",
    "python/icecore/__init__.py",
    "python/icecore/__main__.py",
    "python/icecore/_icecore.pyi",
    "python/icecore/analyzer/",
    "python/icecore/cli/",
    "python/icecore/codecs/",
    "python/icecore/demo/",
    "python/icecore/display/",
    "python/icecore/errors.py",
    "python/icecore/export/",
    "python/icecore/filesystem/",
    "python/icecore/ingest/",
    "python/icecore/integrations/",
    "python/icecore/layout/",
    "python/icecore/repository/",
    "python/icecore/samples/",
    "python/icecore/sources/",
    "bench/icecore_bench/",
    "python/icecore/tables/query/",
    "python/icecore/tables/summaries/",
    "python/icecore/tables/text/",
    "python/icecore/timeseries/",
    "python/icecore/writing/",
    "python/src/",
)

MARKERS = re.compile(
    r"""
      \b(?:is|are|was|were|be|been|being)\ told\b     # say: is reported, is inferred, is recognised
    | \btold\ (?:as\ such|by|from)\b
    | \bof\ which\b                                   # start a second sentence
    | \bwhat\ (?:is|are|was|were)\ no\b               # name the thing
    | (?<!\bthere\ )\b(?:is|are)\ no\ (?!longer|less|[a-z]+er\b|more)[a-z]+\b
    | \bmakes?\ no\ sense\b                           # say what is expected
    | \b(?:is|are|was|were|be)\ taken\ for\b | \bstands?\ for\b
    | (?<!\bwhen\ it\ )\b(?:comes?|came)\ to\b(?!\ (?:an?|the)\ (?:end|halt|stop)\b)
    | \bbeg[iau]n\ anew\b
    | \b(?:wherever|where)\ it\ lies\b | \bwhat\ lies\b
    | \bif\ there\ (?:is|are)\ no\ (?:such|further|value)\b   # say what lacks it
    | \b(?:where|that)\ (?:there\ )?(?:is|are)\ (?-i:none)\b
    | \bsays?\ no\b | \bnobody\b | \bhow\ dear\b
    | \bwant(?:s)?\ quotes\b | \bgit's\ words\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def base() -> str:
    """The commit to compare with: where this branch left main, or HEAD on main itself."""
    for branch in ("origin/main", "main"):
        found = subprocess.run(
            ["git", "merge-base", "HEAD", branch], cwd=ROOT, capture_output=True, text=True
        )
        if found.returncode == 0:
            return found.stdout.strip()
    return "HEAD"


def added() -> list[tuple[str, int, str]]:
    """New lines: (file, number, text)."""
    found, name, number = [], "", 0
    for line in git("diff", "-U0", "--no-color", base(), "--", *KINDS).splitlines():
        if line.startswith("+++ "):
            name = line[6:]
        elif match := re.match(r"@@ -\S+ \+(\d+)", line):
            number = int(match[1])
        elif line.startswith("+"):
            found.append((name, number, line[1:]))
            number += 1
    return found


def everything() -> list[tuple[str, int, str]]:
    """All lines of all tracked files."""
    names = [name for name in git("ls-files", "--", *KINDS).splitlines() if (ROOT / name).is_file()]
    return [(n, i, t) for n in names for i, t in enumerate((ROOT / n).read_text("utf-8").splitlines(), 1)]


def main() -> int:
    counting = "--all" in sys.argv
    if not (ROOT / ".git").exists():
        return 0  # a source archive has no history to compare with
    lines = everything()
    if not counting:
        lines = list(dict.fromkeys([*added(), *(line for line in lines if line[0].startswith(REWRITTEN))]))
    bad = [(n, i, t, m) for n, i, t in lines if n not in EXEMPT and (m := MARKERS.search(t))]
    if counting:
        for name, count in Counter(name for name, *_ in bad).most_common(20):
            print(f"{count:6} {name}")
        print(f"{len(bad)} of {len(lines)} lines")
        return 0
    for name, number, line, match in bad:
        print(f"{name}:{number}: reword {match[0]!r}: {line.strip()[:110]}", file=sys.stderr)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
