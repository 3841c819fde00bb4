"""Convert HDF5 datatypes to NumPy and Zarr types, and decide whether the stored bytes can be linked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

import h5py
import numpy as np
from h5py import h5r, h5t

from icecore.repository.json_attributes import text
from icecore.repository.zarr_dtypes import offset_of, packed_struct
from icecore.sources.mapping.array_map import Region


@dataclass
class TypePlan:
    """Conversion of a dataset's elements.

    ``dtype`` is the dtype of readers (native byte order). ``inner`` is the shape of an array datatype, which
    becomes trailing axes. ``how`` is ``plain``, ``text``, ``reference``, ``cast``, ``struct``, ``wide``, or
    ``words`` for records with variable-length strings or references. ``linkable`` says whether the stored
    bytes are elements of ``dtype`` (``big``: with swapped bytes), ``note`` why not, and ``refused`` why it
    can't be read at all.
    """

    dtype: np.dtype
    how: str = "plain"
    linkable: bool = False
    big: bool = False
    inner: tuple[int, ...] = ()
    note: str = ""
    refused: str = ""
    attrs: dict[str, Any] = field(default_factory=dict)


def plan_type(tid: h5t.TypeID) -> TypePlan:
    """Return the plan for elements of HDF5 type ``tid``; unsupported types set ``refused`` instead of
    raising.
    """
    kind = tid.get_class()
    handler = _HANDLERS.get(kind)
    if handler is None:
        name = "time" if kind == h5t.TIME else f"class {kind}"
        return _refuse(f"HDF5's type of {name} has no NumPy equivalent, and its library converts it to none")
    try:
        return handler(tid)
    except KeyError:  # h5py's table of byte orders
        return _refuse("numbers in a byte order (VAX) that NumPy doesn't have")
    except (TypeError, ValueError, OverflowError) as error:
        return _refuse(f"no NumPy equivalent for its HDF5 type: {error}")


def memory_type(tid: h5t.TypeID) -> h5t.TypeID:
    """Return the memory type for reading elements of ``tid`` into an array of ``tid.dtype``.

    It is the file's own type if NumPy has the same bytes: the library can't convert tagged opaque data and
    some bit fields to any other type, and needs no search for a conversion.

    Raises:
        TypeError: for variable-length lists of region references: h5py allocates too little memory for them,
            so the library would write past its end.
    """
    if _verbatim(tid):
        return tid
    if _lists_regions(tid):
        raise TypeError("a variable-length list of region references")
    return h5t.py_create(tid.dtype)


def without_conversion(tid: h5t.TypeID) -> bool:
    """Whether it contains opaque data or bit fields, which can't be converted."""
    kind = tid.get_class()
    if kind == h5t.ARRAY:
        return without_conversion(tid.get_super())
    if kind == h5t.COMPOUND:
        return any(without_conversion(tid.get_member_type(i)) for i in range(tid.get_nmembers()))
    return kind in (h5t.OPAQUE, h5t.BITFIELD)


def _verbatim(tid: h5t.TypeID) -> bool:
    """Whether the bytes of elements in the file equal those of ``tid.dtype``."""
    kind = tid.get_class()
    if kind == h5t.INTEGER:
        return bool(tid.get_precision() == 8 * tid.get_size())
    if kind == h5t.BITFIELD:
        return any(tid.equal(whole) for whole in _BITFIELDS)
    if kind in (h5t.ENUM, h5t.ARRAY):
        return _verbatim(tid.get_super())
    if kind == h5t.COMPOUND:
        return all(_verbatim(tid.get_member_type(i)) for i in range(tid.get_nmembers()))
    return bool(kind == h5t.OPAQUE or (kind == h5t.FLOAT and h5t.py_create(tid.dtype).equal(tid)))


def _lists_regions(tid: h5t.TypeID, inside: bool = False) -> bool:
    """Whether variable-length lists in it contain references other than object references."""
    kind = tid.get_class()
    if kind in (h5t.VLEN, h5t.ARRAY):
        return _lists_regions(tid.get_super(), inside or kind == h5t.VLEN)
    if kind == h5t.COMPOUND:
        return any(_lists_regions(tid.get_member_type(i), inside) for i in range(tid.get_nmembers()))
    return bool(inside and kind == h5t.REFERENCE and not tid.equal(h5t.STD_REF_OBJ))


def _refuse(why: str) -> TypePlan:
    return TypePlan(np.dtype("V1"), refused=why)


def _is_big(dtype: np.dtype) -> bool:
    return dtype.newbyteorder("S").isnative and not dtype.isnative


def wider(tid: h5t.TypeID) -> np.dtype | None:
    """Return the dtype for integers of sizes that NumPy lacks (3, 5, 6, 7 bytes, …); None for other types.

    Raises:
        TypeError: for more than 64 bits.
    """
    if tid.get_class() != h5t.INTEGER or tid.get_size() in (1, 2, 4, 8):
        return None
    bits = tid.get_precision()
    if bits > 64:
        raise TypeError(f"integers of {bits} bits, and Zarr's have at most 64")
    size = next(size for size in (1, 2, 4, 8) if 8 * size >= bits)
    return np.dtype(f"{'i' if tid.get_sign() == h5t.SGN_2 else 'u'}{size}")


def _number(tid: h5t.TypeID) -> TypePlan:
    if (wide := wider(tid)) is not None:
        return TypePlan(
            wide, "wide", note=f"integers of {tid.get_size()} bytes, which only the HDF5 library converts"
        )
    dtype = tid.dtype
    native = dtype.newbyteorder("=")
    wanted = h5t.py_create(dtype)
    plain = wanted.equal(tid)
    if not plain and h5t.find(tid, wanted) is None:
        return _refuse(f"the HDF5 library can't convert its numbers to {dtype}")
    note = "" if plain else "a number format that only the HDF5 library converts"
    if (dtype.kind == "f" and dtype.itemsize > 8) or (dtype.kind == "c" and dtype.itemsize > 16):
        native = np.dtype("f8" if dtype.kind == "f" else "c16")
        return TypePlan(native, "cast", note="long double: rounded to 64-bit floating point")
    return TypePlan(native, linkable=plain, big=_is_big(dtype), note=note)


def _bitfield(tid: h5t.TypeID) -> TypePlan:
    dtype = tid.dtype
    plain = any(tid.equal(whole) for whole in _BITFIELDS)
    note = "" if plain else "a bit field that only the HDF5 library converts"
    return TypePlan(dtype.newbyteorder("="), linkable=plain, big=_is_big(dtype), note=note)


# Bit fields in which all bits are used; the interface does not report the used bits of others.
_BITFIELDS = [
    getattr(h5t, f"STD_B{bits}{order}E")  # the names of the HDF5 library
    for bits in (8, 16, 32, 64)
    for order in "LB"
]


def _string(tid: h5t.TypeID) -> TypePlan:
    if tid.is_variable_str():
        return TypePlan(np.dtype(object), "text", note="variable-length text lies in the file's heap")
    size = tid.get_size()
    plan = TypePlan(np.dtype(f"S{size}"), linkable=True)
    padding = tid.get_strpad()
    # When reading, the library clears bytes after the NUL of a C string and trailing spaces of a Fortran
    # one; a link would not.
    if padding == h5t.STR_SPACEPAD:
        plan.linkable, plan.note = (
            False,
            "text padded with blanks: copied without them, as the HDF5 library reads it",
        )
    elif padding == h5t.STR_NULLTERM and size > 1:
        plan.note = "text ends at its first NUL"
    return plan


def _enum(tid: h5t.TypeID) -> TypePlan:
    base = _number(tid.get_super())
    dtype = tid.dtype
    if dtype.kind == "b":
        base.dtype = np.dtype(bool)
        return base
    names = dict(sorted((h5py.check_enum_dtype(dtype) or {}).items(), key=lambda item: item[1]))
    base.attrs = {
        "flag_values": [int(value) for value in names.values()],
        "flag_meanings": " ".join(str(name).replace(" ", "_") for name in names),
        "enum": {str(name): int(value) for name, value in names.items()},
    }
    return base


def _opaque(tid: h5t.TypeID) -> TypePlan:
    dtype = tid.dtype
    return TypePlan(dtype.newbyteorder("="), linkable=True, big=_is_big(dtype))


def _array(tid: h5t.TypeID) -> TypePlan:
    plan = plan_type(tid.get_super())
    plan.inner = tuple(int(n) for n in tid.get_array_dims()) + plan.inner
    return plan


def _reference(tid: h5t.TypeID) -> TypePlan:
    if tid.equal(h5t.STD_REF_OBJ):
        return TypePlan(
            np.dtype(object), "reference", note="object references, written as the paths they point at"
        )
    return _refuse("region references have no Zarr equivalent")


def _vlen(tid: h5t.TypeID) -> TypePlan:
    return _refuse(f"variable-length sequences (of {tid.get_super().dtype}) have no Zarr equivalent")


def _compound(tid: h5t.TypeID) -> TypePlan:
    dtype = tid.dtype
    if dtype.kind == "c":
        return _number(tid)
    if has_objects(dtype):
        return TypePlan(packed_struct(dtype, placed), "words", note=WORDS)
    packed = packed_struct(dtype)
    linkable = _same_layout(tid, dtype, packed)
    return TypePlan(
        packed,
        "struct",
        linkable,
        note="" if linkable else "records with gaps or fields that need conversion",
    )


def _same_layout(tid: h5t.TypeID, dtype: np.dtype, packed: np.dtype) -> bool:
    """Whether the file holds exactly the bytes of ``packed``."""
    kind = tid.get_class()
    if dtype.itemsize != packed.itemsize or tid.get_size() != packed.itemsize:
        return False
    if kind == h5t.ARRAY:
        return _same_layout(tid.get_super(), dtype.base, packed[0])
    if kind == h5t.COMPOUND and packed.names is not None:
        return all(
            tid.get_member_offset(i) == offset_of(packed, name)
            and offset_of(dtype, name) == offset_of(packed, name)
            and _same_layout(tid.get_member_type(i), dtype[name], packed[name])
            for i, name in enumerate(dtype.names or ())
        )
    plan = plan_type(tid)
    return plan.linkable and not plan.big and not plan.inner and plan.dtype.itemsize == packed.itemsize


_HANDLERS = {
    h5t.INTEGER: _number,
    h5t.FLOAT: _number,
    h5t.BITFIELD: _bitfield,
    h5t.STRING: _string,
    h5t.ENUM: _enum,
    h5t.OPAQUE: _opaque,
    h5t.ARRAY: _array,
    h5t.REFERENCE: _reference,
    h5t.VLEN: _vlen,
    h5t.COMPOUND: _compound,
}
if hasattr(h5t, "COMPLEX"):
    _HANDLERS[h5t.COMPLEX] = _number


# Convert variable-length strings and object references in records to strings of the longest length.
#
# A record in Zarr has one size, so it includes the strings from the file's heap.

WORDS = "records with text of any length or references: copied, these as text as long as the longest"
Read = Callable[[Region], np.ndarray]
_BLOCK = 16 << 20


def has_objects(dtype: np.dtype) -> bool:
    """Whether a record type has fields of Python objects."""
    if dtype.base.names is None:
        return dtype.base.kind == "O"
    return any(has_objects(dtype.base[name]) for name in dtype.base.names)


def placed(dtype: np.dtype, path: tuple[str, ...], longest: int = 1) -> np.dtype:
    """Return the string type of a field, ``longest`` characters long.

    Raises:
        TypeError: for objects other than strings and object references.
    """
    if h5py.check_string_dtype(dtype) is None and h5py.check_ref_dtype(dtype) is not h5py.Reference:
        what = "region references" if h5py.check_ref_dtype(dtype) else "variable-length sequences"
        raise TypeError(f"its field {'.'.join(path)} holds {what}")
    return np.dtype(f"<U{longest}")


def measured(dtype: np.dtype, shape: tuple[int, ...], read: Read, fid: Any) -> np.dtype:
    """Return the packed record type of a dataset, with strings as long as the longest one.

    ``read`` returns the records of a region as h5py objects.
    """
    longest: dict[tuple[str, ...], int] = {}
    for region in _blocks(shape, dtype.itemsize):
        _measure(read(region), fid, longest, ())
    return packed_struct(dtype, lambda field, path: placed(field, path, longest.get(path, 1)))


def spelled(values: np.ndarray, fid: Any) -> np.ndarray:
    """Return strings, and references as paths (``""`` for null references), as ``str`` objects."""
    out = np.empty(values.shape, object)
    flat = out.reshape(-1)
    for i, item in enumerate(values.reshape(-1)):
        flat[i] = spell(item, fid)
    return flat.reshape(values.shape)


def spell(item: Any, fid: Any) -> str:
    """Return one string or reference as ``str``."""
    if isinstance(item, bytes):
        return text(item)
    if isinstance(item, h5py.Reference):
        return text(h5r.get_name(item, fid) or b"") if item else ""
    return item if isinstance(item, str) else ""


def _blocks(shape: tuple[int, ...], itemsize: int) -> Iterator[Region]:
    """Yield regions of about 16 MiB that cover all elements."""
    if not shape:
        yield ()
    elif prod(shape):
        step = max(_BLOCK // (prod(shape[1:]) * itemsize), 1)
        for start in range(0, shape[0], step):
            yield (slice(start, min(start + step, shape[0])), *(slice(0, n) for n in shape[1:]))


def _measure(
    values: np.ndarray, fid: Any, longest: dict[tuple[str, ...], int], path: tuple[str, ...]
) -> None:
    for name in values.dtype.names or ():
        field, here = values[name], (*path, name)
        if field.dtype.names is not None:
            _measure(field, fid, longest, here)
        elif field.dtype.kind == "O":
            most = max(len(spell(item, fid)) for item in field.reshape(-1))
            longest[here] = max(longest.get(here, 1), most)
