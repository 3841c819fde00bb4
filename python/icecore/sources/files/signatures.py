"""Magic numbers of array file formats."""

from __future__ import annotations

HDF5 = b"\x89HDF\r\n\x1a\n"
NETCDF3 = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
NPY = b"\x93NUMPY"
ROOT = b"root"
#: HDF4, a different format from HDF5 whose files also have the suffix .hdf
HDF4 = b"\x0e\x03\x13\x01"


def is_root(start: bytes) -> bool:
    """Whether a file that begins with ``start`` is a ROOT file.

    A version (4 bytes, of any sign) and the place of the first object follow; text has no zeros.
    """
    return start.startswith(ROOT) and (start[4:5] == b"\0" or start[8:10] == b"\0\0")


def arrays_in(start: bytes) -> str:
    """Return the array format of a file that begins with ``start``, or ""."""
    if start.startswith(HDF5):
        return "HDF5 or netCDF-4"
    if start.startswith(NETCDF3):
        return "netCDF-3"
    if is_root(start):
        return "ROOT"
    return "NumPy's .npy" if start.startswith(NPY) else ""


#: gravitational-wave frame files
GWF = b"IGWD\0"
