"""Lineage across steps: what one step wrote and another read is the same data (Newt 3.3, 5.1). Pure.

``located`` names records by where they stand in files, ``stamps`` says whether a file is still the one that was written, ``step`` is what every step can tell: which
records it read made which that it wrote. ``dataflow`` joins steps by the files between them, ``flowing`` follows records through them, in the ``ways`` in which steps count, ``flow`` is what was found.
Where two steps count a file in different ways, ``units`` turns the positions: ``opened`` has the bytes, ``cuts`` where records begin and end in them, ``stored`` reads them.
``pipelines`` is what users hold, ``asked`` reads their questions, and ``containment`` knows jobs, stages, tasks and operators.
"""
