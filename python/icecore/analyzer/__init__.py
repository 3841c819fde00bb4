"""The analyzer: codecs measured on samples of what is packed, and one chosen for a goal."""
