"""Versions of a repository, their differences, and copies."""
