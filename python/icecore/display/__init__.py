"""What people look at: numbers and trees as text, HTML for notebooks, progress, scatter plots."""
