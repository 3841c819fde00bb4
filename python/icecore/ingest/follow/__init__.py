"""Ingest in batches: files that arrive in a directory, and files that are already committed."""
