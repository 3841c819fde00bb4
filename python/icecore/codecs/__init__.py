"""Codecs: parser of codec specifications, and the classes for zarr-python's entry points."""
