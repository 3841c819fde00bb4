"""Codec analyzer: measures codecs on samples of the data and chooses one for a goal."""
