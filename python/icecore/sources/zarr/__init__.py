"""Zarr v2 and v3 stores, in directories and zip archives."""
