"""Writers: groups, arrays, regions and appended rows in one atomic commit."""
