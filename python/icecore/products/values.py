"""Check and convert values of parameters, from Python, JSON or the command line."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, get_args, get_origin

from icecore import errors
from icecore.products.signature import Parameter, Signature, accepted, named

#: unit → size in the first unit of its row
_UNITS = (
    {"m": 1.0, "km": 1000.0, "cm": 0.01, "mm": 0.001},
    {"s": 1.0, "ms": 0.001, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "d": 86400.0},
    {"degrees": 1.0, "deg": 1.0, "°": 1.0, "rad": math.degrees(1.0)},
)
_NUMBER = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\d\s].*)?")
_TRUTH = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


def bind(signature: Signature, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of parameters by name, converted to their types; ``fit.maxi`` sets a nested one.

    Raises:
        Error: ``invalid`` for an unknown or missing parameter, an unknown unit, a value of another type or
            out of bounds.
    """
    nested: dict[str, Any] = {}
    for name, value in given.items():
        outer, dot, inner = name.partition(".")
        if dot:
            nested.setdefault(outer, {})
            if not isinstance(nested[outer], dict):
                raise errors.make("invalid", f"{outer} is given twice", f"remove {name}")
            nested[outer][inner] = value
        else:
            nested[name] = value
    bound = {
        name: convert(signature.name, signature.parameter(name), value) for name, value in nested.items()
    }
    for each in signature.parameters:
        if each.is_required and each.name not in bound:
            hint = f"--param {each.name}=…: {each.field.doc}"
            raise errors.make("invalid", f"{signature.name} needs the parameter {each.name}", hint)
    return bound


def convert(owner: str, parameter: Parameter, value: Any) -> Any:
    """Return a value in the type of the parameter.

    Raises:
        Error: ``invalid``.
    """
    if value is None and parameter.default is None and not parameter.is_required:
        return None
    if parameter.fields:
        return _nested(owner, parameter, value)
    lists = [kind for kind in parameter.types if get_origin(kind) is list]
    singles = [kind for kind in parameter.types if get_origin(kind) is not list]
    value = _json(value, is_list=bool(lists), is_any=Any in singles)
    if lists and (isinstance(value, (list, tuple)) or not singles):
        kind = get_args(lists[0])[0]
        items = value if isinstance(value, (list, tuple)) else [value]
        return [_single(owner, parameter, kind, item) for item in items]
    if isinstance(value, (list, tuple)) and Any not in singles:
        raise _refused(owner, parameter, value, "one value")
    return _single(owner, parameter, singles[0], value)


def _nested(owner: str, parameter: Parameter, value: Any) -> Any:
    if isinstance(value, str):
        value = _parsed(value)
    if isinstance(value, parameter.types[0]):
        return value
    if not isinstance(value, Mapping):
        raise _refused(
            owner, parameter, value, f"an object with {', '.join(f.name for f in parameter.fields)}"
        )
    label = f"{owner}.{parameter.name}"
    found = {name: convert(label, named(parameter.fields, name, label), item) for name, item in value.items()}
    return parameter.types[0](**found)


def _json(value: Any, is_list: bool, is_any: bool) -> Any:
    """Parse text from the command line: JSON where it looks so, else items between commas."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text[:1] in "[{" and text and (is_list or is_any):
        return _parsed(text)
    if is_list and "," in text:
        return [part.strip() for part in text.split(",") if part.strip()]
    return value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise errors.make(
            "invalid", f"{text[:60]!r} is not JSON: {error}", 'for example [1, 2] or {"a": 1}'
        ) from None


def _single(owner: str, parameter: Parameter, kind: Any, value: Any) -> Any:
    if kind is Any:
        return value
    if parameter.field.names is not None:
        return _named(owner, parameter, value)
    if kind is bool:
        truth = _TRUTH.get(str(value).lower())
        if truth is None:
            raise _refused(owner, parameter, value, "true or false")
        return truth
    if kind in (int, float):
        return _number(owner, parameter, kind, value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if not isinstance(value, str):
        raise _refused(owner, parameter, value, "a string")
    return value


def _named(owner: str, parameter: Parameter, value: Any) -> Any:
    names = dict(parameter.field.names or {})
    known = {str(each): each for each in names.values()} | {
        name.lower(): each for name, each in names.items()
    }
    found = known.get(str(value).strip().lower())
    if found is None:
        raise _refused(owner, parameter, value, f"one of {accepted(parameter)}")
    return found


def _number(owner: str, parameter: Parameter, kind: Any, value: Any) -> Any:
    number = _with_unit(owner, parameter, value) if isinstance(value, str) else value
    is_number = isinstance(number, Real) and not isinstance(number, bool) and math.isfinite(number)
    if not is_number:
        raise _refused(owner, parameter, value, "a finite number")
    if kind is int and not isinstance(number, Integral) and number != int(number):
        raise _refused(owner, parameter, value, "an integer")
    field, number = parameter.field, kind(number)
    if (field.low is not None and number < field.low) or (field.high is not None and number > field.high):
        raise _refused(owner, parameter, value, accepted(parameter))
    return number


def _with_unit(owner: str, parameter: Parameter, text: str) -> float:
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise _refused(owner, parameter, text, accepted(parameter) or "a number")
    number, unit = float(match[1]), match[2]
    if unit is None or unit == parameter.field.unit:
        return number
    sizes: Mapping[str, float] = next((row for row in _UNITS if parameter.field.unit in row), {})
    if unit not in sizes:
        known = ", ".join(sizes) or "none: give a plain number"
        message = f"{owner}: {parameter.name}: unknown unit {unit!r}"
        raise errors.make("invalid", message, f"accepted units: {known}")
    return number * sizes[unit] / sizes[parameter.field.unit]


def _refused(owner: str, parameter: Parameter, value: Any, expected: str) -> errors.Error:
    message = f"{owner}: {parameter.name} must be {expected} (got {value!r:.60})"
    return errors.make("invalid", message, f"{parameter.name}: {parameter.field.doc}")
