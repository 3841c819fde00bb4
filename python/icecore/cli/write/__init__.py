"""Commands that create and convert data."""
