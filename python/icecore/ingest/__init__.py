"""`link`, `pack`, `follow` and `assay`: write sources into a repository and report on it."""
