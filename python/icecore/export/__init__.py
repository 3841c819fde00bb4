"""Write selections to files: npy, csv, parquet, netCDF, HDF5 and PNG."""
