"""The lineage store: association tables as blocks on disk, and the catalog of runs that they belong to."""
