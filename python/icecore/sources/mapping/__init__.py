"""Common model of all sources: arrays, attributes, chunk locations; and joins of several files."""
