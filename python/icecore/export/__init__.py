"""Selections written to files: npy, csv, parquet, netCDF, HDF5 and pictures."""
