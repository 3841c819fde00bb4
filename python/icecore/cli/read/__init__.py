"""Commands that read and print data."""
