"""Lineage of DataFrames and SQL, derived from their plans.

``plans`` reads and makes Spark's plans, and knows nothing of lineage. The modules beside this one derive it: what is named, by which procedures, and how a
trace goes. On these stand ``crashes``, ``inquiry`` (wrong results) and ``brushing`` (linked views).
"""
