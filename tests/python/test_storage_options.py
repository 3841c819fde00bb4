"""Options of object stores: spellings, profiles, secrets."""

from __future__ import annotations

import pickle
from pathlib import Path

import icecore
import pytest
from icecore.cli.console import settings
from icecore.errors import Error
from icecore.repository.address import canonical
from icecore.repository.storage.storage_options import options_for, resolve, with_keys, without_secrets
from icecore.sources.files import object_stores

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
    for name in ("virtual_hosted_style_request", "AWS_VIRTUAL_HOSTED_STYLE_REQUEST"):
        assert resolve("s3://b", {name: True}) == {"virtual_hosted_style_request": "true"}


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


def test_azure_and_google() -> None:
    text = (
        "DefaultEndpointsProtocol=https;AccountName=moon;AccountKey=aHVzaA==;EndpointSuffix=core.windows.net"
    )
    assert resolve("az://c", {"connection_string": text}) == {
        "account_name": "moon",
        "account_key": "aHVzaA==",
    }
    assert resolve("gs://b", {"token": "anon"}) == {"anonymous": "true"}
    assert resolve("gs://b", {"token": "/k.json"}) == {"google_application_credentials": "/k.json"}
    assert canonical("abfss://c@moon.dfs.core.windows.net/a/b.h5") == "az://c/a/b.h5"
    assert resolve("az://c/a/b.h5", {"account_key": "aHVzaA=="})["account_name"] == "moon"
    assert canonical("gcs://b/k") == "gs://b/k"
    assert canonical("https://h/k") == "https://h/k"


def test_keys_of_earthdata_are_options() -> None:
    given = {"accessKeyId": "id", "secretAccessKey": "hush", "sessionToken": "t", "expiration": "2099-01-01"}
    expected = {"access_key_id": "id", "secret_access_key": "hush", "session_token": "t"}
    assert resolve("s3://b", given) == resolve("s3://b", {"credentials": given}) == expected


def test_a_function_is_registered_once_and_never_leaves_the_process(tmp_path: Path) -> None:
    def keys() -> dict[str, str]:
        return {"accessKeyId": "id", "secretAccessKey": "hush", "expiration": "2099-01-01 00:00:00+00:00"}

    options = resolve("s3://b", {"credentials": keys, "region": "eu-1"})
    assert options == resolve("s3://b", {"credentials": keys, "region": "eu-1"})
    assert without_secrets(options) == {"region": "eu-1"}
    assert with_keys(options) == {"region": "eu-1", "access_key_id": "id", "secret_access_key": "hush"}
    repo = icecore.create(tmp_path / "r.icecore", storage={"credentials": keys, "region": "eu-1"})
    again = pickle.loads(pickle.dumps(repo))
    assert again.url == repo.url
    assert b"hush" not in pickle.dumps(repo)
    assert b"callable" not in pickle.dumps(repo)


@pytest.mark.parametrize(
    "secret", ["account_key", "sas_token", "token", "header.authorization", "unheard_of"]
)
def test_only_known_options_are_pickled(secret: str) -> None:
    assert without_secrets({secret: "hush", "region": "eu-1"}) == {"region": "eu-1"}


def test_options_of_an_address_are_for_it_alone() -> None:
    given = {"key": "own", "s3a://archive/": {"anon": True}, "s3://archive/deep.aws_region": "eu"}
    found = resolve("s3://own/r", given)
    assert found == {
        "access_key_id": "own",
        "s3://archive.anonymous": "true",
        "s3://archive/deep.region": "eu",
    }
    assert resolve("s3://own/r", found) == found
    assert options_for("s3://archive/x", found) == {"anonymous": "true"}
    assert options_for("s3://archive/deep/x", found) == {"region": "eu"}
    assert options_for("s3://archive2", found) == {"access_key_id": "own"}
    assert without_secrets(resolve("s3://b", {"s3://c": {"key": "id", "region": "r"}})) == {
        "s3://c.region": "r"
    }
    with pytest.raises(Error, match="names no option"):
        resolve("s3://own", {"s3://archive": "x"})


def test_options_on_the_command_line_may_have_an_address() -> None:
    pairs = ["s3://b/year=2026.region=eu", "https://h:80.header.cookie=a=b", "secret=c=d"]
    assert settings(pairs) == {
        "s3://b/year=2026.region": "eu",
        "https://h:80.header.cookie": "a=b",
        "secret": "c=d",
    }


def test_no_option_reaches_another_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_stores, "_options", {})
    object_stores.remember("s3://mine/a.json", {"key": "hush", "endpoint": "http://h:1"})
    assert object_stores.options_of("s3://other/x") == {}
    object_stores.grant("s3://other/x", "s3://mine/a.json")
    assert object_stores.options_of("s3://other/x")["access_key_id"] == "hush", "named by a file of that call"
    object_stores.grant("gs://third/x", "s3://mine/a.json")
    assert object_stores.options_of("gs://third/x") == {}
    object_stores.remember("refs.json", {"key": "hush"})
    object_stores.remember("later.json", None)
    object_stores.grant("s3://fourth/x", "later.json")
    assert object_stores.options_of("s3://fourth/x") == {}
    object_stores.remember("https://h/x", {"header.authorization": "hush"})
    assert object_stores.headers_of("https://h/y") == {"authorization": "hush"}
    assert object_stores.headers_of("https://h2/y") == object_stores.headers_of("http://h/y") == {}


def test_profiles_that_log_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "p.sh"
    program.write_text('#!/bin/sh\necho \'{"Version":1,"AccessKeyId":"a","SecretAccessKey":"hush"}\'\n')
    program.chmod(0o700)
    (tmp_path / "config").write_text(
        f"[profile proc]\nregion = eu\ncredential_process = {program}\n"
        "[profile bad]\ncredential_process = /nowhere/at/all\n"
        "[profile sso]\nsso_session = s\n[profile role]\nrole_arn = r\nsource_profile = proc\n"
        "[profile minio]\naws_access_key_id = k\nservices = mine\n"
        "[services mine]\ns3 =\n  endpoint_url = http://h:9\n"
    )
    found = resolve("s3://b", {"profile": "proc"})
    assert found["region"] == "eu"
    assert found == resolve("s3://b", {"profile": "proc"}), "one function for one profile"
    assert with_keys(found) == {"region": "eu", "access_key_id": "a", "secret_access_key": "hush"}
    with pytest.raises(Error, match="credential_process of AWS profile bad"):
        with_keys(resolve("s3://b", {"profile": "bad"}))
    assert resolve("s3://b", {"profile": "minio"}) == {"access_key_id": "k", "endpoint_url": "http://h:9"}
    monkeypatch.setattr("icecore.repository.storage.aws_profiles.find_spec", lambda _: None)
    for name, login in (("sso", "sso_session"), ("role", "role_arn")):
        with pytest.raises(Error, match=f"AWS profile {name} logs in with {login}") as error:
            resolve("s3://b", {"profile": name})
        assert error.value.kind == "unsupported"
    assert resolve("s3://b", {"profile": "sso", "key": "k", "secret": "s"})["access_key_id"] == "k"
