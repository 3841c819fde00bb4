"""Progress bar for long calls: in a terminal, or in the output of a notebook's cell."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from time import monotonic
from typing import Any

from icecore import errors
from icecore.display import text
from icecore.display.progress import ProgressCall

#: seconds until a bar appears in a terminal
_PATIENCE = 1.0
#: seconds between two updates of a bar in a notebook
_REDRAW = 0.1
#: width of a bar in a notebook, in characters
_WIDTH = 100
_HTML = "<pre style='margin:0;white-space:pre'>{code}</pre>"


class Progress:
    """Progress bar; a context manager that is called with the work done so far.

    On a terminal the bar appears after a second, also before the first call, and is removed at the end. In
    a notebook it appears with the first call and remains. Elsewhere nothing is shown.
    """

    def __init__(self, name: str, nbytes: bool = True) -> None:
        self._name = name
        self._nbytes = nbytes
        self._bar: Any = None
        self._task: Any = None
        self._lock = Lock()
        self._timer: Timer | None = None
        self._is_open = False
        self._notebook = _NotebookOutput() if is_notebook() else None
        self._last: tuple[str, int, int] | None = None

    def __call__(self, path: str, done: int, total: int) -> None:
        with self._lock:
            self._last = (path, done, total)
            if self._bar is None and self._notebook is not None:
                self._create(None)
            if self._bar is not None:
                self._update(path, done, total)
                if self._notebook is not None:
                    self._notebook.draw(self._bar, done >= total)

    def count(self, done: int, total: int) -> None:
        """Update the progress without a path."""
        self(self._name, done, total)

    def _update(self, path: str, done: int, total: int) -> None:
        amount = f"{text.size(done)} of {text.size(total)}" if self._nbytes else f"{done:,} of {total:,}"
        shown = f"{text.visible(path)} {amount}"
        self._bar.update(self._task, completed=done, total=total, description=shown)

    def _create(self, console: Any) -> None:
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            BarColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        # Output printed meanwhile is data for stdout; rich would redirect it to stderr.
        self._bar = Bar(*columns, console=console, transient=True, redirect_stdout=False)
        self._task = self._bar.add_task(self._name, total=None)

    def _start(self) -> None:
        from rich.console import Console

        with self._lock:
            if not self._is_open:
                return
            self._create(Console(stderr=True))
            if self._last is not None:
                self._update(*self._last)
            self._bar.start()

    def __enter__(self) -> Progress:
        self._is_open = self._notebook is None and sys.stderr.isatty()
        if self._is_open:
            self._timer = Timer(_PATIENCE, self._start)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._is_open = False
            if self._bar is None:
                return
            if self._notebook is not None:
                self._notebook.draw(self._bar, True)
            else:
                self._bar.stop()
                self._bar = None


class _NotebookOutput:
    """Output of a cell that is replaced while the call runs. Needs IPython alone, no widgets."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._drawn = 0.0
        self._shown = ""

    def draw(self, bar: Any, is_last: bool) -> None:
        """Show the bar, at most ten times a second unless it is the last time."""
        if not is_last and self._handle is not None and monotonic() - self._drawn < _REDRAW:
            return
        content = _drawn(bar)
        if content["text/plain"] == self._shown:
            return
        self._drawn, self._shown = monotonic(), content["text/plain"]
        if self._handle is None:
            from IPython.display import display

            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def _drawn(bar: Any) -> dict[str, str]:
    from io import StringIO

    from rich.console import Console

    console = Console(
        file=StringIO(), record=True, width=_WIDTH, force_jupyter=False, color_system="truecolor"
    )
    console.print(bar.get_renderable())
    plain = console.export_text(clear=False).rstrip()
    return {"text/plain": plain, "text/html": console.export_html(inline_styles=True, code_format=_HTML)}


@contextmanager
def reported(
    progress: bool | ProgressCall | None, name: str, nbytes: bool = True
) -> Iterator[ProgressCall | None]:
    """Yield the function that a long call reports its progress to, or None.

    Args:
        progress: the caller's own function; true for a bar.
        name: of the call, shown until it reports for the first time.
        nbytes: whether it counts bytes.

    Raises:
        Error: ``invalid`` if ``progress`` is neither a function nor a bool.
    """
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with Progress(name, nbytes) as bar:
            yield bar
    elif callable(progress):
        yield progress
    else:
        message = f"progress must be a bool or a function (got {progress!r})"
        raise errors.make("invalid", message, "progress=True shows a bar")


# Detection of notebooks.


def is_notebook() -> bool:
    """Return whether the program runs in a notebook's kernel, not in a terminal."""
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and found.__class__.__name__ != "TerminalInteractiveShell"
