"""Access to source files: byte ranges, identity, archives, compressed streams."""
