"""Output files and directories that appear when they are complete, or not at all."""
