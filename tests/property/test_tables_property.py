"""Whatever the table of text: the text comes back, and the values are those that were written."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from icecore import _icecore
from icecore.sources.mapping.table_file import Field, TableFile, TableSpec
from icecore.sources.tables.binary import binary
from icecore.sources.tables.delimited import sniff
from icecore.tables.text import column_types, print_format

COUNT = 80


def read(text: bytes, spec: TableSpec) -> tuple[dict[str, Any], list[np.ndarray], bytes]:
    """What the parser makes of a text whose print format is taken from its beginning, and the text again."""
    table = TableFile("t", "t", lambda: io.BytesIO(text), spec)
    body = text[spec.offset :]
    fmt, _ = print_format.infer(table, body[: max(len(body) // 2, 200)], "data", {})
    native = print_format.native(fmt)
    block = np.frombuffer(body, "u1")
    parsed = native.parse(block, True)
    assert parsed["used"] == len(body)
    # what a pack does: the same, printed again and compared on the way
    assert native.parse(block, True, True)["escapes"] == parsed["escapes"]
    values = [column_types.values(raw, c) for raw, c in zip(parsed["columns"], fmt["columns"], strict=True)]
    assert all(len(v) == parsed["rows"] for v in values)
    both = list(zip(values, fmt["columns"], strict=True))
    again, row, rest = text[: spec.offset], 0, parsed["escapes"]
    while rest:
        rows, used = _icecore.read_escapes(rest)
        again += b"".join(
            native.print([column_types.raw(v[row : row + rows], c) for v, c in both], rest[:used])
        )
        row, rest = row + rows, rest[used:]
    return parsed, values, again


FORMATS = st.sampled_from(
    ["%d", "%5d", "%05d", "%+d", "%.3f", "%10.4f", "%-9.2f", "%012.5f", "%.1e", "%12.5E", "%s", '"%s"', "%8s"]
)


@settings(max_examples=COUNT, deadline=None)
@given(
    formats=st.lists(FORMATS, min_size=2, max_size=6),
    numbers=st.lists(st.integers(-(10**6), 10**6), min_size=6, max_size=40),
    end=st.sampled_from(["\n", "\r\n"]),
    separator=st.sampled_from(",;\t|"),
)
def test_printed_numbers(formats: list[str], numbers: list[int], end: str, separator: str) -> None:
    rows = [
        [form % (n + i if "d" in form else (n + i) / 16) for i, form in enumerate(formats)] for n in numbers
    ]
    text = "".join(separator.join(row) + end for row in rows).encode()
    spec = TableSpec(
        "", "", "delimited", tuple(Field(f"c{i}") for i in range(len(formats))), separator=separator
    )
    parsed, values, again = read(text, spec)
    assert again == text
    assert parsed["rows"] == len(numbers)
    for i, form in enumerate(formats):
        if values[i].dtype.kind in "if" and "s" not in form:
            expected = [float(row[i].replace("E", "e")) for row in rows]
            # a column that is taken for whole numbers by its first rows has no value for others
            lost = {column for column, *_ in parsed["lost"]}
            if i not in lost:
                np.testing.assert_array_equal(values[i].astype("f8"), expected)


CELLS = st.text(alphabet="ab1.,\"'- \t\x00é", max_size=6)


@settings(max_examples=COUNT, deadline=None)
@given(
    rows=st.lists(st.lists(CELLS, min_size=1, max_size=5), min_size=2, max_size=30),
    ends=st.lists(st.sampled_from(["\n", "\r\n", "\r", "\n\n"]), min_size=1, max_size=3),
    cut=st.integers(0, 5),
)
def test_any_text(rows: list[list[str]], ends: list[str], cut: int) -> None:
    lines = [",".join(row) + ends[i % len(ends)] for i, row in enumerate(rows)]
    text = "".join(lines).encode("latin-1")
    text = text[: max(len(text) - cut, 1)]
    spec = sniff(text) or TableSpec("", "", "delimited", (Field("a"), Field("b")))
    _, _, again = read(text, spec)
    assert again == text


@settings(max_examples=COUNT, deadline=None)
@given(
    widths=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    body=st.binary(min_size=1, max_size=400),
    damage=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=4),
)
def test_any_fixed_rows(widths: list[int], body: bytes, damage: list[tuple[int, int]]) -> None:
    size = sum(widths)
    digits = bytes(b"0123456789. -+e"[b % 15] for b in body)
    rows = [digits[i : i + size].ljust(size) + b"\r\n" for i in range(0, len(digits), size)]
    text = bytearray(b"".join(rows * 3))
    for at, byte in damage:
        text[at % len(text)] = byte
    starts = np.cumsum([0, *widths])
    fields = tuple(Field(f"c{i}", int(starts[i]), width) for i, width in enumerate(widths))
    _, _, again = read(bytes(text), TableSpec("", "", "fixed", fields, row_bytes=size + 2))
    assert again == bytes(text)


TYPES = [
    ("MSB_INTEGER", 4),
    ("LSB_UNSIGNED_INTEGER", 2),
    ("VAX_REAL", 4),
    ("VAX_REAL", 8),
    ("VAXG_REAL", 8),
    ("PC_REAL", 4),
    ("IEEE754MSBDouble", 8),
    ("IEEE_COMPLEX", 8),
    ("SignedByte", 1),
    ("CHARACTER", 5),
    ("MSB_BIT_STRING", 3),
    ("ASCII_REAL", 5),
    ("ASCII_Integer", 3),
    ("BITS 3 12 i <", 2),
]


@settings(max_examples=COUNT, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(TYPES), min_size=1, max_size=6),
    gap=st.integers(0, 3),
    body=st.binary(min_size=1, max_size=900),
)
def test_any_binary_rows(kinds: list[tuple[str, int]], gap: int, body: bytes) -> None:
    fields, start = [], gap
    for i, (kind, length) in enumerate(kinds):
        fields.append(Field(f"c{i}", start, length, binary=kind))
        start += length + gap
    _, _, again = read(body, TableSpec("l", "", "binary", tuple(fields), row_bytes=start))
    assert again == body


def test_vax_floats() -> None:
    # PDS Standards Reference, appendix C; examples of DEC's VAX Architecture Reference Manual
    single = np.array([[0x80, 0x40, 0, 0], [0x80, 0xC0, 0, 0], [0x49, 0x41, 0xD0, 0x0F], [0, 0, 0, 0]], "u1")
    kind = binary("VAX_REAL", 4)
    np.testing.assert_array_equal(kind.decode(single), [1.0, -1.0, 0xC90FD0 / 2**22, 0.0])
    np.testing.assert_array_equal(kind.encode(kind.decode(single)), single)
    double = np.array([[0x49, 0x41, 0xDA, 0x0F, 0x21, 0xA2, 0xC2, 0x68]], "u1")
    assert binary("VAX_DOUBLE", 8).decode(double)[0] == np.pi
    g = np.array([[0x10, 0x40, 0, 0, 0, 0, 0, 0]], "u1")
    assert binary("VAXG_REAL", 8).decode(g)[0] == 1.0
