"""``link --follow`` and ``pack --follow`` of a prefix of a bucket: one listing for each poll."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.ingest.follow.follower import Follower
from icecore.samples.gwf import write_frame
from s3_kit import Bucket
from test_follow import done, field, step

T0 = 1_400_000_000


def put(bucket: Bucket, number: int, scratch: Path) -> None:
    """One step of a model as an object of the bucket."""
    step(scratch / "step.h5", number)
    bucket.objects[f"run/{number:03}.h5"] = (scratch / "step.h5").read_bytes()


def frame(bucket: Bucket, second: int, scratch: Path) -> None:
    """A frame of one second."""
    channels = {f"H1:X{n}": (np.arange(second * 4, second * 4 + 4, dtype="f4") + n, 4.0) for n in range(3)}
    write_frame(scratch / "frame.gwf", T0 + second, channels)
    bucket.objects[f"run/H-H1_X-{T0 + second}-1.gwf"] = (scratch / "frame.gwf").read_bytes()


@pytest.mark.parametrize("link", [True, False])
def test_objects_are_taken_once(link: bool, tmp_path: Path) -> None:
    with Bucket() as bucket:
        options = {"concat": "time", "storage": bucket.options, "link": link}
        follower = Follower("s3://bucket/run", tmp_path / "r", **options)
        for number in range(3):
            put(bucket, number, tmp_path)
            bucket.objects["run/deeper/x.h5"] = bucket.objects["other/x.h5"] = b"not of this prefix"
            bucket.objects["run/.hidden.h5"] = b"not yet"
            bucket.requests.clear()
            assert done(list(follower.step())) == [f"{number:03}.h5"]
            assert bucket.requests["list"] == 1
            bucket.requests.clear()
            assert done(list(follower.step())) == []
            assert dict(bucket.requests) == {"list": 1}, "a look without new objects reads none"
        again = Follower("s3://bucket/run", tmp_path / "r", **options)
        assert done(list(again.step())) == [], "it goes on where it stopped"
        repo = icecore.open(tmp_path / "r", storage=bucket.options)
        assert repo["/run/time"][...].tolist() == [0, 1, 2]
        np.testing.assert_array_equal(repo["/run/t2m"].read(), field(0, 3))


def test_late_objects_are_inserted(tmp_path: Path) -> None:
    with Bucket() as bucket:
        follower = Follower(
            "s3://bucket/run", tmp_path / "r", concat="time", storage=bucket.options, link=True
        )
        for number in (0, 3, 1, 2):
            put(bucket, number, tmp_path)
            assert done(list(follower.step())) == [f"{number:03}.h5"]
        repo = icecore.open(tmp_path / "r", storage=bucket.options)
        assert repo["/run/time"][...].tolist() == [0, 1, 2, 3]
        np.testing.assert_array_equal(repo["/run/t2m"].read(), field(0, 4))


def test_frames_of_seconds(tmp_path: Path) -> None:
    """A part of a day, with some seconds late: objects grow with the commits, references with the frames."""
    with Bucket() as bucket:
        follower = Follower("s3://bucket/run", tmp_path / "r", storage=bucket.options, link=True)
        order = [0, 1, 2, 4, 3, *range(5, 24)]
        for second in order:
            frame(bucket, second, tmp_path)
            assert len(done(list(follower.step()))) == 1
        repo = icecore.open(tmp_path / "r", storage=bucket.options)
        for n in range(3):
            assert repo[f"/H1/X{n}"][...].tolist() == [value + n for value in range(96)]
            assert repo[f"/H1/X{n}"].linked
        assert len(repo.log()) == len(order) + 1
        files = [path for path in (tmp_path / "r").rglob("*") if path.is_file()]
        assert len(files) <= 6 * len(order), "objects grow with the commits"
