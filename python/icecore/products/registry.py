"""Names of products: built in, and registered by packages under the entry point ``icecore.products``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from icecore import errors
from icecore.products.signature import Signature, signature_of
from icecore.repository.nodes import suggestion

GROUP = "icecore.products"
#: name → module and function
BUILT_IN = {
    "asd": "icecore.products.spectrum:asd",
    "atl06": "icecore.products.atl06:atl06",
    "coherence": "icecore.products.spectrum:coherence",
    "histogram": "icecore.products.histogram:histogram",
    "psd": "icecore.products.spectrum:psd",
    "q-transform": "icecore.products.q_transform:q_transform",
    "query": "icecore.products.query:query",
    "spectrogram": "icecore.products.spectrogram:spectrogram",
    "stats": "icecore.products.stats:stats",
    "subset": "icecore.products.subset:subset",
    "trend": "icecore.products.trend:trend",
}


@dataclass(frozen=True)
class Product:
    """A product: the function that computes it, its signature, and the package that registered it.

    Attributes:
        function: called with :class:`icecore.products.Inputs` and the parameters; returns rows.
        signature: name, description and parameters.
        origin: ``icecore``, or the name of another distribution.
        variables: shell patterns of the arrays that it reads from files; all if None.
    """

    function: Callable[..., Any]
    signature: Signature
    origin: str
    variables: list[str] | None = None


def names() -> dict[str, str]:
    """Return the products that are installed: name → origin. Built-in names can't be replaced."""
    return {
        **{name: _origin(each) for name, each in _registered().items()},
        **dict.fromkeys(BUILT_IN, "icecore"),
    }


def find(name: str) -> Product:
    """Return the product of this name.

    Raises:
        Error: ``not-found`` for an unknown name; ``unsupported`` if a registered one can't be imported.
    """
    if name in BUILT_IN:
        module, _, function = BUILT_IN[name].partition(":")
        return _product(name, getattr(import_module(module), function), "icecore")
    entry = _registered().get(name)
    if entry is None:
        known = sorted(names())
        hint = suggestion(name, known, f"there are {', '.join(known)}")
        raise errors.make("not-found", f"no product {name}", hint)
    try:
        function = entry.load()
    except (ImportError, AttributeError) as error:
        message = f"product {name} of {_origin(entry)} can't be imported: {error}"
        raise errors.make("unsupported", message, f"check the entry point {entry.value}") from error
    return _product(name, function, _origin(entry))


def _product(name: str, function: Callable[..., Any], origin: str) -> Product:
    return Product(function, signature_of(name, function), origin, getattr(function, "variables", None))


def _origin(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "?"


@lru_cache(maxsize=1)
def _registered() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN}
