"""Atomic output: files and directories appear when they are complete, or not at all."""
