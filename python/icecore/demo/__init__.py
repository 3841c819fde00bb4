"""The demonstration: sample files, linked and packed and read back, checked element by element."""

from icecore.demo.run import Check, Outcome, run

__all__ = ["Check", "Outcome", "run"]
