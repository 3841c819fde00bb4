"""Credentials from a function of the caller, such as ``earthaccess.get_s3_credentials``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from icecore import errors

#: the engine's name ← names that NASA's services, boto3, obstore and fsspec return
_SPELLINGS = {
    "access_key_id": ("accesskeyid", "aws_access_key_id", "key"),
    "secret_access_key": ("secretaccesskey", "aws_secret_access_key", "secret"),
    "session_token": ("sessiontoken", "aws_session_token", "token", "bearer_token"),
    "account_key": ("access_key", "azure_storage_account_key"),
    "sas_token": ("sas_key", "azure_storage_sas_token"),
    "expires": ("expiration", "expires_at", "expiry"),
}
_NAMES = {other: name for name, others in _SPELLINGS.items() for other in (name, *others)}
_HINT = 'return a dict: {"accessKeyId": …, "secretAccessKey": …, "sessionToken": …, "expiration": …}'
#: seconds for which the keys of a function are reused in other processes
_REUSED = 300.0

_lock = threading.Lock()
_registered: dict[Any, str] = {}
_by_name: dict[str, _Fetch] = {}


def register(function: Callable[[], Any]) -> str:
    """The storage option that names this function; the same for equal functions."""
    from icecore import _icecore

    with _lock:
        name = _registered.get(function)
        if name is None:
            fetch = _Fetch(function)
            name = _registered[function] = _icecore.register_credentials(fetch)
            _by_name[name] = fetch
        return name


def current(name: str) -> dict[str, str]:
    """Keys that the named function returned lately; none if it is not a function of this process."""
    fetch = _by_name.get(name)
    return {} if fetch is None else fetch.latest()


class _Fetch:
    """Calls the function and converts what it returns. Its errors never show a returned value."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._found: dict[str, str] = {}
        self._at = 0.0

    def __call__(self) -> dict[str, str]:
        try:
            returned = self._function()
        except errors.Error:
            raise  # of a profile of ours
        except Exception as error:  # its text may contain a token
            message = f"the function of storage option credentials raised {type(error).__name__}"
            raise errors.make("permission", message, "call it alone to see why") from error
        self._found, self._at = _converted(returned), time.monotonic()
        return self._found

    def latest(self) -> dict[str, str]:
        """What it returned in the last minutes, without the time at which that expires."""
        fresh = self._found and time.monotonic() - self._at < _REUSED
        found = self._found if fresh else self()
        return {name: value for name, value in found.items() if name != "expires"}


def _converted(returned: Any) -> dict[str, str]:
    if isinstance(returned, str):
        return {"session_token": returned}
    if not isinstance(returned, Mapping):
        message = f"the function of storage option credentials returned {type(returned).__name__}"
        raise errors.make("permission", message, _HINT)
    found: dict[str, str] = {}
    for name, value in returned.items():
        known = _NAMES.get(str(name).lower())
        if known is None or value is None:
            continue
        found[known] = str(_seconds(value) if known == "expires" else value)
    return found


def _seconds(value: Any) -> float:
    """Seconds since 1970 of a time stamp: a number, a datetime or an ISO string (UTC if it has no zone)."""
    if isinstance(value, (int, float)):
        return float(value)
    try:
        stamp = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        message = "the function of storage option credentials returned an expiration that is not a time"
        raise errors.make("permission", message, "2026-11-26 03:00:00+00:00") from None
    return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()
