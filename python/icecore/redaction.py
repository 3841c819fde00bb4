"""Addresses without their secrets, as the engine's ``redact``."""

from __future__ import annotations

import re

#: query parameters that give access, as in the engine (crates/icecore-grid/src/redact.rs)
_SECRETS = (
    "x-amz-signature|x-amz-security-token|x-amz-credential|x-goog-signature|x-goog-credential|sig|signature"
    "|awsaccesskeyid|googleaccessid|key-pair-id|policy|token|access_token|id_token|refresh_token"
    "|session_token|sessiontoken|key|api_key|api-key|apikey|password|passwd|secret|auth|jwt"
)
_LOGIN = re.compile(r"(://)[^/?#\"'<>`\s]*@")
_VALUE = re.compile(rf"([?&;](?:{_SECRETS})=)[^&#\"'<>`;,)\s]*", re.IGNORECASE)
#: parameters that belong to a signature: without them the address is the bare one
_SIGNING = re.compile(rf"(?:x-(?:amz|goog)-.*|expires|s[a-z]{{1,2}}|sk[a-z]+|{_SECRETS})", re.IGNORECASE)


def redact(text: str) -> str:
    """The text with names, passwords and signatures of the addresses in it replaced by ``***``.

    Example:
        >>> redact("https://ann:pw@host/f.h5?part=1&sig=abc")
        'https://***@host/f.h5?part=1&sig=***'
    """
    if "://" not in text and "?" not in text and "&" not in text:
        return text
    return _VALUE.sub(r"\1***", _LOGIN.sub(r"\1***@", text))


def has_login(url: str) -> bool:
    """Whether the address contains a name or a password."""
    return "://" in url and _LOGIN.match(url[url.index("://") :]) is not None


def is_signed(url: str) -> bool:
    """Whether the query of an address contains a signature, a token or a key."""
    return _VALUE.search(url.partition("#")[0]) is not None


def unsigned(url: str) -> str:
    """The address without the parameters that sign it.

    Example:
        >>> unsigned("https://host/f.h5?part=1&X-Amz-Expires=60&X-Amz-Signature=abc")
        'https://host/f.h5?part=1'
    """
    address, _, query = url.partition("#")[0].partition("?")
    kept = [part for part in query.split("&") if part and not _SIGNING.fullmatch(part.partition("=")[0])]
    return f"{address}?{'&'.join(kept)}" if kept else address
