"""Records in HDF5 types: fixed-size Unicode fields become variable-length strings."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np


def records(data: np.ndarray) -> np.ndarray:
    """Return records with Unicode fields as variable-length strings; ``data`` itself if it has none."""
    wanted = _stored(data.dtype)
    if wanted == data.dtype:
        return data
    made = np.empty(data.shape, wanted)
    _copy(data, made)
    return made


def _stored(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.dtype((_stored(base), shape))
    if dtype.names is not None:
        return np.dtype([(name, _stored(dtype[name])) for name in dtype.names]) if _has_text(dtype) else dtype
    return h5py.string_dtype() if dtype.kind == "U" else dtype


def _has_text(dtype: np.dtype[Any]) -> bool:
    fields = [dtype[name].base for name in dtype.names or ()]
    return any(field.kind == "U" or _has_text(field) for field in fields)


def _copy(source: np.ndarray, target: np.ndarray) -> None:
    for name in source.dtype.names or ():
        if source[name].dtype.names is not None:
            _copy(source[name], target[name])
        else:
            target[name] = source[name].astype(target[name].dtype)
