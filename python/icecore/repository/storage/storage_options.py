"""Options of object stores: the spellings of obstore, fsspec and AWS, and the profiles of AWS."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from icecore import errors
from icecore.repository import address
from icecore.repository.storage import aws_profiles, credentials

#: the engine's name ← names that obstore, s3fs (fsspec) and AWS use
_SPELLINGS = {
    "access_key_id": ("aws_access_key_id", "key", "accesskeyid"),
    "secret_access_key": ("aws_secret_access_key", "secret", "secretaccesskey"),
    "session_token": ("aws_session_token", "aws_token", "token", "sessiontoken", "bearer_token"),
    "region": ("aws_region", "aws_default_region", "default_region", "region_name"),
    "endpoint_url": ("aws_endpoint", "aws_endpoint_url", "aws_endpoint_url_s3", "endpoint"),
    "anonymous": ("anon", "skip_signature", "aws_skip_signature", "no_sign_request"),
    "allow_http": ("aws_allow_http",),
    "force_path_style": ("aws_force_path_style",),
    "virtual_hosted_style_request": ("aws_virtual_hosted_style_request",),
    "account_name": ("azure_storage_account_name",),
    "account_key": ("azure_storage_account_key", "azure_storage_access_key", "access_key"),
    "sas_token": ("azure_storage_sas_token", "azure_storage_sas_key", "sas_key"),
    "credentials": ("credential_provider",),
}
#: an option for one address: ``s3://bucket/prefix.region``, ``https://host.header.cookie``
_ADDRESS = re.compile(r"\w+://")
_HEADER = ".header."
_NAMES = {other: name for name, others in _SPELLINGS.items() for other in (name, *others)}
#: dictionaries of s3fs inside its options
_NESTED = ("client_kwargs", "credentials")
#: when the keys beside it expire, in dictionaries of NASA's services; the store says so itself
_IGNORED = ("expiration",)
#: fields of Azure's connection strings
_CONNECTION = {
    "accountname": "account_name",
    "accountkey": "account_key",
    "sharedaccesssignature": "sas_token",
    "blobendpoint": "endpoint_url",
}
#: options that may be stored and sent to other processes
_PUBLIC = (
    "region",
    "endpoint_url",
    "anonymous",
    "allow_http",
    "force_path_style",
    "virtual_hosted_style_request",
    "account_name",
    "lock_timeout",
    "durability",
    "retry_timeout",
)
_PROFILE = ("profile", "aws_profile", "profile_name")
#: variables that give credentials without a profile
_GIVEN = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")


def resolve(url: str, storage: Mapping[str, Any] | None) -> dict[str, str]:
    """Options of a store under the engine's names.

    Args:
        url: what they are for. Profiles of the environment are used for ``s3://`` only.
        storage: options under the names of obstore, fsspec, AWS or the engine.

    Options for one address, which nothing else gets, have its prefix: ``{"s3://archive": {…}}``, or
    ``s3://archive.region`` on the command line.

    Returns:
        The options, with the keys of the profile that they or ``AWS_PROFILE`` name.

    Raises:
        Error: ``invalid`` for an option that is given twice with different values, or a value of another type
            than string, number and bool; ``not-found`` for a missing profile.
    """
    storage, addressed = _by_address(storage or {})
    options: dict[str, str] = {}
    profile = None
    if (account := address.account(url)) is not None:
        options["account_name"] = account
    for name, value in _flat(storage):
        if name.lower() in _PROFILE:
            profile = value
            continue
        known, value = _named(name, value)
        if options.setdefault(known, value) != value:
            message = f"storage option {known} is given twice, with different values"
            raise errors.make("invalid", message, f"give one of {known}, {', '.join(_SPELLINGS[known])}")
    if url.startswith("gs://") and "session_token" in options:
        options |= _google_token(options.pop("session_token"))
    own = _with_profile(options, profile, url.startswith("s3://"))
    for place, given in addressed.items():
        own |= {f"{place}.{name}": value for name, value in resolve(place, given).items()}
    return own


def with_durability(options: Mapping[str, str], durability: str | None) -> dict[str, str]:
    """The options, with the argument ``durability`` of a function among them; the engine checks its value."""
    return dict(options) if durability is None else {**options, "durability": durability}


def options_for(url: str, options: Mapping[str, str]) -> dict[str, str]:
    """Of resolved options those for ``url``, as the engine's ``options_for``: of the longest address that
    covers it, or else those without an address.
    """
    own, addressed = _by_address(options)
    covering = [address for address in addressed if url == address or url.startswith(f"{address}/")]
    return dict(addressed[max(covering, key=len)] if covering else own)


def addresses(options: Mapping[str, Any]) -> list[str]:
    """The addresses for which there are options of their own."""
    return list(_by_address(options)[1])


def _by_address(storage: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The options without an address, and those of each address."""
    own: dict[str, Any] = {}
    addressed: dict[str, dict[str, Any]] = {}
    for key, value in storage.items():
        if "://" not in key:
            own[key] = value
        elif isinstance(value, Mapping):
            addressed.setdefault(_address(key), {}).update(value)
        elif parts := _parts(key):
            addressed.setdefault(_address(parts[0]), {})[parts[1]] = value
        else:
            message = f"storage option {key} is for an address and names no option"
            raise errors.make("invalid", message, f'storage={{"{key}": {{"region": "us-west-2"}}}}')
    return own, addressed


def _parts(name: str) -> tuple[str, str] | None:
    """An option's address and its own name; None without both."""
    scheme = _ADDRESS.match(name)
    if scheme is None:
        return None
    at = name.find(_HEADER, scheme.end() + 1)
    if at < 0 or at + len(_HEADER) == len(name):  # the names of headers have dots, other names have none
        at = name.rfind(".", scheme.end() + 1)
    address, own = name[:at], name[at + 1 :]
    is_name = own.startswith(_HEADER[1:]) or (own and "/" not in own)
    return (address, own) if at >= 0 and is_name else None


def _address(text: str) -> str:
    return address.canonical(text.rstrip("/"))


def without_secrets(options: Mapping[str, str]) -> dict[str, str]:
    """The options that may be stored or sent to other processes: without keys, tokens and headers."""
    return {name: value for name, value in options.items() if _plain(name) in _PUBLIC}


def _plain(name: str) -> str:
    """The engine's name of an option, without an address."""
    parts = _parts(name)
    own = parts[1] if parts else name
    return _NAMES.get(own.lower(), own)


def with_keys(options: Mapping[str, str]) -> dict[str, str]:
    """The options for a worker process of this one: functions of credentials are replaced by their keys."""
    found: dict[str, str] = {}
    for name, value in options.items():
        prefix, dot, last = name.rpartition(".")
        if last == "credentials":
            found |= {f"{prefix}{dot}{key}": held for key, held in credentials.current(value).items()}
        else:
            found[name] = value
    return found


def _flat(storage: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in storage.items():
        lower = name.lower()
        if lower in _NESTED and isinstance(value, Mapping):
            pairs += _flat(value)
        elif lower in ("credentials", "credential_provider") and callable(value):
            pairs.append(("credentials", credentials.register(value)))
        elif lower in ("connection_string", "azure_storage_connection_string") and isinstance(value, str):
            pairs += _connection(value)
        elif lower in _IGNORED:
            continue
        elif isinstance(value, bool):
            pairs.append((name, str(value).lower()))
        elif isinstance(value, (str, int, float)):
            pairs.append((name, str(value)))
        elif value is not None:
            kind = type(value).__name__  # not the value, which may be a secret
            message = f"storage option {name} must be a string, a number or a bool (got {kind})"
            raise errors.make("invalid", message, 'storage={"region": "us-west-2"}')
    return pairs


def _google_token(token: str) -> dict[str, str]:
    """The option for gcsfs's ``token``: a file of keys, ``anon``, or a token."""
    if token == "anon":
        return {"anonymous": "true"}
    return {"google_application_credentials" if token.endswith(".json") else "session_token": token}


def _connection(text: str) -> list[tuple[str, str]]:
    """The options in a connection string of Azure: ``AccountName=moon;AccountKey=…``."""
    fields = (part.partition("=") for part in text.split(";"))
    return [(_CONNECTION[name.lower()], value) for name, _, value in fields if name.lower() in _CONNECTION]


def _named(name: str, value: str) -> tuple[str, str]:
    return _NAMES.get(name.lower(), name), value


def _with_profile(options: dict[str, str], profile: str | None, is_s3: bool) -> dict[str, str]:
    named = profile
    has_keys = any(name in options for name in ("access_key_id", "anonymous", "credentials"))
    if named is None:
        if not is_s3 or has_keys or any(os.environ.get(name) for name in _GIVEN):
            return options
        named = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE")
    found = aws_profiles.profile(named or "default", has_keys)
    if found is None:
        if named is None:
            return options
        message = f"no AWS profile {named} in {aws_profiles.files()}"
        raise errors.make("not-found", message, "check the name: aws configure list-profiles")
    return {**found, **options}
