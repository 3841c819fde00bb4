"""Codecs: the names that users type, and the classes that zarr-python loads through its entry points."""
