"""`link`, `pack`, `follow` and `assay`: from sources to a commit and a report."""
