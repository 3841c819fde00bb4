"""Demonstration: link and pack sample files, read them back, and check every element."""
