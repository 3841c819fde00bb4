"""Generate sample files for the demonstration, the studies and the tests."""
