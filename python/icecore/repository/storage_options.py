"""Options of object stores: the spellings of obstore, fsspec and AWS, and the profiles of AWS."""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from icecore import errors
from icecore.repository import bucket_urls, credentials

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
    "account_name": ("azure_storage_account_name",),
    "account_key": ("azure_storage_account_key", "azure_storage_access_key", "access_key"),
    "sas_token": ("azure_storage_sas_token", "azure_storage_sas_key", "sas_key"),
    "credentials": ("credential_provider",),
}
_NAMES = {other: name for name, others in _SPELLINGS.items() for other in (name, *others)}
#: values that are obstore's opposite of ours
_OPPOSITE = {
    "virtual_hosted_style_request": "force_path_style",
    "aws_virtual_hosted_style_request": "force_path_style",
}
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
    "account_name",
    "lock_timeout",
)
_KEYS = ("access_key_id", "secret_access_key", "session_token")
_PROFILE = ("profile", "aws_profile", "profile_name")
#: variables that give credentials without a profile
_GIVEN = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")


def resolve(url: str, storage: Mapping[str, Any] | None) -> dict[str, str]:
    """Options of a store under the engine's names.

    Args:
        url: what they are for. Profiles of the environment are used for ``s3://`` only.
        storage: options under the names of obstore, fsspec, AWS or the engine.

    Returns:
        The options, with the keys of the profile that they or ``AWS_PROFILE`` name.

    Raises:
        Error: ``invalid`` for an option that is given twice with different values, or a value of another type
            than string, number and bool; ``not-found`` for a missing profile.
    """
    options: dict[str, str] = {}
    profile = None
    if (account := bucket_urls.account(url)) is not None:
        options["account_name"] = account
    for name, value in _flat(storage or {}):
        if name.lower() in _PROFILE:
            profile = value
            continue
        known, value = _named(name, value)
        if options.setdefault(known, value) != value:
            message = f"storage option {known} is given twice, with different values"
            raise errors.make("invalid", message, f"give one of {known}, {', '.join(_SPELLINGS[known])}")
    if url.startswith("gs://") and "session_token" in options:
        options |= _google_token(options.pop("session_token"))
    return _with_profile(options, profile, url.startswith("s3://"))


def without_secrets(options: Mapping[str, str]) -> dict[str, str]:
    """The options that may be stored or sent to other processes: without keys, tokens and headers."""
    return {name: value for name, value in options.items() if _NAMES.get(name.lower(), name) in _PUBLIC}


def with_keys(options: Mapping[str, str]) -> dict[str, str]:
    """The options for a worker process of this one: a function of credentials is replaced by its keys."""
    found = dict(options)
    name = found.pop("credentials", None)
    return found if name is None else {**found, **credentials.current(name)}


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
    lower = name.lower()
    if lower in _OPPOSITE:
        return _OPPOSITE[lower], "false" if value.lower() in ("true", "1", "yes") else "true"
    return _NAMES.get(lower, name), value


def _with_profile(options: dict[str, str], profile: str | None, is_s3: bool) -> dict[str, str]:
    named = profile
    if named is None:
        has_keys = any(name in options for name in ("access_key_id", "anonymous", "credentials"))
        if not is_s3 or has_keys or any(os.environ.get(name) for name in _GIVEN):
            return options
        named = os.environ.get("AWS_PROFILE")
    found = _profile(named or "default")
    if found is None:
        if named is None:
            return options
        message = f"no AWS profile {named} in {_file('credentials')} or {_file('config')}"
        raise errors.make("not-found", message, "check the name: aws configure list-profiles")
    return {**found, **options}


def _file(name: str) -> Path:
    variable = {"credentials": "AWS_SHARED_CREDENTIALS_FILE", "config": "AWS_CONFIG_FILE"}[name]
    given = os.environ.get(variable)
    return Path(given).expanduser() if given else Path.home() / ".aws" / name


def _profile(name: str) -> dict[str, str] | None:
    """Keys, region and endpoint of a profile; None if no file has it."""
    found: dict[str, str] | None = None
    for file, section in (
        ("config", name if name == "default" else f"profile {name}"),
        ("credentials", name),
    ):
        parser = configparser.ConfigParser(interpolation=None, default_section="")
        try:
            parser.read(_file(file), encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            reason = type(error).__name__  # its text shows the line, which may be a key
            message = f"{_file(file)} can't be read: {reason}"
            raise errors.make("format", message, "see the AWS documentation of this file") from None
        if not parser.has_section(section):
            continue
        read = {_NAMES[key]: value for key, value in parser[section].items() if key in _NAMES}
        found = {
            **(found or {}),
            **{key: read[key] for key in (*_KEYS, "region", "endpoint_url") if key in read},
        }
    return found
