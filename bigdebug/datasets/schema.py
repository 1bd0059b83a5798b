"""The tables of the dataset store, step by step: what brings a store of one version to the next. Statements that have stood in a release stay as they are.

What a job does to which datasets is mostly the same each time it runs. So that is a *flow*, stored once; a process is one time that it was
done. Questions about what feeds what walk over flows, and cost what there is to tell, not how often it was done.
"""

from __future__ import annotations

APPLICATION = 0x62644453
"""Tells our files from other databases ("bdDS")."""

_FIRST = (
    # The place is what the files of a dataset are called: a table and a path are the same data if it is the same.
    """CREATE TABLE dataset (
        id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, format TEXT NOT NULL, location TEXT NOT NULL,
        place TEXT NOT NULL, label TEXT NOT NULL, stem TEXT NOT NULL, UNIQUE (namespace, name)
    )""",
    "CREATE INDEX dataset_place ON dataset (place)",
    # Who reads one reads of the other: the dataset itself, others of the same place, and those above and below it.
    """CREATE TABLE touch (
        dataset INTEGER NOT NULL REFERENCES dataset ON DELETE CASCADE, other INTEGER NOT NULL REFERENCES dataset ON DELETE CASCADE,
        PRIMARY KEY (dataset, other)
    ) WITHOUT ROWID""",
    "CREATE INDEX touch_other ON touch (other)",
    "CREATE INDEX dataset_label ON dataset (label)",
    "CREATE INDEX dataset_stem ON dataset (stem)",
    "CREATE TABLE schema (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, fields TEXT NOT NULL)",
    "CREATE TABLE lineage (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE)",
    # Edges between columns; no column: all of the output.
    """CREATE TABLE edge (
        lineage INTEGER NOT NULL REFERENCES lineage ON DELETE CASCADE, number INTEGER NOT NULL,
        output INTEGER NOT NULL REFERENCES dataset, "column" TEXT NOT NULL, input INTEGER NOT NULL REFERENCES dataset, used TEXT NOT NULL,
        how TEXT NOT NULL, masking INTEGER NOT NULL, PRIMARY KEY (lineage, number)
    ) WITHOUT ROWID""",
    'CREATE INDEX edge_output ON edge (output, "column")',
    "CREATE INDEX edge_input ON edge (input, used)",
    """CREATE TABLE flow (
        id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, job TEXT NOT NULL, sort TEXT NOT NULL, lineage INTEGER REFERENCES lineage
    )""",
    "CREATE INDEX flow_job ON flow (job)",
    "CREATE INDEX flow_lineage ON flow (lineage)",
    """CREATE TABLE passage (
        flow INTEGER NOT NULL REFERENCES flow ON DELETE CASCADE, number INTEGER NOT NULL, dataset INTEGER NOT NULL REFERENCES dataset,
        written INTEGER NOT NULL, mode TEXT NOT NULL, PRIMARY KEY (flow, number)
    ) WITHOUT ROWID""",
    "CREATE INDEX passage_dataset ON passage (dataset, written, flow)",
    # Times are microseconds since 1970, UTC.
    """CREATE TABLE process (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, flow INTEGER NOT NULL REFERENCES flow, session TEXT NOT NULL, started INTEGER NOT NULL,
        ended INTEGER, status TEXT NOT NULL, error TEXT NOT NULL, opaque TEXT NOT NULL, notebook TEXT, cell TEXT, count INTEGER, run TEXT NOT NULL,
        text TEXT NOT NULL
    )""",
    "CREATE INDEX process_flow ON process (flow, started)",
    "CREATE INDEX process_started ON process (started)",
    "CREATE INDEX process_session ON process (session, started)",
    """CREATE TABLE measure (
        process INTEGER NOT NULL REFERENCES process ON DELETE CASCADE, number INTEGER NOT NULL, schema INTEGER REFERENCES schema, rows INTEGER, size INTEGER,
        PRIMARY KEY (process, number)
    ) WITHOUT ROWID""",
    "CREATE INDEX measure_schema ON measure (schema)",
)

_SECOND = (
    # Who runs a session of which something was told while it was running.
    "CREATE TABLE owner (session TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL) WITHOUT ROWID",
    "CREATE INDEX process_running ON process (session) WHERE status = 'running'",
)

STEPS: tuple[tuple[str, ...], ...] = (_FIRST, _SECOND)
"""Number i brings a store of version i to version i + 1."""

VERSION = len(STEPS)
