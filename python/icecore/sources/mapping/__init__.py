"""What every source becomes: arrays, attributes, chunk locations; and how files are joined."""
