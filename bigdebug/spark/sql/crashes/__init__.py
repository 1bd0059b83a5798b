"""Crashes of queries: on which rows an operator throws, what is told of them, and how the action goes on without (DESIGN 4.3)."""
