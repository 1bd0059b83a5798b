"""Lineage across steps: what one step wrote and another read is the same data (Newt 3.3, 5.1). Pure.

``located`` names records by where they stand in files, ``stamps`` says whether a file is still the one that was written,
``step`` is what every step can tell: which records it read made which that it wrote. ``units`` turns lines into rows and back,
``dataflow`` joins steps by the files between them, and ``flow`` is a question that went through.
"""
