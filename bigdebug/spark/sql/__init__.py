"""Lineage of DataFrames and SQL, derived from their plans."""
