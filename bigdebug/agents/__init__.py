"""Capture agents: what runs inside the executors. Standard library, numpy and pyarrow only, and never pyspark.

A stage of the program is one partition function (``stage``): a reader (``readers``) gives the records of the first
level, segments (``segments``, ``merge``) carry them from level to level and note associations, an emission
(``emit``) hands the last level on, and the notes are committed as one block.
"""
