"""Repositories, groups and arrays as a user of NumPy and h5py meets them."""

from __future__ import annotations

import builtins
import copy
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest

RNG = np.random.default_rng(7)
T2M = RNG.normal(280, 10, (50, 14, 19)).astype("f4")
LAT = np.linspace(-60, 60, 14)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> icecore.Repo:
    path = tmp_path_factory.mktemp("api") / "test.icecore"
    with icecore.create(path).writer(message="first") as w:
        w.group("/wrf", {"title": "test", "levels": [1, 2, 3]})
        dims = ("time", "lat", "lon")
        a = w.array(
            "/wrf/t2m", "f4", T2M.shape, dims, chunks=(8, 5, 7), shards=(16, 10, 14), attrs={"units": "K"}
        )
        a[...] = T2M
        w.array("/wrf/lat", "f8", LAT.shape, ("lat",))[...] = LAT
        w.array("/names", str, (3,))[...] = np.array(["ä", "", "longer text"], "O")
        w.array("/answer", "i4", ())[...] = 42
        w.array("/empty", "f8", (0, 4))
    return icecore.open(path)


def test_import_is_light() -> None:
    code = (
        "import sys, icecore; heavy = {'xarray', 'h5py', 'rich', 'typer', 'matplotlib', 'zarr', 'pandas'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_properties(repo: icecore.Repo) -> None:
    a = repo["/wrf/t2m"]
    assert isinstance(a, icecore.Array)
    assert (a.shape, a.dims, a.ndim, a.size) == (T2M.shape, ("time", "lat", "lon"), 3, T2M.size)
    assert a.dtype == np.dtype("f4")
    assert (a.chunks, a.shards) == ((8, 5, 7), (16, 10, 14))
    assert a.attrs == {"units": "K"}
    assert a.nbytes == T2M.nbytes
    assert a.nbytes_stored > 0
    assert not a.linked
    assert a.codecs[0]["name"] == "bytes"
    assert a.fill_value == 0
    assert len(a) == 50
    assert a.name == "t2m"


SELECTIONS = [
    (),
    ...,
    3,
    -1,
    (slice(0, 10), slice(None), slice(None, None, 4)),
    (slice(None, None, -3), 2),
    ([0, 5, 49],),
    ([0, 5, 49], [1, 1, 2]),
    (np.array([[0, 1], [2, 3]]), ..., 4),
    (slice(1, 2), [3], [4]),
    T2M > 285,
    (np.arange(50) % 7 == 0,),
    (..., -1),
    (5, 6, 7),
    (np.int64(5), np.int32(6), 7),
    ([],),
    (slice(40, 10),),
    [1, 2],
    range(3, 6),
]


@pytest.mark.parametrize("sel", SELECTIONS, ids=str)
def test_indexing_is_numpys(repo: icecore.Repo, sel: object) -> None:
    a = repo["/wrf/t2m"]
    expected = T2M[sel]
    got = a[sel]
    np.testing.assert_array_equal(got, expected)
    assert np.shape(got) == np.shape(expected)
    assert isinstance(got, np.ndarray) == isinstance(expected, np.ndarray)


@pytest.mark.parametrize("mask", [True, False, np.True_, np.array(False), (..., True)], ids=repr)
def test_masks_of_scalars(repo_path: str, mask: Any) -> None:
    with icecore.create(repo_path).writer() as w:
        w.array("/s", "f8", ())[...] = 2.5
        w.array("/one", "f8", (1,))[...] = 2.5
    repo = icecore.open(repo_path)
    np.testing.assert_array_equal(repo["/s"][mask], np.array(2.5)[mask], strict=True)
    np.testing.assert_array_equal(repo["/s"].read(mask), np.array(2.5)[mask], strict=True)
    found = repo.read({"/s": mask, "/one": 0})
    np.testing.assert_array_equal(found["/s"], np.array(2.5)[mask], strict=True)
    assert repo["/s"].plan(mask).chunks == repo.plan({"/s": mask}).chunks == 1
    with pytest.raises(icecore.Error, match="adds an axis"):
        repo["/one"][mask]


def test_records_with_arrays_in_them_are_the_same_in_a_read_of_many(tmp_path: Path) -> None:
    records = np.zeros(4, [("a", "<i4"), ("b", "<f4", (3,))])
    records["b"] = np.arange(12).reshape(4, 3)
    np.save(tmp_path / "x.npy", records)
    icecore.link(tmp_path / "x.npy", tmp_path / "r", group="/")
    repo = icecore.open(tmp_path / "r")
    np.testing.assert_array_equal(repo.read({"/x": slice(1, 3)})["/x"], records[1:3], strict=True)
    out = np.zeros(4, records.dtype)
    assert repo.read({"/x": None}, out={"/x": out})["/x"] is out
    np.testing.assert_array_equal(out, records)


def test_scalars(repo: icecore.Repo) -> None:
    assert repo["/answer"][()] == 42
    assert isinstance(repo["/answer"][()], np.int32)
    assert repo["/answer"][...].shape == ()
    assert repo["/names"][2] == "longer text"
    assert repo["/names"][...].tolist() == ["ä", "", "longer text"]
    assert repo["/empty"][...].shape == (0, 4)


def test_selection_by_dimension(repo: icecore.Repo) -> None:
    a = repo["/wrf/t2m"]
    np.testing.assert_array_equal(a.read({"lon": slice(0, 3), "time": 4}), T2M[4, :, 0:3])
    with pytest.raises(IndexError, match="no dimension 'x'"):
        a.read({"x": 1})
    with pytest.raises(IndexError, match="an index can't be a string") as text:
        a["time=0"]
    assert "{'time': 0}" in text.value.hint  # type: ignore[attr-defined]


def test_oindex(repo: icecore.Repo) -> None:
    a = repo["/wrf/t2m"]
    np.testing.assert_array_equal(a.oindex[[0, 5], :, [1, 2, 3]], T2M[np.ix_([0, 5], range(14), [1, 2, 3])])


def test_points(repo: icecore.Repo) -> None:
    points = RNG.integers(0, [50, 14, 19], (200, 3))
    np.testing.assert_array_equal(repo["/wrf/t2m"].points(points), T2M[tuple(points.T)])
    assert repo["/wrf/t2m"].points([[-1, -1, -1]]) == T2M[-1, -1, -1]
    assert repo["/wrf/t2m"].points([]).shape == (0,)
    with pytest.raises(IndexError, match="shape"):
        repo["/wrf/t2m"].points([[1, 2]])
    with pytest.raises(IndexError):
        repo["/wrf/t2m"].points([[50, 0, 0]])


def test_out(repo: icecore.Repo) -> None:
    out = np.empty((2, 14, 19), "f4")
    assert repo["/wrf/t2m"].read(slice(3, 5), out=out) is out
    np.testing.assert_array_equal(out, T2M[3:5])
    part = np.zeros((4, 14, 19), "f4")
    repo["/wrf/t2m"].read(slice(3, 5), out=part[::2])
    np.testing.assert_array_equal(part[::2], T2M[3:5])
    with pytest.raises(icecore.Error) as caught:
        repo["/wrf/t2m"].read(slice(3, 5), out=np.empty((3, 14, 19), "f4"))
    assert caught.value.kind == "mismatch"


@pytest.mark.parametrize(
    "sel", [None, (0, None), 50, (0, 0, 0, 0), 1.5, "time", (..., ...), slice(0, 5, 0), [50]]
)
def test_what_is_no_selection(repo: icecore.Repo, sel: object) -> None:
    with pytest.raises(IndexError) as caught:
        repo["/wrf/t2m"][sel]
    assert caught.value.kind == "selection"


def test_many_arrays_in_one_read(repo: icecore.Repo) -> None:
    got = repo.read({"/wrf/t2m": (0, slice(2, 5)), "/wrf/lat": None, "names": [0, 2]})
    assert list(got) == ["/wrf/t2m", "/wrf/lat", "names"]
    np.testing.assert_array_equal(got["/wrf/t2m"], T2M[0, 2:5])
    np.testing.assert_array_equal(got["/wrf/lat"], LAT)
    assert got["names"].tolist() == ["ä", "longer text"]
    plan = repo.plan({"/wrf/t2m": 0, "/wrf/lat": None})
    assert len(plan.arrays) == 2


@pytest.mark.parametrize("items", ["/wrf/t2m", ["/wrf/t2m"]])
def test_many_arrays_are_given_with_their_selections(repo: icecore.Repo, items: Any) -> None:
    for read in (repo.read, repo.plan):
        with pytest.raises(ValueError, match="must be dictionaries") as caught:
            read(items)
        assert caught.value.kind == "invalid"


def test_plan(repo: icecore.Repo) -> None:
    plan = repo["/wrf/t2m"].plan((0, slice(0, 5), slice(0, 7)))
    assert plan.chunks == 1
    assert plan.requests <= 1
    assert plan.bytes_wanted <= plan.bytes_fetched
    text = str(plan)
    for word in ("requests", "bytes wanted", "chunks", "/wrf/t2m", "bytes"):
        assert word in text
    assert repr(plan) == text  # as a notebook shows it


def test_as_an_array(repo: icecore.Repo) -> None:
    a = repo["/wrf/t2m"]
    np.testing.assert_array_equal(np.asarray(a), T2M)
    assert np.asarray(a, "f8").dtype == np.dtype("f8")
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # before, copy=False meant "only where needed"
        with pytest.raises(ValueError, match="not in memory"):
            np.array(a, copy=False)
    np.testing.assert_array_equal(np.stack(list(a)), T2M)
    with pytest.raises(TypeError, match="scalar"):
        len(repo["/answer"])
    with pytest.raises(TypeError, match="scalar"):
        iter(repo["/answer"])


def test_looking_around(repo: icecore.Repo) -> None:
    assert list(repo) == ["/answer", "/empty", "/names", "/wrf", "/wrf/lat", "/wrf/t2m"]
    assert sorted(repo.arrays) == ["/answer", "/empty", "/names", "/wrf/lat", "/wrf/t2m"]
    assert sorted(repo.groups) == ["/", "/wrf"]
    assert "/wrf/t2m" in repo
    assert "wrf/t2m" in repo
    assert "/nope" not in repo
    assert 3 not in repo
    group = repo["wrf"]
    assert isinstance(group, icecore.Group)
    assert group.attrs == {"title": "test", "levels": [1, 2, 3]}
    assert list(group) == ["lat", "t2m"]
    assert group["t2m"].path == "/wrf/t2m"
    assert group["/answer"].path == "/answer"
    assert "t2m" in group
    assert sorted(group.arrays) == ["lat", "t2m"]
    for mapping in (repo, group):
        assert mapping.keys() == list(mapping)
        assert [(name, item.path) for name, item in mapping.items()] == [
            (name, mapping[name].path) for name in mapping
        ]
        assert [item.path for item in mapping.values()] == [mapping[name].path for name in mapping]
        assert mapping.get("nope") is None
        assert mapping.get("nope", 3) == 3
    assert group.get("t2m").path == "/wrf/t2m"


def test_nothing_was_committed_yet(repo_path: str) -> None:
    repo = icecore.create(repo_path)
    root = repo["/"]
    assert isinstance(root, icecore.Group)
    assert (root.arrays, root.groups, root.attrs) == ({}, {}, {})
    assert list(repo) == []


def test_key_errors_name_what_is_near(repo: icecore.Repo) -> None:
    with pytest.raises(KeyError) as caught:
        repo["/wrf/t2n"]
    assert caught.value.kind == "not-found"
    assert "/wrf/t2m" in caught.value.hint
    with pytest.raises(KeyError, match="/wrf/lat"):
        repo["lat"]


@pytest.mark.parametrize("key", [..., 0, slice(5), (0, 1)])
def test_a_group_has_no_elements(repo: icecore.Repo, key: Any) -> None:
    """The group of a file of one array is easily taken for the array."""
    with pytest.raises(IndexError, match="/wrf is a group, not an array") as caught:
        repo["/wrf"][key]
    assert caught.value.hint == f"index one of its arrays: [{next(iter(repo['/wrf'].arrays))!r}]"


def test_text_and_html(repo: icecore.Repo) -> None:
    text = repr(repo)
    assert "t2m" in text
    assert "(time: 50, lat: 14, lon: 19)" in text
    assert "__icecore__" not in text
    html = repo._repr_html_()
    assert "<details" in html
    assert "http" not in html.replace(repo.url, "")
    assert "chunks (8, 5, 7)" in repr(repo["/wrf/t2m"])
    assert "units" in repo["/wrf/t2m"]._repr_html_()
    assert "t2m" in repr(repo["/wrf"])
    assert "t2m" in repo["/wrf"]._repr_html_()


def test_html_escapes(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "x.icecore").writer() as w:
        w.array("/<b>", "f4", (2,), attrs={"note": "<script>alert(1)</script>"})
    repo = icecore.open(tmp_path / "x.icecore")
    for html in (repo._repr_html_(), repo["/<b>"]._repr_html_()):
        assert "<script>" not in html
        assert "<b>/<b>" not in html


def test_pickle(repo: icecore.Repo) -> None:
    again = pickle.loads(pickle.dumps(repo))
    assert again.snapshot_id == repo.snapshot_id
    a = pickle.loads(pickle.dumps(repo["/wrf/t2m"]))
    np.testing.assert_array_equal(a[3], T2M[3])
    np.testing.assert_array_equal(copy.deepcopy(repo["/wrf/t2m"])[3], T2M[3])


def test_missing_repositories_and_versions(repo: icecore.Repo, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        icecore.open(tmp_path / "nothing.icecore")
    assert caught.value.kind == "not-found"
    with pytest.raises(FileNotFoundError):
        icecore.open(f"{tmp_path}/nothing.icecore@v1")
    with pytest.raises(KeyError):
        icecore.open(f"{repo.url}@nope")
    with pytest.raises(icecore.Error) as caught:
        icecore.create(repo.url)
    assert caught.value.kind == "exists"
    assert icecore.create(repo.url, exist_ok=True).snapshot_id == repo.snapshot_id


def test_versions(tmp_path: Path) -> None:
    path = tmp_path / "v.icecore"
    repo = icecore.create(path)
    with repo.writer(message="one") as w:
        w.array("/x", "i4", (4,))[...] = 1
    first = icecore.open(path)
    first.tag("v1")
    with first.writer(message="two") as w:
        w["/x"][1:3] = 2
        w.array("/y", "i4", (2,))[...] = 5
    second = icecore.open(path)
    assert second["/x"][...].tolist() == [1, 2, 2, 1]
    assert first["/x"][...].tolist() == [1, 1, 1, 1]
    assert icecore.open(f"{path}@v1")["/x"][...].tolist() == [1, 1, 1, 1]
    assert second.at("v1")["/x"][...].tolist() == [1, 1, 1, 1]
    assert icecore.open(f"{path}@{first.snapshot_id}").snapshot_id == first.snapshot_id
    assert [commit.message for commit in second.log(2)] == ["two", "one"]
    changes = second.diff("v1")
    assert changes.new_arrays == ["/y"]
    assert "/x" in changes.chunks
    assert second.tags == {"v1": first.snapshot_id}
    second.branch("side", "v1")
    side = icecore.open(f"{path}@side")
    with side.writer() as w:
        w["/x"][...] = 9
    assert icecore.open(f"{path}@side")["/x"][0] == 9
    assert icecore.open(path)["/x"][0] == 1
    second.delete_branch("side")
    second.delete_tag("v1")
    assert set(second.branches) == {"main"}
    assert second.verify(deep=True) == []
    assert second.gc(dry_run=True).dry_run is True


def test_writing_to_a_tag_is_refused(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "t.icecore")
    with repo.writer() as w:
        w.array("/x", "i4", (4,))[...] = 1
    icecore.open(repo.url).tag("v1")
    with icecore.open(repo.url).writer() as w:
        w["/x"][0] = 2
    with pytest.raises(PermissionError):
        icecore.open(f"{repo.url}@v1").writer()


def test_kinds_are_exceptions_that_users_catch() -> None:
    from icecore.errors import KINDS, make

    for kind, cls in KINDS.items():
        error = make(kind, "what 'is' wrong", "do this")
        assert isinstance(error, cls)
        assert isinstance(error, icecore.Error)
        assert (error.kind, error.hint) == (kind, "do this")
        assert str(error).startswith("what 'is' wrong")
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.kind, str(again)) == (cls, kind, str(error))
    assert issubclass(KINDS["not-found"], KeyError)
    assert issubclass(KINDS["selection"], IndexError)
    assert issubclass(KINDS["source-missing"], FileNotFoundError)
    assert issubclass(KINDS["permission"], PermissionError)
    assert issubclass(KINDS["io"], OSError)
    assert type(make("something new", "x")) is icecore.Error


def test_kinds_are_documented() -> None:
    """Each with what it is caught as, as docs/glossary.md says."""
    from icecore.errors import KINDS

    page = Path(__file__).parents[2] / "docs" / "glossary.md"
    lines = page.read_text(encoding="utf-8").partition("## Kinds of errors")[2].splitlines()
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")
    ]
    assert [kind.strip("`") for kind, _, _ in cells] == list(KINDS)
    for kind, _, also in cells:
        for name in re.findall("`([A-Za-z]+Error|KeyboardInterrupt)`", also.partition(";")[0]):
            assert issubclass(KINDS[kind.strip("`")], getattr(builtins, name)), (kind, name)


RECORD = np.dtype(
    [
        ("a", "<i4"),
        ("b", ">i2", (2, 3)),
        ("in", [("x", "f4", (2,)), ("y", "u1")]),
        ("s", [("p", "f8", (3,)), ("q", "S2")], (2,)),
    ]
)


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
@pytest.mark.parametrize("form", ["h5", "npy", "npz"])
def test_fields_that_are_arrays_keep_their_shape(tmp_path: Path, verb: Any, form: str) -> None:
    """Zarr's records have no such fields: they are stored as records, and read as what they were."""
    data = np.zeros(7, RECORD)
    data["b"] = np.arange(42).reshape(7, 2, 3)
    data["in"]["x"], data["s"]["q"] = 1.5, b"zz"
    data["s"]["p"] = np.arange(42).reshape(7, 2, 3)
    path, into = tmp_path / f"r.{form}", tmp_path / "r.icecore"
    if form == "h5":
        with h5py.File(path, "w") as file:
            file["r"] = data
    elif form == "npy":
        np.save(path, data)
    else:
        np.savez_compressed(path, r=data)
    verb(path, into, "/")
    icecore.pack(into, tmp_path / "again.icecore", "/")
    for place in (into, tmp_path / "again.icecore"):
        array = icecore.open(place)["/r"]
        assert array.dtype == RECORD.newbyteorder("=")
        assert array.fill_value["b"].shape == (2, 3)
        out = np.empty(7, array.dtype)
        assert array.read(out=out) is out
        for found, wanted in [
            (array[...], data),
            (out, data),
            (array[2], data[2]),
            (array[::-2], data[::-2]),
            (array.oindex[[0, 3]], data[[0, 3]]),
            (array.points([[5]]), data[[5]]),
            (np.stack(list(array)), data),
        ]:
            assert found.tobytes() == wanted.astype(array.dtype).tobytes()
            assert found["b"].shape == wanted["b"].shape


def test_split_references(tmp_path: Path) -> None:
    from icecore.repository.address import split_path, split_ref, stem

    assert split_ref("moon.icecore@v1") == ("moon.icecore", "v1")
    assert split_ref("moon.icecore") == ("moon.icecore", None)
    assert split_ref("s3://key@bucket/moon") == ("s3://key@bucket/moon", None)
    assert split_ref("s3://bucket/moon@2026-01-01T00:00:00Z") == ("s3://bucket/moon", "2026-01-01T00:00:00Z")
    assert split_ref("memory://x@v1") == ("memory://x", "v1")
    (tmp_path / "me@home").mkdir()
    assert split_ref(tmp_path / "me@home") == (f"{tmp_path}/me@home", None)
    # Folders may have an @ in their names, branches a slash.
    (tmp_path / "me").mkdir()
    (tmp_path / "you").mkdir()
    for name in ("me@home/new", "me@home/new.icecore", "who@where/new.icecore", "who@where/deep/er"):
        assert split_ref(tmp_path / name) == (f"{tmp_path}/{name}", None)
        assert split_ref(f"{tmp_path / name}@v1") == (f"{tmp_path}/{name}", "v1")
    assert split_ref(tmp_path / "you@feature/x") == (f"{tmp_path}/you", "feature/x")
    assert split_ref("new.icecore@feature/x") == ("new.icecore", "feature/x")
    assert split_ref("s3://bucket/moon@feature/x") == ("s3://bucket/moon", "feature/x")
    assert split_ref("s3://bucket/me@home/new.icecore") == ("s3://bucket/me@home/new.icecore", None)
    assert split_ref("s3://bucket/me@home/new.icecore@v1") == ("s3://bucket/me@home/new.icecore", "v1")
    assert split_path("moon.icecore@v1:/wrf/t2m") == ("moon.icecore@v1", "/wrf/t2m")
    assert split_path("r:/wrf") == ("r", "/wrf")
    assert split_path("s3://bucket/moon:/wrf") == ("s3://bucket/moon", "/wrf")
    assert split_path("s3://bucket/moon") == ("s3://bucket/moon", None)
    assert stem("https://host/a/granule.h5?key=1") == "granule"
    assert stem("/data/run.v2.nc") == "run.v2"


def test_opening_a_group_costs_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with icecore.create(tmp_path / "r").writer() as w:
        for i in range(60):
            w.array(f"/g{i // 3}/v{i}", "f4", ())
            w.array(f"/g{i // 3}/below/w{i}", "f4", ())
    repo = icecore.open(tmp_path / "r")
    monkeypatch.setattr(type(repo), "_nodes", property(lambda _: pytest.fail("lists all nodes")))
    assert sorted(repo["/g4"].arrays) == ["v12", "v13", "v14"]
    assert list(repo["/g4"].groups) == ["below"]
    assert sorted(repo["/g4/below"].arrays) == ["w12", "w13", "w14"]
    assert len(repo._known) == 8  # the group, its members and theirs
    assert "/g4/v13" in repo
