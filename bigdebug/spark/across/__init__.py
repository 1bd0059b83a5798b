"""Captured runs as steps of a pipeline: which records of the files that they read made which records of those that they wrote (Newt 3.3).

``folders`` lists what an action wrote when it has ended, ``targets`` says where and how that was, and ``endings`` keeps both, for later they may be gone. Everything else is
found out when somebody asks, by ``runs``, which has a step (``runstep``) for each run: ``saved`` those of RDDs, with ``lines`` for the lines of their records; ``frames`` those of
DataFrames, of which ``content`` finds rows by what is in them, as ``written`` has it, and ``elsewhere`` those of files that were changed since. ``sources`` follows traces to the files that were read (``leaffiles``: by a query), also
through ``crossing``. ``kept`` is what a saved session has of all this.
"""
