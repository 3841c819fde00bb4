"""Tables: groups of equal-length 1-D arrays, packed from text, restored, scanned, summarised."""
