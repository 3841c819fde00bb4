"""Write planned arrays, links, tables and trends."""
