"""The page in a notebook, or in the browser."""

from __future__ import annotations

import html
import json
import subprocess
import sys
import webbrowser
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from icecore import errors
from icecore.display.progress_bar import is_notebook

if TYPE_CHECKING:
    from icecore.repository.repo import Repo


class View:
    """The page of a repository; a notebook shows it in a frame.

    Attributes:
        url: of the page, on this machine alone.
        height: of the frame in pixels.
    """

    def __init__(self, url: str, height: int) -> None:
        self.url = url
        self.height = height

    def __repr__(self) -> str:
        return f"<icecore.View {self.url}>"

    def _repr_html_(self) -> str:
        url = html.escape(self.url)
        size = f'width="100%" height="{self.height}" style="border:0"'
        return f'<iframe src="{url}" title="icecore" {size}></iframe>'


def view(repo: Repo, path: str = "/", height: int = 640, browser: bool | None = None) -> View:
    """Start the service of a repository's version, and show it.

    Args:
        browser: whether a browser is opened; by default outside of notebooks.
    """
    if repo.url.startswith("memory://"):
        message = f"{repo.url} is in memory, where the page's process can't read it"
        raise errors.make("unsupported", message, "create the repository in a directory")
    allowed = repo._allow_links
    options = json.dumps(
        {"storage": dict(repo._storage or {}), "allow_links": None if allowed is None else list(allowed)}
    )
    base = _served(f"{repo.url}@{repo.snapshot_id}", options)
    url = base if path == "/" else f"{base}&path={quote(path, safe='/')}"
    if browser if browser is not None else not is_notebook():
        webbrowser.open(url)
    return View(url, height)


@cache
def _served(place: str, options: str) -> str:
    """Return the URL of a process that serves a version; it ends with this one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "icecore", "view", place, "--no-browser", "--child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise errors.make("internal", "the page's process has no pipes", "please report it")
    process.stdin.write(f"{options}\n")
    process.stdin.flush()
    url = process.stdout.readline().strip()
    if not url:
        raise errors.make(
            "io", f"the page's service ended: {process.stderr.read().strip()}", "try icecore view"
        )
    _KEPT.append(process)
    return url


#: a process ends when the pipe to it is closed
_KEPT: list[subprocess.Popen[str]] = []
