"""Numbers as people read them."""

from __future__ import annotations

import pytest
from icecore.display import text


@pytest.mark.parametrize(
    ("nbytes", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (999.7, "1 kB"),
        (1000, "1 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (999_600, "1 MB"),
        (1_234_567, "1.23 MB"),
        (999_999_999, "1 GB"),
        (-999_999, "-1 MB"),
        (999_999_999_999_999, "1 PB"),
        (12_345e15, "12,345 PB"),
    ],
)
def test_size(nbytes: float, shown: str) -> None:
    assert text.size(nbytes) == shown


@pytest.mark.parametrize("power", range(17))
def test_no_size_has_an_exponent(power: int) -> None:
    for mantissa in (1, 9.994, 9.995, 9.9951, 9.9999999):
        shown = text.size(mantissa * 10**power)
        assert "e" not in shown
        assert "1000" not in shown.replace(",", "")


@pytest.mark.parametrize(
    ("raw", "stored", "shown"),
    [
        (0, 0, "-"),
        (3, 1, "3x"),
        (10, 3, "3.33x"),
        (1234, 1, "1,234x"),
        (999.9, 1, "1,000x"),
        (1, 3, "0.333x"),
    ],
)
def test_ratio(raw: float, stored: float, shown: str) -> None:
    assert text.ratio(raw, stored) == shown
