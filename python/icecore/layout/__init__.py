"""Chunk and shard shapes: stated access patterns, their cost, and measured trials."""
