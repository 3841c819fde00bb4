"""References to linked files in the formats of other programs."""
