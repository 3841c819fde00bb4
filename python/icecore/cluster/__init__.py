"""Dask clusters: connection, tasks with a bounded number in flight, reductions in a tree."""
