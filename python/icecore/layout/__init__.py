"""Chunk and shard layout: access patterns, their cost, and benchmarks of layouts."""
