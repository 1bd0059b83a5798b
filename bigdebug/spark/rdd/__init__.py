"""RDD programs: a drop-in context, RDDs that remember their operators, the stage compiler, and traces as RDDs."""
