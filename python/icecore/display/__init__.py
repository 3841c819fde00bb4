"""Display: numbers and trees as text, HTML for notebooks, progress, scatter plots."""
