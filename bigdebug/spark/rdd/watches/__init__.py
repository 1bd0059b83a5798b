"""Watches of RDD programs: what running tasks are asked to tell, and what becomes of it (BigDebug 4.2, 4.4)."""
