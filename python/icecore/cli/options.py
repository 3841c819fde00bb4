"""Options of the command line, made of a dataclass's fields (:mod:`icecore.options`)."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from icecore import errors
from icecore.cli.console import persistent, settings
from icecore.options import Option, described, kind

Command = Callable[..., None]


def lengths(shape: str | None) -> tuple[int, ...] | dict[str, int] | None:
    """Parse ``"16,64,64"`` or ``"time=16,lat=64"``."""
    if shape is None:
        return None
    parts = [part.strip() for part in shape.split(",")]
    try:
        if "=" in shape:
            return {name.strip(): int(value) for name, value in (part.split("=") for part in parts)}
        return tuple(int(part) for part in parts)
    except ValueError:
        raise errors.make("invalid", f"{shape!r} is not a shape", "16,64,64 or time=16,lat=64") from None


#: name → function that converts the text of the command line
_PARSE: dict[str, Callable[[Any], Any]] = {
    "into": lambda repo: repo if repo is None else persistent(repo),
    "storage": settings,
    "chunk": lengths,
    "shard": lengths,
}


def takes(options: type, *, optional: tuple[str, ...] = ()) -> Callable[[Command], Command]:
    """Return a decorator for a command ``f(values, …)``: the other parameters follow those of ``options``.

    Args:
        options: a dataclass of options; those with a help text are on the command line.
        optional: required options that the command may be called without.

    Returns:
        The decorator; the command is called with name → parsed value of the options.
    """
    fields = {name: each for name, each in described(options).items() if each[1].help is not None}

    def derive(command: Command) -> Command:
        _, *own = inspect.signature(command, eval_str=True).parameters.values()
        names = [each.name for each in own]
        parameters = [*(_parameter(*each, name in optional) for name, each in fields.items()), *own]

        def call(**given: Any) -> None:
            values = {name: _value(*each, given) for name, each in fields.items()}
            command(values, **{name: given[name] for name in names})

        keywords = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
        call.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
        call.__annotations__ = {each.name: each.annotation for each in keywords}
        call.__name__, call.__doc__ = command.__name__, command.__doc__
        return call

    return derive


def once(options: type) -> tuple[list[str], str]:
    """Return the options that exclude following a directory: fields, and names on the command line."""
    fields = {name: each for name, each in described(options).items() if each[1].is_once}
    return list(fields), ", ".join(_flags(*each)[0] for each in fields.values())


def _is_negated(field: dataclasses.Field[Any], option: Option) -> bool:
    """Whether the option turns off what is on by default: ``--no-restore``."""
    return kind(field, option) is bool and field.default is True


def _flags(field: dataclasses.Field[Any], option: Option) -> tuple[str, ...]:
    name = field.name.replace("_", "-")
    return option.flags or (f"--no-{name}" if _is_negated(field, option) else f"--{name}",)


def _parameter(field: dataclasses.Field[Any], option: Option, is_optional: bool) -> inspect.Parameter:
    """Return Typer's parameter for an option."""
    made: Any = kind(field, option)
    made = list[str] if made is list else made
    default = None if is_optional else field.default
    if default is dataclasses.MISSING:
        default = inspect.Parameter.empty
    elif default is None:
        made |= None
    elif _is_negated(field, option):
        default = False
    how: dict[str, Any] = {
        "metavar": option.metavar,
        "help": option.help,
        "min": option.low,
        "max": option.high,
    }
    if option.is_argument:
        how["show_default"] = False
    declared = typer.Argument(**how) if option.is_argument else typer.Option(*_flags(field, option), **how)
    position = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(field.name, position, default=default, annotation=Annotated[made, declared])


def _value(field: dataclasses.Field[Any], option: Option, given: dict[str, Any]) -> Any:
    value = given[field.name]
    if _is_negated(field, option):
        return not value
    return _PARSE[field.name](value) if field.name in _PARSE else value
