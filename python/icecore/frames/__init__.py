"""`reframe`: write time series as frame files of another length and compression."""
