"""Plan of a link or pack: sources, variables, the place of each array, layout and codecs."""
