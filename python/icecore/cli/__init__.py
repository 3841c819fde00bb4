"""The command line: one module per command. ``main`` runs it, ``table`` builds the Typer application."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import typer

from icecore.cli.console import examples
from icecore.cli.process import configure, describe, leave

#: folder → its commands, in the order of ``icecore --help``; each is a function in a module of its
#: name (``run``: ``run_product``), with ``EXAMPLES`` for its help
FOLDERS = {
    "write.": ("demo", "link", "pack", "relink", "reframe", "assay"),
    "read.": ("find", "ls", "info", "read", "query", "run", "restore", "export", "explain", "plot", "trend"),
    "versions.": (
        "log",
        "diff",
        "tag",
        "branch",
        "compact",
        "expire",
        "gc",
        "verify",
        "clone",
        "pull",
        "repair",
    ),
    "": ("serve", "view", "bench"),
}
VERBS = tuple(verb for verbs in FOLDERS.values() for verb in verbs)
#: a module ``run`` would hide the function :func:`run`
_MODULES = {verb: folder + verb for folder, verbs in FOLDERS.items() for verb in verbs} | {
    "run": "read.run_product"
}
_SELECTING = ("read", "explain", "plot")


def table(verbs: Sequence[str] = VERBS) -> typer.Typer:
    """Build the Typer application with some commands."""
    app = typer.Typer(
        name="icecore",
        help="Read only the bytes you need from HDF5, NetCDF, Zarr, ROOT, PDS and frame files.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_options)
    for verb in verbs:
        module = import_module(f"icecore.cli.{_MODULES[verb]}")
        app.command(epilog=examples(*module.EXAMPLES))(getattr(module, verb))
    return app


def _options(
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
    debug: bool = typer.Option(False, "--debug", help="Show tracebacks of errors."),
) -> None:
    if version:
        from icecore import __version__

        typer.echo(f"icecore {__version__}")
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: status 0 success, 1 a failed check or no result, 2 an error."""
    configure()
    if "_ICECORE_COMPLETE" in os.environ:  # shell completion; this call exits
        table()(prog_name="icecore")
    leave(run(list(sys.argv[1:] if arguments is None else arguments)))


def run(arguments: list[str]) -> int:
    """Run one command and return the exit status."""
    debug = "--debug" in arguments or bool(os.environ.get("ICECORE_DEBUG"))
    arguments = [item for item in arguments if item != "--debug"]
    if arguments and arguments[0] in _SELECTING:
        # "-1" and "-5:" are selections: a leading space keeps them from being parsed as options.
        arguments = [" " + item if re.match(r"-\d", item) else item for item in arguments]
    if arguments[:1] == ["run"] and len(arguments) > 1 and not arguments[1].startswith("-"):
        # The help of a product lists its parameters.
        arguments = ["--parameters" if item in ("-h", "--help") else item for item in arguments]
    # Import only the module of the given command; importing all of them is slow.
    verbs = arguments[:1] if arguments and arguments[0] in VERBS else VERBS
    try:
        # Calling the application directly would swallow KeyboardInterrupt.
        command = typer.main.get_command(table(verbs))
        with command.make_context("icecore", list(arguments)) as context:
            command.invoke(context)
        return 0
    except typer.Exit as end:
        return end.exit_code
    except BrokenPipeError:
        # The reader of stdout has exited (as `head` does). Python must not try to flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            raise
        text, status = describe(error, arguments)
        with suppress(OSError):  # the exit status still reports it
            print(text, file=sys.stderr, flush=True)
        return status
