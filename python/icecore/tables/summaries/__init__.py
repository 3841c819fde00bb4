"""Per-zone summaries: min, max, mean, rms, count and intervals of each column."""
