"""What frames state about a channel: compared between files, kept, and applied where gwpy applies it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from frames_kit import NS, Chan, Kit, Vector
from icecore import errors

T0 = 1_400_000_000
RATE = 16


def ramp(second: int, seconds: int = 1, dtype: str = "f8", rate: int = RATE) -> np.ndarray:
    return np.arange(second * rate, (second + seconds) * rate).astype(dtype)


def write(path: Path, second: int, *channels: Chan, kit: Kit | None = None) -> Path:
    """One frame of a second."""
    return (kit or Kit()).write(path, [((T0 + second) * NS, NS, list(channels))])


def channel(
    second: int, name: str = "H1:X", dtype: str = "f8", kind: str = "FrAdcData", **facts: Any
) -> Chan:
    return Chan(name, [Vector(ramp(second, 1, dtype), RATE)], kind, **facts)


@pytest.mark.parametrize("verb", ["link", "pack"])
@pytest.mark.parametrize(
    ("fact", "values", "word"),
    [
        ("unit", ("counts", "V"), "unit"),
        ("slope", (0.5, 0.25), "slope"),
        ("bias", (1.0, 2.0), "bias"),
        ("shift", (0.0, 100.0), "frequency shift"),
        ("unit", ("0:A 1:B", "0:A 1:C"), "unit"),
        ("unit", ("", "V"), "unit"),
    ],
)
def test_a_fact_that_changes_begins_an_array(
    tmp_path: Path, fact: str, values: tuple[Any, Any], word: str, verb: str
) -> None:
    for second in range(4):  # back and forth
        write(
            tmp_path / f"f/{second}.gwf", second, channel(second, "V1:X", "i4", **{fact: values[second % 2]})
        )
    report = getattr(icecore, verb)(tmp_path / "f", tmp_path / "r.icecore")
    [note] = [note for note in report.notes if note.kind == "changed"]
    assert (
        f"from GPS {T0 + 1}.000000000: the {word} changed from {values[0]!r} to {values[1]!r}" in note.message
    )
    repo = icecore.open(tmp_path / "r.icecore")
    assert sorted(repo.arrays) == ["/V1/X", f"/V1/X.{T0 + 1}"]
    for path, seconds in (("/V1/X", (0, 2)), (f"/V1/X.{T0 + 1}", (1, 3))):
        assert repo[path].segments == [((T0 + s) * NS, (T0 + s + 1) * NS) for s in seconds]
        there = repo[path].between(T0, T0 + 4, gaps="ignore")
        np.testing.assert_array_equal(there, np.concatenate([ramp(s, 1, "i4") for s in seconds]))
    attrs = [dict(repo[path].attrs) for path in sorted(repo.arrays)]
    for each in attrs:
        each.pop("icecore_time")
    assert attrs[0] != attrs[1]


@pytest.mark.parametrize("verb", ["link", "pack"])
def test_files_with_another_fact_are_not_appended(tmp_path: Path, verb: str) -> None:
    run = getattr(icecore, verb)
    run(write(tmp_path / "0.gwf", 0, channel(0, unit="counts")), tmp_path / "r.icecore")
    other = write(tmp_path / "1.gwf", 1, channel(1, unit="V"))
    with pytest.raises(errors.Error, match="the unit changed from 'counts' to 'V'") as caught:
        run(other, tmp_path / "r.icecore", concat="time", append=True)
    assert caught.value.kind == "mismatch"
    assert icecore.open(tmp_path / "r.icecore")["/H1/X"].shape == (RATE,)
    run(
        write(tmp_path / "2.gwf", 2, channel(2, unit="counts")),
        tmp_path / "r.icecore",
        concat="time",
        append=True,
    )
    assert icecore.open(tmp_path / "r.icecore")["/H1/X"].shape == (3 * RATE,)


def test_slope_and_bias_are_applied_where_gwpy_does(tmp_path: Path) -> None:
    pytest.importorskip("gwpy")
    channels = [
        channel(0, name, "i4", slope=0.5, bias=2.0, unit="V") for name in ("V1:X", "K1:X", "H1:X", "L0:X")
    ]
    icecore.link(write(tmp_path / "0.gwf", 0, *channels), tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    raw, scaled = ramp(0, 1, "i4"), ramp(0) * 0.5 + 2
    for path in ("/V1/X", "/K1/X"):
        assert (repo[path].attrs["scale_factor"], repo[path].attrs["add_offset"]) == (0.5, 2.0)
        assert icecore.gwpy(repo[path]).value.tolist() == scaled.tolist()
        assert icecore.gwpy(repo[path], scaled=False).value.tolist() == raw.tolist()
        assert repo[path].trend(points=1).max.tolist() == [scaled.max()]
    for path in ("/H1/X", "/L0/X"):
        assert (repo[path].attrs["adc_slope"], repo[path].attrs["adc_bias"]) == (0.5, 2.0)
        assert icecore.gwpy(repo[path]).value.tolist() == raw.tolist()
        assert icecore.gwpy(repo[path], scaled=True).value.tolist() == scaled.tolist()
        assert repo[path].trend(points=1).max.tolist() == [raw.max()]
    padded = icecore.gwpy(repo["/V1/X"], T0 - 1, T0 + 1, gaps="pad").value
    assert np.isnan(padded[:RATE]).all()
    assert padded[RATE:].tolist() == scaled.tolist()


@pytest.mark.parametrize("slope", [np.nan, np.inf, 0.0])
def test_slopes_without_a_meaning_are_kept_and_not_applied(tmp_path: Path, slope: float) -> None:
    file = write(tmp_path / "0.gwf", 0, channel(0, "V1:X", "i4", slope=slope, bias=1.0))
    for run in (icecore.link, icecore.pack):
        run(file, tmp_path / run.__name__)
        attrs = icecore.open(tmp_path / run.__name__)["/V1/X"].attrs
        assert np.array_equal(attrs["adc_slope"], slope, equal_nan=True)
        assert attrs["adc_bias"] == 1.0
        assert "scale_factor" not in attrs


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8", "i2"])
def test_bits_of_masks_in_any_type(tmp_path: Path, dtype: str) -> None:
    bits = {"i4": 31, "u4": 31, "i8": 63, "u8": 63, "f4": 23, "f8": 31, "i2": 15}[dtype]
    top = 1 << bits
    words = np.array([0, 1, top, top + 1] * 4, "u8")
    data = words.astype(dtype) if dtype[0] in "uf" else words.astype(f"u{dtype[1]}").view(dtype)
    mask = Chan("H1:ODC", [Vector(data, RATE, unit=f"0:DATA {bits}:OK")])
    icecore.link(write(tmp_path / "0.gwf", 0, mask, channel(0)), tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    assert repo["/H1/ODC"].attrs["flag_meanings"] == "DATA OK"
    for flag, expected in (("DATA", [0, 1, 0, 1]), ("OK", [0, 0, 1, 1])):
        found = repo["/H1/X"].between(T0, T0 + 1, gaps="pad", valid=flag)
        assert (~np.isnan(found)).astype(int).tolist() == expected * 4


def test_names_of_bits_that_do_not_fit_stay_a_unit(tmp_path: Path) -> None:
    mask = Chan("H1:ODC", [Vector(ramp(0, 1, "i2"), RATE, unit="0:DATA 31:OK")])
    icecore.link(write(tmp_path / "0.gwf", 0, mask), tmp_path / "r.icecore")
    assert icecore.open(tmp_path / "r.icecore")["/H1/ODC"].attrs["units"] == "0:DATA 31:OK"


@pytest.mark.parametrize("verb", ["link", "pack"])
def test_auxiliary_masks_are_arrays_and_apply(tmp_path: Path, verb: str) -> None:
    bad = np.zeros(4, "i2")
    bad[1] = 7
    aux = [Vector(bad, 4, "dataValid"), Vector(ramp(0, 1, "f4"), RATE, "noise")]
    write(tmp_path / "f/0.gwf", 0, channel(0, aux=aux))
    write(tmp_path / "f/1.gwf", 1, channel(1))  # no mask: valid
    write(tmp_path / "f/2.gwf", 2, channel(2, valid=1))  # all invalid
    getattr(icecore, verb)(tmp_path / "f", tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    assert set(repo.arrays) == {"/H1/X", "/H1/X.dataValid", "/H1/X.noise"}
    np.testing.assert_array_equal(repo["H1:X.noise"][...], ramp(0, 1, "f4"))
    found = repo["/H1/X"].between(T0, T0 + 3, gaps="pad", valid="dataValid")
    gone = np.isnan(found).reshape(3, 4, 4).all(axis=2)
    assert gone.tolist() == [[False, True, False, False], [False] * 4, [True] * 4]
    assert not np.isnan(repo["/H1/X"].between(T0, T0 + 3)).any()


def test_masks_of_chosen_channels_are_taken_too(tmp_path: Path) -> None:
    aux = [Vector(np.zeros(4, "i2"), 4, "dataValid")]
    file = write(tmp_path / "0.gwf", 0, channel(0, aux=aux), channel(0, "H1:Y", aux=aux))
    icecore.link(file, tmp_path / "r.icecore", variables="H1:X")
    assert set(icecore.open(tmp_path / "r.icecore").arrays) == {"/H1/X", "/H1/X.dataValid"}


@pytest.mark.parametrize("toc", [True, False])
@pytest.mark.parametrize("version", [4, 6, 8])
def test_of_several_vectors_the_one_of_the_name_is_the_channel(
    tmp_path: Path, version: int, toc: bool
) -> None:
    mask = Vector(np.array([7], "i4"), 1, "V1:mask")
    twice = Vector(ramp(1), RATE, "V1:H")
    chan = Chan("V1:H", [mask, Vector(ramp(0), RATE, unit="strain"), twice])
    write(tmp_path / "0.gwf", 0, chan, kit=Kit(version, toc=toc))
    icecore.link(tmp_path / "0.gwf", tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    assert set(repo.arrays) == {"/V1/H", "/V1/H.mask", "/V1/H.other"}
    np.testing.assert_array_equal(repo["V1:H"][...], ramp(0))
    np.testing.assert_array_equal(repo["/V1/H.mask"][...], [7])
    np.testing.assert_array_equal(repo["/V1/H.other"][...], ramp(1))


class Circle(Kit):
    """Vectors in a circle: the last points at the first."""

    def chain(self, vectors: list[Vector], first: int, channel: str) -> bytes:
        after = [self.pointer(7, first + (i + 1) % len(vectors)) for i in range(len(vectors))]
        bodies = [self.vector(vector, channel) + after[i] for i, vector in enumerate(vectors)]
        return b"".join(self.structure(7, first + i, body) for i, body in enumerate(bodies))


def test_vectors_that_point_at_each_other_end(tmp_path: Path) -> None:
    file = write(tmp_path / "0.gwf", 0, channel(0), kit=Circle())
    report = icecore.link(file, tmp_path / "r.icecore", keep_going=True)
    assert any("circle" in failure.message for failure in report.failures)
    np.testing.assert_array_equal(icecore.open(tmp_path / "r.icecore")["/H1/X"][...], ramp(0))


def test_other_structures_are_named(tmp_path: Path) -> None:
    file = tmp_path / "0.gwf"
    Kit().write(
        file, [(T0 * NS, NS, [channel(0)])], {"FrSerData": ["H1:SLOW", "H1:SLOWER"], "FrEvent": ["CBC"]}
    )
    report = icecore.link(file, tmp_path / "r.icecore")
    said = " ".join(note.message for note in report.notes)
    assert "FrSerData: H1:SLOW, H1:SLOWER" in said
    assert "events: 1 CBC" in said


@pytest.mark.parametrize(
    ("names", "paths"),
    [
        (("H1:A/B", "H1:A_B"), ("/H1/A_B", "/H1/A_B.2")),
        (("H1", "H1:X"), ("/H1.2", "/H1/X")),
        (("H1:X", "H1:__icecore__", "H1:.."), ("/H1/X", "/H1/__icecore__.2", "/H1/__")),
    ],
)
def test_channels_of_one_path_are_both_there(
    tmp_path: Path, names: tuple[str, ...], paths: tuple[str, ...]
) -> None:
    channels = [Chan(name, [Vector(ramp(i), RATE)]) for i, name in enumerate(names)]
    icecore.link(write(tmp_path / "0.gwf", 0, *channels), tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    assert set(repo.arrays) == set(paths)
    for i, (name, path) in enumerate(zip(names, paths, strict=True)):
        np.testing.assert_array_equal(repo[path][...], ramp(i))
        if ":" in name:
            assert repo[name].path == path


def test_a_channel_is_not_appended_to_another(tmp_path: Path) -> None:
    icecore.link(write(tmp_path / "0.gwf", 0, channel(0, "H1:A/B")), tmp_path / "r.icecore")
    with pytest.raises(errors.Error, match="channel changed from 'H1:A/B' to 'H1:A_B'"):
        icecore.link(
            write(tmp_path / "1.gwf", 1, channel(1, "H1:A_B")),
            tmp_path / "r.icecore",
            concat="time",
            append=True,
        )


@pytest.mark.parametrize("kind", ["FrAdcData", "FrProcData", "FrSimData"])
@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("version", [4, 6, 8])
def test_raw_vectors_have_the_byte_order_of_the_file(
    tmp_path: Path, version: int, big: bool, kind: str
) -> None:
    for flag in (None, False, True):  # FrameL writes 0 in files of either order
        for compress in (0, 1, 3):
            channels = [
                Chan(f"H1:{dtype}", [Vector(ramp(0, 1, dtype), RATE, compress=compress, flag=flag)], kind)
                for dtype in ("f4", "f8", "i2", "i4", "u4", "c8", "c16")
            ]
            name = f"{flag}-{compress}"
            write(tmp_path / f"{name}.gwf", 0, *channels, kit=Kit(version, big))
            icecore.link(tmp_path / f"{name}.gwf", tmp_path / name)
            repo = icecore.open(tmp_path / name)
            for chan in channels:
                np.testing.assert_array_equal(repo[chan.name][...], chan.vectors[0].data, err_msg=name)


@pytest.mark.parametrize("compress", [0, 1])
def test_pack_verifies_the_checksums_of_vectors(tmp_path: Path, compress: int) -> None:
    data = np.random.default_rng(5).normal(size=RATE)
    bad, good = Chan("H1:X", [Vector(data, RATE, compress=compress)]), channel(0, "H1:Y")
    file = write(tmp_path / "0.gwf", 0, bad, good)
    content = bytearray(file.read_bytes())
    at = content.index(b"H1:X\0", content.index(b"H1:X\0") + 1) + 40
    content[at] ^= 4
    file.write_bytes(content)
    with pytest.raises(errors.Error, match=r"0\.gwf: H1:X at offset \d+: wrong checksum") as caught:
        icecore.pack(file, tmp_path / "r.icecore")
    assert caught.value.kind == "corrupt"
    with pytest.raises(errors.Error, match="wrong checksum"):
        icecore.link(file, tmp_path / "l.icecore", deep=True)
    assert icecore.link(file, tmp_path / "l.icecore").rows
    for run, more in ((icecore.pack, {}), (icecore.link, {"deep": True})):
        report = run(file, tmp_path / f"{run.__name__}.icecore", keep_going=True, **more)
        assert any("checksum" in failure.message for failure in report.failures)
        assert set(icecore.open(tmp_path / f"{run.__name__}.icecore").arrays) == {"/H1/Y"}
