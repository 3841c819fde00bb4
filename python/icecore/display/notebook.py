"""Detection of notebooks."""

from __future__ import annotations

import sys


def is_notebook() -> bool:
    """Return whether the program runs in a notebook's kernel, not in a terminal."""
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and found.__class__.__name__ != "TerminalInteractiveShell"
