"""Files as sources read them: bytes by range, identity, archives, compressed streams."""
