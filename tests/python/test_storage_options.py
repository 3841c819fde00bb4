"""Options of object stores: spellings, profiles, secrets."""

from __future__ import annotations

import pickle
from pathlib import Path

import icecore
import pytest
from icecore.errors import Error
from icecore.repository.storage_options import resolve, without_secrets

OURS = {
    "access_key_id": "id",
    "secret_access_key": "hush",
    "session_token": "hush2",
    "region": "eu-1",
    "endpoint_url": "http://h:1",
}


@pytest.fixture(autouse=True)
def no_profiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))


@pytest.mark.parametrize(
    "given",
    [
        OURS,
        {f"aws_{name}": value for name, value in OURS.items()},
        {f"AWS_{name}".upper(): value for name, value in OURS.items()},
        {
            "key": "id",
            "secret": "hush",
            "token": "hush2",
            "client_kwargs": {"region_name": "eu-1", "endpoint_url": "http://h:1"},
        },
        {
            "access_key_id": "id",
            "secret_access_key": "hush",
            "token": "hush2",
            "region": "eu-1",
            "endpoint": "http://h:1",
        },
    ],
)
def test_every_spelling_gives_the_same_options(given: dict[str, object]) -> None:
    assert resolve("s3://b/a", given) == OURS


def test_flags() -> None:
    for name in ("anonymous", "anon", "skip_signature", "aws_skip_signature", "no_sign_request"):
        assert resolve("s3://b", {name: True}) == {"anonymous": "true"}
    assert resolve("s3://b", {"anon": False, "region": None}) == {"anonymous": "false"}
    assert resolve("s3://b", {"virtual_hosted_style_request": True}) == {"force_path_style": "false"}
    assert resolve("s3://b", {"virtual_hosted_style_request": "false"}) == {"force_path_style": "true"}


def test_unknown_options_are_refused_by_the_engine() -> None:
    with pytest.raises(Error) as error:
        icecore.create("memory://", storage={"acess_key_id": "hush"})
    assert error.value.kind == "invalid"
    assert "acess_key_id" in str(error.value)
    assert "hush" not in str(error.value)


def test_two_values_of_one_option() -> None:
    assert resolve("s3://b", {"key": "a", "access_key_id": "a"})["access_key_id"] == "a"
    with pytest.raises(Error) as error:
        resolve("s3://b", {"secret": "hush", "secret_access_key": "hush2"})
    assert error.value.kind == "invalid"
    assert "hush" not in str(error.value)


def test_values_of_other_types() -> None:
    with pytest.raises(Error) as error:
        resolve("s3://b", {"secret": b"hush"})
    assert error.value.kind == "invalid"
    assert "bytes" in str(error.value)
    assert "hush" not in str(error.value)


def test_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id=d\naws_secret_access_key=ds\n"
        "[moon]\naws_access_key_id=m\naws_secret_access_key=m%s\naws_session_token=mt\n"
    )
    (tmp_path / "config").write_text(
        "[default]\nregion=eu-1\n[profile moon]\nregion=us-1\nendpoint_url=http://h\noutput=json\n"
    )
    moon = {
        "access_key_id": "m",
        "secret_access_key": "m%s",
        "session_token": "mt",
        "region": "us-1",
        "endpoint_url": "http://h",
    }
    default = {"access_key_id": "d", "secret_access_key": "ds", "region": "eu-1"}
    assert resolve("s3://b", {"profile": "moon"}) == moon
    assert resolve("s3://b", {"profile": "moon", "region": "x"}) == {**moon, "region": "x"}
    assert resolve("s3://b", None) == default
    assert resolve("s3://b", {"anon": True}) == {"anonymous": "true"}
    assert resolve("s3://b", {"key": "k", "secret": "s"}) == {"access_key_id": "k", "secret_access_key": "s"}
    monkeypatch.setenv("AWS_PROFILE", "moon")
    assert resolve("s3://b", {}) == moon
    assert resolve("/data/moon.icecore", {}) == {}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "e")
    assert resolve("s3://b", {}) == {}
    with pytest.raises(Error) as error:
        resolve("s3://b", {"profile": "none"})
    assert error.value.kind == "not-found"


def test_a_damaged_file_of_profiles_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("hush without a section\n")
    with pytest.raises(Error) as error:
        resolve("s3://b", {"profile": "moon"})
    assert error.value.kind == "format"
    assert "hush" not in str(error.value)


def test_secrets_are_not_pickled() -> None:
    given = {**OURS, "header.authorization": "hush3"}
    assert without_secrets(given) == {"region": "eu-1", "endpoint_url": "http://h:1"}
    repo = icecore.create("memory://secrets", storage=given)
    assert b"hush" not in pickle.dumps(repo)
    assert "hush" not in repr(repo)
