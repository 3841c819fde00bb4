"""The demonstration: sample files, linked and packed and read back, checked element by element."""
