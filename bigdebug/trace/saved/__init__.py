"""Saved sessions: runs and their lineage in a directory, written by one process and opened by another, without Spark (notes/store-format.md)."""
