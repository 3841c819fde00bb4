"""``icecore`` and ``python -m icecore``: the command line."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line and exit."""
    if sys.argv[1:] == ["--version"]:
        from icecore import __version__

        print(f"icecore {__version__}")  # without the parser, whose import takes most of the time
        return
    # Until the imports are done there is nothing to clean up, so Ctrl-C ends the process by default.
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from icecore.cli import main
    from icecore.cli.process import handle_signals

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    handle_signals()
    main()


if __name__ == "__main__":
    main()
