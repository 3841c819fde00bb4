"""xarray's own tests of backends, from its wheel: Zarr on ``Writer.store()``, and icecore's engine."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
from collections.abc import Iterator
from typing import Any

import icecore
import icecore.integrations.xarray  # registers the accessor
import pytest

xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")
theirs = pytest.importorskip("xarray.tests.test_backends")

pytestmark = pytest.mark.integration

fixtures = pytest.importorskip("xarray.tests.conftest")
compute_backend, use_dask = fixtures.compute_backend, fixtures.use_dask
time_unit = fixtures.time_unit


@pytest.fixture
def default_zarr_format() -> Iterator[None]:
    """Repositories hold Zarr format 3."""
    with zarr.config.set(default_zarr_format=3):
        yield


def applied(skips: dict[str, str]) -> Any:
    """Return a class decorator: named tests are skipped with a reason, and those of asyncio run in a loop."""

    def decorate(tests: type) -> type:
        for name in dir(tests):
            test = getattr(tests, name)
            if not name.startswith("test_"):
                continue
            if name in skips:
                setattr(tests, name, pytest.mark.skip(reason=skips[name])(_own(test)))
            elif inspect.iscoroutinefunction(test):
                setattr(tests, name, _in_a_loop(test))
        unknown = [name for name in skips if not hasattr(tests, name)]
        assert not unknown, f"skipped and not there: {unknown}"
        return tests

    return decorate


def _own(test: Any) -> Any:
    """Return a copy of an inherited test, so that its mark is not that of its class too."""

    @functools.wraps(test)
    def copied(self: Any, *arguments: Any, **named: Any) -> Any:
        return test(self, *arguments, **named)

    copied.pytestmark = list(getattr(test, "pytestmark", []))  # type: ignore[attr-defined]
    return copied


def _in_a_loop(test: Any) -> Any:
    @functools.wraps(test)
    def run(self: Any, *arguments: Any, **named: Any) -> None:
        asyncio.run(test(self, *arguments, **named))

    return run


_WRITER = "a writer can't be sent to another process"
_ZARR_SKIPS = {
    "test_pickle": _WRITER,
    "test_pickle_dataarray": _WRITER,
    "test_hidden_zarr_keys": "names of dimensions are part of Zarr v3's metadata, not a hidden attribute",
}


@applied(_ZARR_SKIPS)
class TestZarrBackend(theirs.ZarrBase):
    """xarray's Zarr backend writes to and reads from a writer's store."""

    @contextlib.contextmanager
    def create_zarr_target(self) -> Iterator[Any]:
        """A writer's store."""
        with contextlib.suppress(_Undone), icecore.create("memory://").writer() as writer:
            yield writer.store()
            raise _Undone


class _Undone(Exception):
    """Ends a writer without a commit."""


_NAMES = "names of variables in a repository are strings"
_OBJECTS = "not yet: the accessor writes object arrays of strings only"
_CHARACTERS = "strings of fixed length are a data type of Zarr, not characters along a dimension"
_ACCESSOR = "the accessor has options of icecore.pack, not mode, encoding and unlimited_dims"
_ENGINE_SKIPS = {
    "test_write_store": "the engine reads: it has no store to write to",
    "test_roundtrip_None_variable": _NAMES,
    "test_invalid_dataarray_names_raise": _NAMES,
    "test_roundtrip_object_dtype": _OBJECTS,
    "test_roundtrip_bytes_with_fill_value": _OBJECTS,
    "test_roundtrip_stringdtype_nulls": "not yet: missing strings are read as NaN in an object array",
    "test_string_object_warning": "missing strings are stored as null, without the warning",
    "test_roundtrip_string_encoded_characters": _CHARACTERS,
    "test_roundtrip_string_with_fill_value_nchar": _CHARACTERS,
    "test_encoding_kwarg_fixed_width_string": _CHARACTERS,
    "test_encoding_kwarg": _ACCESSOR,
    "test_encoding_unlimited_dims": _ACCESSOR,
    "test_append_write": _ACCESSOR,
    "test_append_overwrite_values": _ACCESSOR,
    "test_append_with_invalid_dim_raises": _ACCESSOR,
    "test_multiindex_not_implemented": "icecore's error says the same with its own kind",
}


@applied(_ENGINE_SKIPS)
class TestEngine(theirs.CFEncodedBase):
    """The accessor writes, the engine reads."""

    engine = "icecore"

    def save(self, dataset: Any, path: Any, **options: Any) -> Any:
        """Write through the accessor."""
        mode = options.pop("mode", "w")
        encoding = options.pop("encoding", {})
        options.pop("unlimited_dims", None)
        for name, given in encoding.items():
            dataset = dataset.assign({name: dataset[name].copy()})
            dataset[name].encoding.update(given)
        return dataset.icecore.to(path, replace=mode == "w", **options)

    @contextlib.contextmanager
    def open(self, path: Any, **options: Any) -> Iterator[Any]:
        """Open with the engine."""
        with xr.open_dataset(path, engine="icecore", **options) as dataset:
            yield dataset


@applied({"test_dataset_to_zarr_align_chunks_true": "it writes to stores of zarr-python's own"})
class TestRegions(theirs.TestZarrRegionAuto):
    """Regions that xarray's Zarr backend writes to a writer's store."""

    @contextlib.contextmanager
    def create_zarr_target(self) -> Iterator[Any]:
        """A writer's store."""
        with contextlib.suppress(_Undone), icecore.create("memory://").writer() as writer:
            yield writer.store()
            raise _Undone
