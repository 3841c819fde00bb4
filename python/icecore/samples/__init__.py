"""Generate sample files for the demonstration, the benchmarks and the tests."""
