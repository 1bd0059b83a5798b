"""Provenance graphs that a cluster holds: RQ, CCProv and CSProv as DataFrame programs (Rajmohan et al.), and the lineage of our own runs as such a graph.

``incoming`` makes triples of a user's DataFrame, ``components`` and ``sets`` partition them, ``plans`` say what of them a question has to read.
"""
