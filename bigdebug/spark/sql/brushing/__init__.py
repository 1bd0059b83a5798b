"""Queries as linked views: the rows of a result as marks, and what of them follows a brush."""
