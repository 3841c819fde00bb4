"""Plans of `link` and `pack`: printed before anything is written, and what is written then."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from icecore.ingest.options import LinkOptions, PackOptions
from icecore.ingest.pack import run as run_pack
from icecore.ingest.report import Row, summarize

RNG = np.random.default_rng(3)


@pytest.fixture
def granule(tmp_path: Path) -> Path:
    path = tmp_path / "g.h5"
    with h5py.File(path, "w") as file:
        file["t"] = np.arange(40.0)
        file["t"].make_scale("t")
        file.create_dataset("a/x", data=RNG.normal(size=(40, 300, 300)).astype("f4"), chunks=(10, 300, 300))
        file["a/x"].dims[0].attach_scale(file["t"])
        file["a/n"] = np.arange(12, dtype="i2")
    return path


@pytest.mark.parametrize(("verb", "options"), [(icecore.pack, PackOptions), (icecore.link, LinkOptions)])
def test_every_parameter_is_an_option(verb: Any, options: type) -> None:
    parameters = inspect.signature(verb).parameters
    fields = {field.name: field for field in dataclasses.fields(options)}
    assert parameters.keys() == fields.keys()
    for name, parameter in parameters.items():
        default = fields[name].default
        assert default == parameter.default or parameter.default is inspect.Parameter.empty, name


def test_a_dry_run_writes_nothing(tmp_path: Path, granule: Path) -> None:
    into = tmp_path / "r.icecore"
    report = icecore.pack(granule, into, dry_run=True, codec="zstd:3")
    assert not into.exists()
    assert report.dry_run
    assert report.snapshot is None
    assert report.plan is not None
    planned = {array.path: array for array in report.plan.arrays}
    assert planned["/g/a/x"].meets == "new"
    assert planned["/g/a/x"].shape == (40, 300, 300)
    assert planned["/g/a/x"].raw == 40 * 300 * 300 * 4
    assert planned["/g/a/x"].codec == "zstd"
    assert "/g/a/x" in str(report.plan)
    json.dumps(report.as_dict(), allow_nan=False)


def test_what_is_planned_is_what_is_written(tmp_path: Path, granule: Path) -> None:
    into = tmp_path / "r.icecore"
    plan = icecore.pack(granule, into, dry_run=True, codec="zstd:3").plan
    icecore.pack(granule, into, codec="zstd:3")
    repo = icecore.open(into)
    assert plan is not None
    assert {array.path for array in plan.arrays} == set(repo.arrays)
    for array in plan.arrays:
        stored = repo[array.path]
        assert (array.shape, array.chunk, array.shard) == (stored.shape, stored.chunks, stored.shards)
        assert array.dtype == str(stored.dtype)


def test_the_plan_says_what_is_met(tmp_path: Path, granule: Path) -> None:
    into = tmp_path / "r.icecore"
    icecore.pack(granule, into, "/g", "t")
    before = icecore.open(into).snapshot_id

    def met(**options: Any) -> dict[str, str]:
        report = icecore.pack(granule, into, "/g", "t", dry_run=True, **options)
        assert report.plan is not None
        return {array.path: array.meets for array in report.plan.arrays}

    assert met(replace=True) == dict.fromkeys(("/g/t", "/g/a/x", "/g/a/n"), "replace")
    assert met(skip_existing=True) == dict.fromkeys(("/g/t", "/g/a/x", "/g/a/n"), "skip")
    assert met(append=True) == {"/g/t": "append", "/g/a/x": "append", "/g/a/n": "skip"}
    refused = icecore.pack(granule, into, "/g", "t", dry_run=True)
    assert {failure.kind for failure in refused.failures} == {"exists"}
    assert icecore.open(into).snapshot_id == before


def test_a_codec_that_fits_no_array_is_a_failure_of_the_plan(tmp_path: Path, granule: Path) -> None:
    codec = [{"name": "transpose", "configuration": {"order": [2, 1, 0]}}, {"name": "bytes"}]
    report = icecore.pack(granule, tmp_path / "r.icecore", dry_run=True, codec=codec)
    assert {failure.name for failure in report.failures} >= {"/g/a/n", "/g/t"}
    assert not (tmp_path / "r.icecore").exists()


def test_measured_choices_are_named_so(tmp_path: Path, granule: Path) -> None:
    report = icecore.pack(granule, tmp_path / "r.icecore", dry_run=True)
    assert report.plan is not None
    assert {array.path: array.codec for array in report.plan.arrays}["/g/a/x"] == "measured"
    report = icecore.pack(
        granule, tmp_path / "r.icecore", dry_run=True, access="1,all,all", measure=True, variables="x"
    )
    assert report.plan is not None
    assert {array.path: array.chunk for array in report.plan.arrays}["/g/a/x"] is None


def test_tables_are_in_the_plan(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,2\n3,4\n")
    report = icecore.pack(table, tmp_path / "r.icecore", dry_run=True)
    assert report.plan is not None
    (planned,) = report.plan.as_dict()["tables"]
    assert (planned["path"], planned["meets"], planned["columns"]) == ("/t", "new", ("a", "b"))
    assert str(table) in str(report.plan)


def test_options_are_a_value(tmp_path: Path, granule: Path) -> None:
    options = PackOptions(granule, tmp_path / "r.icecore", "/p")
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.group = "/q"  # type: ignore[misc]
    assert run_pack(options).snapshot
    assert run_pack(dataclasses.replace(options, group="/q")).snapshot
    assert set(icecore.open(tmp_path / "r.icecore").groups) >= {"/p", "/q"}


def test_link_plans_too(tmp_path: Path, granule: Path) -> None:
    report = icecore.link(granule, tmp_path / "r.icecore", dry_run=True)
    assert report.plan is not None
    arrays = {array.path: array for array in report.plan.arrays}
    assert arrays["/g/a/x"].how == "linked"
    assert arrays["/g/a/x"].chunk == (10, 300, 300)
    assert not (tmp_path / "r.icecore").exists()


def test_command_line(run: Any, tmp_path: Path, granule: Path) -> None:
    into = str(tmp_path / "r.icecore")
    status, out, err = run("pack", str(granule), "--into", into, "--dry-run")
    assert (status, err) == (0, "")
    assert "/g/a/x" in out
    assert "measured" in out
    assert f"dry run: nothing was written to {into}" in out
    status, out, _ = run("pack", str(granule), "--into", into, "--dry-run", "--json")
    plan = json.loads(out)["plan"]
    assert {array["path"]: array["meets"] for array in plan["arrays"]}["/g/a/x"] == "new"
    assert not Path(into).exists()


def test_many_arrays_are_summarized_by_group(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "many.h5"
    with h5py.File(path, "w") as file:
        for track in ("gt1l", "gt2l"):
            for i in range(20):
                file[f"{track}/v{i:02}"] = np.arange(100.0)
            file[f"{track}/name"] = np.array(["a", "bb"], object)
    status, out, _ = run("link", str(path), "--into", str(tmp_path / "r.icecore"))
    assert status == 0
    assert "/many/gt1l" in out
    assert "20 linked, 1 copied" in out
    assert "2 arrays copied: " in out
    assert "/many/gt1l/v00" not in out
    assert "42 arrays: 40 linked, 2 copied" in out
    status, out, _ = run("link", str(path), "--into", str(tmp_path / "r.icecore"), "--replace", "-v")
    assert all(f"/many/{track}/v{i:02}" in out for track in ("gt1l", "gt2l") for i in range(20))


def test_a_summary_stays_short() -> None:
    rows = [Row(f"/g/{i}/{j}/v", "linked", "", 1, 10, 20) for i in range(30) for j in range(40)]
    rows += [Row(f"/h{i}", "copied", f"reason {i % 15}", 0, 0, 20) for i in range(40)]
    shown = summarize(rows)
    assert len(shown.splitlines()) < 40
    assert "/g/…" in shown
    assert "1,200 linked" in shown
    assert "3 reasons more" in shown
