"""Profiles in the files of the AWS tools: keys, a command that prints keys, or what botocore resolves."""

from __future__ import annotations

import configparser
import json
import os
import shlex
import subprocess
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from icecore import errors
from icecore.repository.storage import credentials

#: names in the files → names of options
_SETTINGS = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
    "region": "region",
    "endpoint_url": "endpoint_url",
}
#: settings of logins that need requests to AWS, which botocore makes
_LOGINS = (
    "sso_session",
    "sso_start_url",
    "sso_account_id",
    "role_arn",
    "source_profile",
    "credential_source",
    "web_identity_token_file",
    "login_session",
)
#: seconds that a command may take
_PATIENCE = 60


def files() -> str:
    """The two files, for messages."""
    return f"{_file('credentials')} or {_file('config')}"


def profile(name: str, has_keys: bool) -> dict[str, str] | None:
    """Options of a profile: region, endpoint, and its keys or a function that returns them.

    Args:
        name: the profile.
        has_keys: whether the keys are given elsewhere; the profile's login is then not looked at.

    Returns:
        The options, or None if no file has the profile.

    Raises:
        Error: ``format`` if a file can't be read; ``unsupported`` for a login that needs botocore, if it is
            not installed.
    """
    settings = _settings(name)
    if settings is None:
        return None
    found = {_SETTINGS[key]: value for key, value in settings.items() if key in _SETTINGS}
    if service := _service_endpoint(settings):
        found["endpoint_url"] = service
    if has_keys or "access_key_id" in found:
        if has_keys:
            found = {key: value for key, value in found.items() if key in ("region", "endpoint_url")}
        login = None if has_keys or "role_arn" not in settings else "role_arn"
    else:
        login = next((key for key in ("credential_process", *_LOGINS) if key in settings), None)
    if login is None:
        return found
    found = {key: value for key, value in found.items() if key in ("region", "endpoint_url")}
    if login == "credential_process":
        return {**found, "credentials": credentials.register(_command(name, settings[login]))}
    if find_spec("botocore") is None:
        message = f"AWS profile {name} logs in with {login}, which needs botocore"
        hint = (
            "pip install botocore, or let the AWS tools print the keys: "
            f"eval $(aws configure export-credentials --profile {shlex.quote(name)} --format env)"
        )
        raise errors.make("unsupported", message, hint)
    return {**found, "credentials": credentials.register(_botocore(name))}


# Cached, because equal functions share their keys.
@lru_cache
def _command(name: str, line: str) -> Callable[[], dict[str, Any]]:
    """A function that runs the profile's ``credential_process``."""

    def run() -> dict[str, Any]:
        def failed(why: str) -> errors.Error:
            message = f"credential_process of AWS profile {name} {why}"
            return errors.make("permission", message, f"run it alone to see why; it is in {files()}")

        try:
            done = subprocess.run(shlex.split(line), capture_output=True, timeout=_PATIENCE, check=False)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise failed(f"could not be run ({type(error).__name__})") from None
        if done.returncode:
            raise failed(f"ended with status {done.returncode}")
        try:
            answer = json.loads(done.stdout)
            keys = {"access_key_id": answer["AccessKeyId"], "secret_access_key": answer["SecretAccessKey"]}
        except (ValueError, TypeError, KeyError):
            raise failed("did not print AccessKeyId and SecretAccessKey as JSON") from None
        return {**keys, "session_token": answer.get("SessionToken"), "expires": answer.get("Expiration")}

    return run


@lru_cache
def _botocore(name: str) -> Callable[[], dict[str, Any]]:
    """A function that returns the keys that botocore finds for a profile: logins and roles."""
    held: list[Any] = []

    def fetch() -> dict[str, Any]:
        import botocore.session  # type: ignore[import-not-found, import-untyped, unused-ignore]

        if not held:
            held.append(botocore.session.Session(profile=name).get_credentials())
        if held[0] is None:
            message = f"AWS profile {name} gives no keys"
            raise errors.make("permission", message, f"aws sso login --profile {shlex.quote(name)}")
        keys = held[0].get_frozen_credentials()
        found = {"access_key_id": keys.access_key, "secret_access_key": keys.secret_key}
        return {**found, "session_token": keys.token, "expires": getattr(held[0], "_expiry_time", None)}

    return fetch


def _settings(name: str) -> dict[str, str] | None:
    """All settings of a profile; those of ``credentials`` go before those of ``config``."""
    found: dict[str, str] | None = None
    for file, section in (
        ("config", name if name == "default" else f"profile {name}"),
        ("credentials", name),
    ):
        parser = _parsed(file)
        if parser.has_section(section):
            found = {**(found or {}), **parser[section]}
    return found


def _service_endpoint(settings: Mapping[str, str]) -> str | None:
    """The endpoint of s3 in the section ``services`` that a profile names."""
    parser = _parsed("config")
    section = f"services {settings.get('services', '')}"
    if "services" not in settings or not parser.has_section(section):
        return None
    # A nested setting: `s3 =`, and below it an indented `endpoint_url = …`.
    for line in parser[section].get("s3", "").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "endpoint_url":
            return value.strip()
    return None


def _parsed(file: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, default_section="")
    try:
        parser.read(_file(file), encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        reason = type(error).__name__  # its text shows the line, which may be a key
        message = f"{_file(file)} can't be read: {reason}"
        raise errors.make("format", message, "see the AWS documentation of this file") from None
    return parser


def _file(name: str) -> Path:
    variable = {"credentials": "AWS_SHARED_CREDENTIALS_FILE", "config": "AWS_CONFIG_FILE"}[name]
    given = os.environ.get(variable)
    return Path(given).expanduser() if given else Path.home() / ".aws" / name
