"""Signature of a product: parameters with types, units, bounds and defaults, read from its function.

    def thin(inputs: Inputs, step: Annotated[float, Field("Distance between rows.", unit="m", low=1)] = 20.0):
        \"\"\"Rows at regular distances.\"\"\"

From it come the help text, the JSON schema and the checks of values.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from icecore import errors
from icecore.repository.nodes import suggestion

#: JSON schema's names of types
_JSON = {int: "integer", float: "number", bool: "boolean", str: "string", list: "array"}


@dataclass(frozen=True)
class Field:
    """Description of a parameter, in ``Annotated``.

    Attributes:
        doc: one sentence.
        unit: unit of the number; values may be given in a related unit (``"0.04 km"``).
        low, high: bounds, both included.
        names: names of values; only these values are accepted.

    Example:
        >>> Field("Length of an extent.", unit="m", low=1, high=1000).high
        1000
    """

    doc: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    names: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Parameter:
    """A parameter: its name, its types (without None), its description and default; ``fields`` if nested."""

    name: str
    types: tuple[Any, ...]
    field: Field
    default: Any
    is_required: bool
    fields: tuple[Parameter, ...] = ()

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the parameter."""
        if self.fields:
            made: dict[str, Any] = {
                "type": "object",
                "properties": {each.name: each.schema() for each in self.fields},
                "additionalProperties": False,
            }
        else:
            options = [_type_schema(kind, self.field) for kind in self.types if kind is not Any]
            made = options[0] if len(options) == 1 else {"anyOf": options} if options else {}
        made["description"] = self.field.doc
        if self.field.unit:
            made["unit"] = self.field.unit
        if not self.is_required and not self.fields:
            made["default"] = self.default
        return made


@dataclass(frozen=True)
class Signature:
    """Name, description and parameters of a product."""

    name: str
    doc: str
    parameters: tuple[Parameter, ...]

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the parameters."""
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.name,
            "description": self.doc,
            "type": "object",
            "properties": {each.name: each.schema() for each in self.parameters},
            "required": [each.name for each in self.parameters if each.is_required],
            "additionalProperties": False,
        }

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return (name, default, accepted values, description) of each parameter, nested ones too."""
        found = []
        for each in self.parameters:
            if not each.fields:
                found.append(_row(each.name, each))
            found += [_row(f"{each.name}.{inner.name}", inner) for inner in each.fields]
        return found

    def parameter(self, name: str) -> Parameter:
        """Return a parameter.

        Raises:
            Error: ``invalid`` for an unknown name.
        """
        return named(self.parameters, name, self.name)


def named(parameters: tuple[Parameter, ...], name: str, owner: str) -> Parameter:
    """Return the parameter of this name.

    Raises:
        Error: ``invalid`` with the most similar name.
    """
    for each in parameters:
        if each.name == name:
            return each
    names = [each.name for each in parameters]
    hint = suggestion(name, names, f"accepted: {', '.join(names)}" if names else "it takes none")
    raise errors.make("invalid", f"{owner} has no parameter {name}", hint)


def signature_of(name: str, function: Callable[..., Any]) -> Signature:
    """Read the signature of a product's function; the first parameter gets the inputs.

    Raises:
        Error: ``unsupported`` for a parameter without a description.
    """
    found = list(inspect.signature(function).parameters.values())
    hints = get_type_hints(function, include_extras=True)
    doc = inspect.getdoc(function) or ""
    parameters = tuple(
        _parameter(name, each.name, hints.get(each.name), each.default, inspect.Parameter.empty)
        for each in found[1:]
    )
    return Signature(name, doc, parameters)


def _parameter(product: str, name: str, hint: Any, default: Any, empty: Any) -> Parameter:
    field, kinds = None, ()
    if get_origin(hint) is Annotated:
        base, *extra = get_args(hint)
        field = next((each for each in extra if isinstance(each, Field)), None)
        kinds = tuple(kind for kind in _options(base) if kind is not types.NoneType)
    if field is None:
        message = f"product {product}: parameter {name} has no description"
        raise errors.make("unsupported", message, 'annotate it: Annotated[float, Field("…", unit="m")]')
    fields: tuple[Parameter, ...] = ()
    if len(kinds) == 1 and dataclasses.is_dataclass(kinds[0]):
        inner = get_type_hints(kinds[0], include_extras=True)
        fields = tuple(
            _parameter(product, each.name, inner[each.name], each.default, dataclasses.MISSING)
            for each in dataclasses.fields(kinds[0])
        )
    return Parameter(name, kinds, field, None if default is empty else default, default is empty, fields)


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _type_schema(kind: Any, field: Field) -> dict[str, Any]:
    if get_origin(kind) is list:
        return {"type": "array", "items": _type_schema(get_args(kind)[0], field)}
    made: dict[str, Any] = {"type": _JSON.get(kind, "string")}
    if field.names is not None:
        return {"enum": [*dict.fromkeys(field.names.values()), *field.names]}
    if field.low is not None and kind in (int, float):
        made["minimum"] = field.low
    if field.high is not None and kind in (int, float):
        made["maximum"] = field.high
    return made


def _row(name: str, each: Parameter) -> tuple[str, str, str, str]:
    default = "required" if each.is_required else "" if each.default is None else shown(each.default)
    return name, default, accepted(each), each.field.doc


def shown(value: Any) -> str:
    """Format a default value as it may be typed."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def accepted(each: Parameter) -> str:
    """Describe the values that a parameter accepts: ``1 to 1000 m``, or the names."""
    field = each.field
    if field.names is not None:
        both = [f"{value} ({name})" if str(value) != name else name for name, value in field.names.items()]
        return ", ".join(both)
    unit = f" {field.unit}" if field.unit else ""
    if field.low is not None and field.high is not None:
        return f"{field.low:,.10g} to {field.high:,.10g}{unit}"
    if field.low is not None:
        return f"at least {field.low:,.10g}{unit}"
    if field.high is not None:
        return f"at most {field.high:,.10g}{unit}"
    if bool in each.types:
        return "true or false"
    return unit.strip()
