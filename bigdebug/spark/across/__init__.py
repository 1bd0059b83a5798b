"""Captured runs as steps of a pipeline: which records of the files that they read made which records of those that they wrote (Newt 3.3).

``folders`` lists what an action wrote when it has ended, ``endings`` keeps it, for later it may be gone. Everything else is found out when somebody asks:
``saved`` has the runs of RDDs, ``lines`` the lines of their records; ``targets`` says what a write of a DataFrame wrote and how, ``content`` finds rows of
files by what is in them, ``frames`` has their runs; ``sources`` follows traces to the files that were read, also through ``crossing``.
"""
