"""Text and binary tables packed into columns, and restored byte for byte."""
