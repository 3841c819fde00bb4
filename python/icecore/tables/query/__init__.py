"""Rows of a table and numbers about them: scans, reductions, regions, Arrow, Polars."""
