"""Storage options that may be sent to workers."""

from __future__ import annotations

from collections.abc import Mapping

_SECRETS = ("access_key_id", "secret_access_key", "session_token")
_HEADERS = "header."


def without_secrets(storage: Mapping[str, str] | None) -> dict[str, str]:
    """Return the options that are not secret: workers take credentials from their own environment."""
    kept = storage or {}
    return {k: v for k, v in kept.items() if k not in _SECRETS and not k.startswith(_HEADERS)}
