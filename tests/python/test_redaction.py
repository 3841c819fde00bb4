"""Secrets of addresses: neither printed nor stored."""

from __future__ import annotations

import re
from pathlib import Path

import icecore
import pytest
from icecore.errors import make
from icecore.redaction import _SECRETS, has_login, is_signed, redact, unsigned

ENGINE = Path(__file__).parents[2] / "crates/icecore-grid/src/redact.rs"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no address: a?b", "no address: a?b"),
        ("https://h/f.h5?x=1&y=2 failed", "https://h/f.h5?x=1&y=2 failed"),
        (
            "https://h/f?X-Amz-Expires=9&X-Amz-Signature=abc, why",
            "https://h/f?X-Amz-Expires=9&X-Amz-Signature=***, why",
        ),
        ("GET https://ann:p@ss@h:80/f (ann)", "GET https://***@h:80/f (ann)"),
        ("s3://b/user@host/f", "s3://b/user@host/f"),
        ("'https://h/f?sv=1&SIG=a%2Bb%3D'", "'https://h/f?sv=1&SIG=***'"),
        ("/f?token=é\nnext", "/f?token=***\nnext"),
        ("a://b@c?key=1&key=2", "a://***@c?key=***&key=***"),
    ],
)
def test_secrets_are_hidden_and_the_rest_stays(text: str, shown: str) -> None:
    assert redact(text) == shown
    error = make("invalid", text, text)
    assert (error.message, error.hint) == (shown, shown)
    assert str(error).startswith(shown)


def test_the_engine_hides_the_same_parameters() -> None:
    listed = ENGINE.read_text().split("const SECRETS", 1)[1].split("];", 1)[0]
    assert sorted(re.findall(r'"([^"]+)"', listed)) == sorted(_SECRETS.split("|"))


@pytest.mark.parametrize(
    ("signed", "bare"),
    [
        ("https://h/f?X-Amz-Algorithm=A&X-Amz-Date=1&X-Amz-Signature=s", "https://h/f"),
        ("https://h/f?versionId=3&X-Goog-Expires=1&X-Goog-Signature=s", "https://h/f?versionId=3"),
        ("https://h/f?sv=2020&st=1&se=2&sr=b&sp=r&sig=s", "https://h/f"),
        ("https://h/f?AWSAccessKeyId=a&Signature=s&Expires=1", "https://h/f"),
        ("https://h/f?access_token=t", "https://h/f"),
    ],
)
def test_addresses_without_their_signatures(signed: str, bare: str) -> None:
    assert is_signed(signed)
    assert unsigned(signed) == bare
    assert not is_signed(bare)


def test_logins() -> None:
    assert has_login("https://a:b@h/x")
    assert not has_login("https://h/x@y")
    assert not has_login("/a@b")


def test_a_repository_stores_no_secret(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "r").writer() as writer:
        writer.array("/x", "i4", (4,), codec="none")
        writer._native.allow_container("https://h/")
        import numpy as np

        one = np.zeros(1, "u8")
        with pytest.raises(icecore.Error) as error:
            writer._native.set_links(
                "/x", ["https://h/f?sig=hush"], [16], [-1], [None], one.astype("u4"), one, one, one + 16
            )
    assert error.value.kind == "permission"
    assert "hush" not in str(error.value)
