"""A repository at one version: nodes, arrays, selections, attributes, read plans, changes."""
