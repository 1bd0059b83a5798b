"""Crashes of RDD programs: which records functions crash on, what is told of them, and how the action goes on without (DESIGN 4.3)."""
