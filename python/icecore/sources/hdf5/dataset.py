"""Convert one HDF5 dataset to an array: linked if its bytes allow it, otherwise copied, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from h5py import Dataset, h5d

from icecore import errors
from icecore.repository.json_attributes import attribute_type, fill_attribute, marker_type, text_fill, to_json
from icecore.repository.zarr_dtypes import bytes_codec, copy_codecs, data_type, fill_json, subarrays
from icecore.sources.files.identity import Identity
from icecore.sources.hdf5.attributes import HIDDEN
from icecore.sources.hdf5.chunks import chunked
from icecore.sources.hdf5.filters import codecs_of, filters_of, unknown_filter
from icecore.sources.hdf5.region_reader import DatasetReader, convert
from icecore.sources.hdf5.types import TypePlan, measured
from icecore.sources.mapping.array_map import ArrayEntry, Links, Note, default_chunks
from icecore.sources.mapping.contiguous import Located, contiguous
from icecore.sources.mapping.netcdf_fill import default_fill
from icecore.sources.mapping.stored_chunks import StoredChunks

_SMALL_TEXT = 16 << 20
#: size (bytes) up to which a copy reads every chunk, stored or not
_LARGE = 256 << 20


@dataclass
class RawDataset:
    """A dataset during the walk: its handles, shape and attributes, before dimensions have names."""

    path: str
    real_path: str | bytes
    dsid: Any
    source: str
    identity: Identity
    plan: TypePlan
    shape: tuple[int, ...] | None
    maximum: tuple[int | None, ...]
    attrs: dict[str, Any]


def build(
    raw: RawDataset, dims: tuple[str | None, ...], extended: tuple[int, ...] | None, notes: list[Note]
) -> ArrayEntry:
    """Describe a dataset whose type can be read: linked where its chunks decode exactly, otherwise copied.

    Args:
        raw: the dataset.
        dims: names of its axes.
        extended: its shape with unlimited axes extended to the length in other variables, or None.
        notes: receives a note for each attribute that can't be kept.

    Raises:
        Error: ``corrupt`` for an impossible shape.
    """
    plan = raw.plan
    plist = raw.dsid.get_create_plist()
    stored = raw.shape if raw.shape is not None else (0,)
    if plan.how == "words":
        plan.dtype = _measured(raw)
    shape = (extended or stored) + plan.inner
    if prod(shape) * max(plan.dtype.itemsize, 1) >= 1 << 62:
        raise errors.make(
            "corrupt", f"{raw.path}: a shape of {shape} can't be", "compare the file with its original"
        )
    fill, unsaid = _fill_value(plist, plan, raw.dsid.get_type())
    if extended is not None and fill is None and not unsaid:
        fill, unsaid = _fill_beyond(plist, plan)
    entry = _copied(raw, dims, shape, fill, notes)
    why = _unlinkable(raw, plist, shape) or unsaid
    located = None
    if not why:
        located, codecs, why = _locate(raw, plist, shape, stored)
    if located is None:
        _check_filters(raw, plist)
        entry.note = why
        if not unsaid and plan.how in ("plain", "struct") and entry.nbytes > _LARGE:
            held = _held(plist, raw, shape)
            entry.held = lambda: held  # the file is open only now
        return entry
    if len(located.copied):
        _check_filters(raw, plist)
    entry.chunks, entry.note = located.chunk, plan.note
    entry.codecs = [bytes_codec(plan.dtype, plan.big), *codecs]
    entry.links = Links.one_file(raw.identity, located.chunks, located.offsets, located.lengths)
    entry.native = entry.copied(located.copied)
    return entry


def _copied(
    raw: RawDataset,
    dims: tuple[str | None, ...],
    shape: tuple[int, ...],
    fill: Any,
    notes: list[Note],
) -> ArrayEntry:
    """Return an entry without links: its values are read by h5py."""
    plan, plist = raw.plan, raw.dsid.get_create_plist()
    stored = raw.shape if raw.shape is not None else (0,)
    attrs, types = array_attributes(raw, notes)
    reader = DatasetReader(
        raw.source, raw.identity, raw.real_path, shape, stored, plan.dtype, plan.how, len(plan.inner), fill
    )
    return ArrayEntry(
        path=raw.path,
        shape=shape,
        dims=dims,
        data_type=data_type(plan.dtype),
        dtype=plan.dtype,
        chunks=_source_chunks(plist, shape, plan),
        codecs=copy_codecs(plan.dtype),
        fill_value=fill_json(fill, plan.dtype),
        attrs=attrs,
        read=reader,
        unlimited=tuple(axis for axis, n in enumerate(raw.maximum) if n is None),
        attr_types=types,
        enum=[name for name in plan.attrs if name not in raw.attrs],
        subarrays=subarrays(raw.dsid.get_type().dtype) if plan.how in ("struct", "words") else {},
        text_fill=text_fill(raw.attrs.get("_FillValue"), plan.dtype),
    )


def _measured(raw: RawDataset) -> np.dtype:
    """Return the record type of a dataset whose records contain variable-length strings."""
    dataset, shape = Dataset(raw.dsid), raw.shape if raw.shape is not None else (0,)
    reader = DatasetReader(
        raw.source, raw.identity, raw.real_path, shape, shape, raw.plan.dtype, raw.plan.how, 0
    )
    return measured(
        raw.dsid.get_type().dtype.base, shape, lambda region: reader.raw(dataset, region), dataset.file.id
    )


def array_attributes(raw: RawDataset, notes: list[Note]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a dataset's attributes as JSON without internal ones, and the dtypes that JSON would widen."""
    scale = raw.attrs.get("CLASS") == "DIMENSION_SCALE"
    attrs: dict[str, Any] = {}
    types: dict[str, str] = {}
    for name, value in raw.attrs.items():
        if name in HIDDEN or (scale and name in ("CLASS", "NAME")):
            continue
        if name == "_FillValue":
            told = value
            value = fill_attribute(told, raw.plan.dtype)
            if value is None:
                if text_fill(told, raw.plan.dtype) is None:
                    what = "_FillValue is kept as the array's fill value only"
                    notes.append(Note(raw.path, "attribute", what))
                continue
            kind = marker_type(name, told, raw.plan.dtype)
        else:
            kind = attribute_type(value) or marker_type(name, value, raw.plan.dtype)
        if kind is not None:
            types[name] = kind
        attrs[name] = to_json(value)
    for name, value in raw.plan.attrs.items():
        attrs.setdefault(name, value)
    return attrs, types


def _fill_value(plist: Any, plan: TypePlan, tid: Any) -> tuple[Any, str]:
    """Return the HDF5 fill value in the plan's dtype (None: zero), and why Zarr can't represent it, or ""."""
    if plan.how in ("reference", "words") or plist.fill_value_defined() != h5d.FILL_VALUE_USER_DEFINED:
        return None, ""
    if plan.inner:
        return None, "a fill value that is an array"
    value = np.zeros(1, plan.dtype if plan.how == "wide" else tid.dtype)
    try:
        plist.get_fill_value(value)
        return convert(value, plan.how, plan.dtype)[0], ""
    except (TypeError, ValueError, RuntimeError, NotImplementedError) as error:
        return None, f"a fill value that can't be read: {error}"


def _fill_beyond(plist: Any, plan: TypePlan) -> tuple[Any, str]:
    """Return netCDF's fill value beyond the end of a dataset, and why Zarr can't represent it, or ""."""
    fill = default_fill(plan.dtype) if plan.how == "plain" else None
    if fill is None or plist.get_fill_time() == h5d.FILL_TIME_NEVER:
        return fill, ""
    return fill, "chunks that were never written hold zeros, those beyond its end netCDF's fill value"


def _held(plist: Any, raw: RawDataset, shape: tuple[int, ...]) -> StoredChunks | None:
    """Return the stored chunks of a dataset that can't be linked."""
    if plist.get_layout() != h5d.CHUNKED or not raw.shape:
        return None
    chunk = tuple(int(n) for n in plist.get_chunk())
    located = chunked(raw.dsid, shape[: len(raw.shape)], raw.shape, chunk, 0, False)
    return StoredChunks(shape, chunk + raw.plan.inner, np.concatenate([located.chunks, located.copied]))


def _source_chunks(plist: Any, shape: tuple[int, ...], plan: TypePlan) -> tuple[int, ...]:
    if plist.get_layout() == h5d.CHUNKED:
        return tuple(int(n) for n in plist.get_chunk()) + plan.inner
    return default_chunks(shape, plan.dtype.itemsize)


def _unlinkable(raw: RawDataset, plist: Any, shape: tuple[int, ...]) -> str:
    """Return why nothing of the dataset can be linked, or ""."""
    plan = raw.plan
    if raw.shape is None:
        return "no data at all (a null dataspace), kept as an empty array"
    if not plan.linkable:
        return plan.note
    if not raw.shape:
        return "a single value"
    layout = plist.get_layout()
    if layout == h5d.COMPACT:
        return "stored inside its header (compact)"
    if layout == h5d.VIRTUAL:
        return "a virtual dataset"
    if plist.get_external_count():
        return "its data lie in external files"
    if plan.note == "text ends at its first NUL" and prod(shape) * plan.dtype.itemsize <= _SMALL_TEXT:
        return plan.note
    return ""


def _locate(
    raw: RawDataset, plist: Any, shape: tuple[int, ...], stored: tuple[int, ...]
) -> tuple[Located | None, list[dict[str, Any]], str]:
    itemsize = raw.plan.dtype.itemsize
    inner = raw.plan.inner
    if plist.get_layout() != h5d.CHUNKED:
        # With a user block, the library adds its length to the marker for an undefined address.
        written = raw.dsid.get_space_status() != h5d.SPACE_STATUS_NOT_ALLOCATED
        offset = raw.dsid.get_offset() if written else None
        available = max(raw.identity.size - (offset or 0), 0)
        return contiguous(offset, shape, itemsize, available), [], ""
    filters = filters_of(plist)
    codecs, why = codecs_of(filters)
    if why:
        return None, [], why
    chunk = tuple(int(n) for n in plist.get_chunk())
    raw_bytes = prod(chunk + inner) * itemsize
    outer = shape[: len(stored)]
    located = chunked(raw.dsid, outer, stored, chunk, raw_bytes, not filters)
    # The trailing axes of an array datatype are whole in every chunk, so flat indices stay as they are.
    located.chunk = chunk + inner
    _check_ranges(located, raw)
    return located, codecs, ""


def _check_filters(raw: RawDataset, plist: Any) -> None:
    """Raise if the HDF5 library can't decode a dataset that must be copied."""
    if plist.get_layout() != h5d.CHUNKED or not raw.dsid.get_num_chunks():
        return
    if unknown := unknown_filter(filters_of(plist)):
        raise errors.make(
            "unsupported",
            f"its filter {unknown} is not known to the HDF5 library here "
            f"({errors.installing('plugins')} brings some; HDF5_PLUGIN_PATH names the folder of others)",
        )


def _check_ranges(located: Located, raw: RawDataset) -> None:
    if len(located.chunks):
        end = int((located.offsets + located.lengths).max())
        if end > raw.identity.size:
            raise errors.make(
                "corrupt",
                f"{raw.source}:{raw.path}: a chunk ends at byte {end}, the file at {raw.identity.size}",
                "compare the file with its original: it looks cut off",
            )
