"""``atl06`` against the published algorithm in NumPy, planted surfaces, invariances and real granules."""

from __future__ import annotations

import h5py
import icecore
import numpy as np
import pytest
from products_kit import REAL, granule, reference

pa = pytest.importorskip("pyarrow")
pytest.importorskip("shapely")
EPOCH = np.datetime64("2018-01-01T00:00:00", "ns")
CLIP = REAL / "atl03_clip.h5"
real = pytest.mark.skipif(not CLIP.exists(), reason="the real granules are not here")
#: largest difference of the kernel from the reference: the type of the column, and the size of the values
NEAR = {"h_mean": 1e-7, "x_atc": 1e-6, "latitude": 1e-10, "longitude": 1e-10}
SINGLE = ("dh_fit_dx", "window_height", "rms_misfit", "h_sigma", "y_atc")


def check(found, expected):
    """Compare columns with the reference's rows."""
    assert len(found["x_atc"]) == len(expected) > 0
    for name in ("photon_start", "photon_count", "pflags"):
        assert found[name].tolist() == [row[name] for row in expected], name
    for name, near in NEAR.items():
        np.testing.assert_allclose(
            found[name], [row[name] for row in expected], rtol=0, atol=near, err_msg=name
        )
    for name in SINGLE:
        wanted = np.array([row[name] for row in expected])
        np.testing.assert_allclose(found[name], wanted, rtol=3e-7, atol=1e-7, err_msg=name)
    seconds = (found["time"] - EPOCH) / np.timedelta64(1, "s")
    np.testing.assert_allclose(seconds, [row["seconds"] for row in expected], rtol=0, atol=1e-6)


@real
@pytest.mark.parametrize(
    ("given", "same"),
    [
        ({}, {}),
        ({"cnf": -2, "quality_ph": [0, 1, 2, 3]}, {"cnf": range(-2, 5), "quality": range(4)}),
        (
            {"srt": "land", "cnf": [3, 4], "len": 100, "res": 30},
            {"surface": 0, "cnf": (3, 4), "length": 100.0, "step": 30.0},
        ),
        ({"len": 15, "res": 50, "ats": 5, "cnt": 3}, {"length": 15.0, "step": 50.0, "ats": 5.0, "cnt": 3}),
        (
            {"cnf": 0, "fit": {"maxi": 2, "H_min_win": 20, "sigma_r_max": 1}},
            {"cnf": range(5), "maxi": 2, "window": 20.0, "sigma": 1.0},
        ),
    ],
)
def test_real_photons_give_what_the_published_algorithm_gives(given, same):
    check(icecore.run("atl06", CLIP, **given).to_numpy(), reference(CLIP, "gt1r", **same))


@pytest.mark.parametrize("noise", [0, 30])
@pytest.mark.parametrize("cnf", [4, 0])
def test_planted_photons_give_what_the_published_algorithm_gives(tmp_path, noise, cnf):
    path = granule(tmp_path / "a.h5", noise=noise)
    found = icecore.run("atl06", path, cnf=cnf, t0="2018-01-01").to_numpy()
    check(found, reference(path, "gt1l", cnf=range(cnf, 5)))


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_planted_surface_is_found(tmp_path, slope):
    path = granule(
        tmp_path / "a.h5",
        segments=500,
        signal=100,
        noise=30,
        sigma=0.2,
        height=lambda x: 50 + slope * (x - 8e6),
    )
    found = icecore.run("atl06", path, cnf=0).to_numpy()
    inside = (found["x_atc"] > 8e6 + 40) & (found["x_atc"] < 8e6 + 9960) & (found["pflags"] == 0)
    error = found["h_mean"] - (50 + slope * (found["x_atc"] - 8e6))
    assert inside.sum() > 400
    assert abs(error[inside].mean()) < 0.01
    # About 200 photons of 0.2 m and some background in a window of a few metres.
    assert error[inside].std() < 0.1
    assert np.abs(found["dh_fit_dx"][inside] - slope).max() < 0.05
    # Without background the scatter is what h_sigma says.
    found = icecore.run("atl06", path, cnf=4).to_numpy()
    error = found["h_mean"] - (50 + slope * (found["x_atc"] - 8e6))
    assert 0.8 < error.std() / found["h_sigma"].mean() < 1.25


def test_a_shift_in_height_and_time_shifts_the_result(tmp_path):
    path = granule(tmp_path / "a.h5", noise=20)
    before = icecore.run("atl06", path, cnf=0).to_numpy()
    with h5py.File(path, "r+") as file:
        for beam in file.values():
            if "heights" in beam:
                beam["heights/h_ph"][...] += np.float32(256)
                for name in ("heights", "geolocation", "bckgrd_atlas"):
                    beam[f"{name}/delta_time"][...] += 1000.0
    after = icecore.run("atl06", path, cnf=0).to_numpy()
    np.testing.assert_allclose(after["h_mean"] - before["h_mean"], 256, atol=1e-4)
    assert np.abs((after["time"] - before["time"]) / np.timedelta64(1, "ns") - 1e12).max() < 200
    assert (after["photon_count"] == before["photon_count"]).all()


def test_the_order_of_photons_in_a_segment_does_not_matter(tmp_path):
    path = granule(tmp_path / "a.h5", noise=20)
    before = icecore.run("atl06", path, cnf=0).to_numpy()
    with h5py.File(path, "r+") as file:
        counts = file["gt1l/geolocation/segment_ph_cnt"][...]
        key = np.random.default_rng(3).uniform(size=counts.sum()) + np.repeat(np.arange(len(counts)), counts)
        for values in file["gt1l/heights"].values():
            values[...] = values[...][np.argsort(key)]
    after = icecore.run("atl06", path, cnf=0).to_numpy()
    np.testing.assert_allclose(after["h_mean"], before["h_mean"], rtol=0, atol=1e-9)
    assert (after["photon_count"] == before["photon_count"]).all()


def test_pieces_and_beams_do_not_change_the_result(tmp_path, monkeypatch):
    path = granule(tmp_path / "a.h5", beams=("gt1l", "gt3r"), segments=300)
    whole = icecore.run("atl06", path).read_all()
    monkeypatch.setattr("icecore.products.atl03._PIECE", 700)
    seen = []
    pieces = icecore.run("atl06", path, progress=lambda *call: seen.append(call)).read_all()
    assert pieces.equals(whole)
    assert len(seen) > 40
    assert set(whole["gt"].to_pylist()) == {10, 60}
    assert set(whole["spot"].to_pylist()) == {6, 1}


def test_segments_of_atl03_as_extents(tmp_path):
    path = granule(tmp_path / "a.h5")
    found = icecore.run("atl06", path, dist_in_seg=True, len=2, res=1).to_numpy()
    with h5py.File(path) as file:
        geo = {
            name: file[f"gt1l/geolocation/{name}"][...]
            for name in ("segment_id", "segment_dist_x", "segment_ph_cnt")
        }
    # The centre of two segments is the start of the second.
    at = np.searchsorted(geo["segment_id"], found["segment_id"])
    has_photons = geo["segment_ph_cnt"][at] > 0
    np.testing.assert_allclose(found["x_atc"][has_photons], geo["segment_dist_x"][at][has_photons], atol=1e-6)
    with pytest.raises(icecore.Error, match="whole numbers of segments"):
        icecore.run("atl06", path, dist_in_seg=True, len=1.5)


def test_ancillary_floats_are_fitted_and_flags_are_picked(tmp_path):
    path = granule(tmp_path / "a.h5", segments=400)
    found = icecore.run(
        "atl06",
        path,
        atl03_geo_fields=["solar_elevation", "podppd_flag"],
        atl03_corr_fields="geoid,dem_flag",
        atl03_ph_fields=["weight_ph"],
    ).read_all()
    columns = {name: found[name].to_numpy() for name in found.column_names}
    expected = np.interp(columns["x_atc"], 8e6 + 10 + 20 * np.arange(400), np.linspace(30, 31, 400))
    assert np.abs(columns["geoid"] - expected).max() < 0.01
    assert columns["dem_flag"].dtype == "i1"
    assert set(columns["dem_flag"]) == {0, 1}
    assert set(columns["podppd_flag"]) == {0, 1, 2}
    assert columns["weight_ph"].dtype == "u1"
    with pytest.raises(icecore.Error, match="no one-dimensional dataset of numbers velocity"):
        icecore.run("atl06", path, atl03_geo_fields=["velocity"])
    with pytest.raises(icecore.Error, match="h_mean is a column already"):
        icecore.run("atl06", path, atl03_ph_fields=["h_mean"])


@real
def test_classes_of_atl08_select_photons():
    options = {"srt": "land", "cnf": -2, "cnt": 3, "quality_ph": [0, 1, 2, 3]}
    other = REAL / "atl08_clip.h5"
    with h5py.File(CLIP) as photons, h5py.File(other) as file:
        signal = file["gt1r/signal_photons"]
        times = set(signal["delta_time"][...][signal["classed_pc_flag"][...] == 3].tolist())
        top = np.isin(photons["gt1r/heights/delta_time"][...], list(times))
    found = icecore.run("atl06", CLIP, atl08=[other], atl08_class="atl08_top_of_canopy", **options).to_numpy()
    every = icecore.run("atl06", CLIP, atl08=str(other), atl08_class=[0, 1, 2, 3, 4], **options).to_numpy()
    assert top[found["photon_start"]].all()
    assert every["photon_count"].sum() > found["photon_count"].sum()
    assert len(every["h_mean"]) == len(icecore.run("atl06", CLIP, **options).to_numpy()["h_mean"])
    with pytest.raises(icecore.Error, match="need each other"):
        icecore.run("atl06", CLIP, atl08_class=1)


def test_a_polygon_reads_only_its_photons(tmp_path):
    path = granule(tmp_path / "a.h5", segments=2000, signal=90)
    repo = icecore.create(tmp_path / "r.icecore")
    icecore.link(path, repo, summaries=True)
    whole = icecore.run("atl06", f"{tmp_path}/r.icecore").to_numpy()
    south, north = np.degrees((8e6 + 20_000 + np.array([0, 800])) / 6_378_137.0)
    ring = [[-46, south], [-44, south], [-44, north], [-46, north]]
    inside = icecore.run("atl06", f"{tmp_path}/r.icecore", poly=ring).to_numpy()
    points = [{"lon": x, "lat": y} for x, y in ring]
    box = icecore.run("atl06", path, box=[-46, south, -44, north]).to_numpy()
    assert (box["h_mean"] == inside["h_mean"]).all()
    assert len(icecore.run("atl06", path, poly=points).to_numpy()["x_atc"]) == len(inside["x_atc"])
    assert 36 <= len(inside["x_atc"]) <= 42
    # Extents that lie inside completely are those of the whole granule.
    at = np.searchsorted(whole["x_atc"], inside["x_atc"][2:-2])
    assert (whole["h_mean"][at] == inside["h_mean"][2:-2]).all()


def test_a_track_across_the_antimeridian(tmp_path):
    path = granule(tmp_path / "a.h5", lon=179.999)
    found = icecore.run("atl06", path).to_numpy()
    assert (np.abs(found["longitude"]) > 179.9).all()
    assert (np.abs(found["longitude"]) <= 180).all()
    assert {True, False} == set((found["longitude"] > 0).tolist())
    ring = [[179.9, 70], [-179.9, 70], [-179.9, 73], [179.9, 73]]
    assert len(icecore.run("atl06", path, poly=ring).to_numpy()["h_mean"]) == len(found["h_mean"])


def test_beams_spots_and_times(tmp_path):
    path = granule(tmp_path / "a.h5", beams=("gt1l", "gt2r"), orient=0)
    assert set(icecore.run("atl06", path, beams="gt2r").to_numpy()["gt"]) == {40}
    assert set(icecore.run("atl06", path, spots=[1, 2]).to_numpy()["gt"]) == {10}
    times = icecore.run("atl06", path).to_numpy()["time"]
    middle = str(times[len(times) // 4])
    early = icecore.run("atl06", path, t1=middle).to_numpy()["time"]
    late = icecore.run("atl06", path, t0=middle).to_numpy()["time"]
    assert 0 < len(early) < len(times)
    assert early.max() <= np.datetime64(middle) + np.timedelta64(5, "ms")
    assert late.min() >= np.datetime64(middle) - np.timedelta64(5, "ms")


def test_extents_with_too_few_photons_are_returned_if_asked_for(tmp_path):
    path = granule(tmp_path / "a.h5", signal=4, noise=0)
    assert len(icecore.run("atl06", path, cnt=30).to_numpy()["h_mean"]) == 0
    found = icecore.run("atl06", path, cnt=30, pass_invalid=True).to_numpy()
    assert len(found["h_mean"]) > 150
    assert (found["pflags"] & 2 > 0).all()


def test_an_empty_result_has_its_columns(tmp_path):
    found = icecore.run("atl06", granule(tmp_path / "a.h5"), poly=[[0, 0], [1, 0], [1, 1]]).read_all()
    assert found.num_rows == 0
    assert found.column_names[:4] == ["time", "latitude", "longitude", "h_mean"]


def test_missing_datasets_are_named(tmp_path):
    path = granule(tmp_path / "a.h5")
    with h5py.File(path, "r+") as file:
        del file["gt1l/heights/quality_ph"]
        del file["gt1l/bckgrd_atlas"]
    with pytest.raises(
        icecore.Error, match="lacks heights/quality_ph, bckgrd_atlas/delta_time, bckgrd_atlas"
    ) as caught:
        icecore.run("atl06", path)
    assert caught.value.kind == "not-found"
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["x"] = np.arange(3.0)
    with pytest.raises(icecore.Error, match="lacks beams"):
        icecore.run("atl06", tmp_path / "b.h5")


def test_segments_that_do_not_fit_the_photons_are_damage(tmp_path):
    path = granule(tmp_path / "a.h5")
    with h5py.File(path, "r+") as file:
        file["gt1l/geolocation/segment_ph_cnt"][-1] = 10**6
    with pytest.raises(icecore.Error, match=r"segments have 1,0\d\d,\d+ photons \(heights have") as caught:
        icecore.run("atl06", path).read_all()
    assert caught.value.kind == "corrupt"


def test_a_damaged_granule_fails_the_product_or_is_reported(tmp_path):
    good, bad = granule(tmp_path / "a.h5"), granule(tmp_path / "b.h5", seed=2)
    with h5py.File(bad) as file:
        chunk = file["gt1l/heights/h_ph"].id.get_chunk_info(0)
    with open(bad, "r+b") as file:
        file.seek(chunk.byte_offset + 8)
        file.write(b"\xff" * 64)
    with pytest.raises(icecore.Error, match=r"b\.h5"):
        icecore.run("atl06", [good, bad]).read_all()
    rows = icecore.run("atl06", [good, bad], keep_going=True)
    table = rows.read_all()
    assert set(table["source"].to_pylist()) == {str(good)}
    assert [failure.name for failure in rows.failures] == [f"{bad}:/gt1l"]


def test_a_repository_of_granules_names_the_granule_of_each_row(tmp_path):
    paths = [granule(tmp_path / f"ATL03_{i}.h5", beams=("gt1l", "gt2l"), seed=i) for i in range(3)]
    icecore.link(paths, tmp_path / "all.icecore", summaries=True)
    place = f"{tmp_path}/all.icecore"
    whole = icecore.run("atl06", place).read_all()
    assert list(dict.fromkeys(whole["source"].to_pylist())) == [f"{place}:/ATL03_{i}" for i in range(3)]
    files = icecore.run("atl06", paths).read_all()
    assert whole.drop_columns("source").equals(files.drop_columns("source"))
    one = icecore.run("atl06", f"{place}:/ATL03_1").read_all()
    assert "source" not in one.column_names
    assert one.num_rows == sum(each == f"{place}:/ATL03_1" for each in whole["source"].to_pylist())


def test_granules_of_atl08_are_matched_by_name(tmp_path):
    from icecore.products.atl03 import matching
    from icecore.products.inputs import Source

    known = [Source(f"ATL08_2018101400034{i}_02350101_006_02.h5", None, "/") for i in range(3)]
    found = matching(known, "data/ATL03_20181014000341_02350101_006_02.h5", False)
    assert found is known[1]
    assert matching(known[:1], "clip.h5", True) is known[0]
    with pytest.raises(icecore.Error, match=r"no ATL08 granule for clip\.h5"):
        matching(known[:1], "clip.h5", False)
