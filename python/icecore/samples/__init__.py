"""Sample files that icecore makes itself, for the demonstration, the studies and the tests."""
