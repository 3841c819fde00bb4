"""Queries of tables: scans, reductions, regions; results as Arrow, NumPy, pandas and Polars."""
