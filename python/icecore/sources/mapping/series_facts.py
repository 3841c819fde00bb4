"""What the attributes of a time series state about its numbers, compared before series are joined."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: attribute → what it states
_FACTS = {
    "channel": "channel",
    "units": "unit",
    "scale_factor": "slope",
    "add_offset": "bias",
    "adc_slope": "slope",
    "adc_bias": "bias",
    "frequency_shift": "frequency shift",
    "phase": "phase",
    "_FillValue": "fill value",
    "missing_value": "missing value",
    "flag_masks": "flags",
    "flag_values": "flags",
    "flag_meanings": "flags",
}


def facts(attrs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the facts as text that can be compared and hashed."""
    return tuple(json.dumps(attrs.get(key)) for key in _FACTS)


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the facts that differ.

    Example:
        >>> differences({"units": "V"}, {"units": "A"})
        ["the unit changed from 'V' to 'A'"]
    """
    found: dict[str, str] = {}
    for (key, name), old, new in zip(_FACTS.items(), facts(before), facts(after), strict=True):
        if old != new:
            said = f"the {name} changed from {_shown(before, key)} to {_shown(after, key)}"
            found.setdefault(name, said)
    return list(found.values())


def _shown(attrs: Mapping[str, Any], key: str) -> str:
    return repr(attrs[key]) if key in attrs else "none"
