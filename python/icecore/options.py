"""Options that are declared once: dataclass fields with type, default and description.

    @dataclass(frozen=True)
    class LinkOptions:
        deep: bool = option(False, "also verify checksums.", help="Also verify checksums.")

    @accepts(LinkOptions)
    def link(options: LinkOptions) -> Report: ...

``link`` then has the signature of ``LinkOptions`` (for type checkers too) and its descriptions as ``Args:``.
:mod:`icecore.cli.console` makes options of the command line from the same fields.
"""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
O = TypeVar("O")  # noqa: E741
S = TypeVar("S")
R = TypeVar("R")

_WIDTH = 110
_BASIC = {"bool": bool, "str": str, "int": int, "float": float}


@dataclass(frozen=True)
class Option:
    """Description of a field.

    Attributes:
        doc: text of the docstring.
        help: text of the command line; without it, the command line lacks the option.
        metavar: name of the value in the help text.
        flags: names on the command line, if they differ from the field's.
        kind: type on the command line (``list``: may be repeated), if it differs from the field's first type.
        is_argument: whether it has no flag.
        low, high: bounds of the number, both included.
        is_once: whether it describes a single run, which excludes following a directory.
    """

    doc: str
    help: str | None = None
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    kind: type | None = None
    is_argument: bool = False
    low: float | None = None
    high: float | None = None
    is_once: bool = False


def option(default: Any, doc: str, *, is_positional: bool = False, **more: Any) -> Any:
    """Return a field with a description; ``...`` as default makes it required.

    Args:
        default: the default value.
        doc: text of the docstring.
        is_positional: whether the function accepts it by position.
        **more: other attributes of :class:`Option`.
    """
    missing = dataclasses.MISSING if default is ... else default
    described = {"option": Option(doc, **more)}
    return dataclasses.field(default=missing, kw_only=not is_positional, metadata=described)


def described(options: type) -> dict[str, tuple[dataclasses.Field[Any], Option]]:
    """Return name → (field, description) of the fields that have one."""
    fields = dataclasses.fields(options)
    return {each.name: (each, each.metadata["option"]) for each in fields if "option" in each.metadata}


def kind(field: dataclasses.Field[Any], option: Option) -> type:
    """Return the type of an option on the command line."""
    return option.kind or _BASIC[str(field.type).partition(" | ")[0]]


def accepts(options: Callable[P, O]) -> Callable[[Callable[[O], R]], Callable[P, R]]:
    """Return a decorator for a function of ``options``: it is called with their fields as arguments."""

    def derive(function: Callable[[O], R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> R:
            return function(_made(function, options, args, keywords))

        return _documented(call, function, options, [])

    return derive


def accepts_method(
    options: Callable[P, O],
) -> Callable[[Callable[[S, O], R]], Callable[Concatenate[S, P], R]]:
    """Return the decorator :func:`accepts` for a method."""

    def derive(function: Callable[[S, O], R]) -> Callable[Concatenate[S, P], R]:
        @wraps(function)
        def call(self: S, *args: P.args, **keywords: P.kwargs) -> R:
            return function(self, _made(function, options, args, keywords))

        own = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        return _documented(call, function, options, own)

    return derive


def _made(function: Any, options: Callable[..., O], args: tuple[Any, ...], keywords: dict[str, Any]) -> O:
    """Return the options; a wrong argument is an error of the function, not of their class."""
    try:
        return options(*args, **keywords)
    except TypeError as error:
        name = getattr(options, "__name__", "")
        raise TypeError(str(error).replace(f"{name}.__init__()", f"{function.__name__}()")) from None


def _documented(call: Any, function: Any, options: Any, own: list[inspect.Parameter]) -> Any:
    """Give ``call`` the signature of ``options`` and their descriptions."""
    derived = inspect.signature(options)
    parameters = [*own, *derived.parameters.values()]
    returned = inspect.signature(function).return_annotation
    call.__signature__ = derived.replace(parameters=parameters, return_annotation=returned)
    call.__doc__ = _with_table(inspect.getdoc(function) or "", options)
    del call.__wrapped__
    return call


def _with_table(doc: str, options: type) -> str:
    """Return a docstring with the table of the arguments before ``Returns:``."""
    head, returns, rest = doc.partition("Returns:\n")
    return f"{head}Args:\n{table(options)}\n\n{returns}{rest}"


def table(options: type) -> str:
    """Return the descriptions as lines of a docstring's ``Args:``."""
    lines = []
    for name, (_, each) in described(options).items():
        text = f"{name}: {each.doc}"
        lines += textwrap.wrap(text, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8)
    return "\n".join(lines)
