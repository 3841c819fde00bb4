"""Adapters to other libraries: xarray backend, stores for zarr-python."""
