"""Describing: the columns of a dataset, as it was last seen."""

from __future__ import annotations

import sqlite3

from bigdebug.datasets.answers import Answer
from bigdebug.datasets.matching import Meant
from bigdebug.datasets.model import Field
from bigdebug.datasets.rows import datasets_of, schema_of
from bigdebug.datasets.spelling import merged, stored_column
from bigdebug.datasets.steps import steps_from
from bigdebug.datasets.uses import DIRECT
from bigdebug.datasets.words import hows


def columns(db: sqlite3.Connection, of: Meant) -> Answer:
    """Its columns with their types, and which columns each was made of, by any of the jobs that wrote it."""
    names = names_of_columns(db, of.id)
    schema = _schema(db, of.id)
    types = {stored_column(each.name).lower(): each for each in schema} | {stored_column(each.name): each for each in schema}
    made: dict[str, dict[tuple[int, str], set[str]]] = {}
    for (_, name), steps in steps_from(db, [(of.id, name) for name in names], upstream=True).items():
        for source, used, how in steps:
            if how in DIRECT:
                made.setdefault(name, {}).setdefault((source, used), set()).add(how)
    named = datasets_of(db, {source for uses in made.values() for source, _ in uses})
    rows = []
    for name in names:
        known = types.get(name) or types.get(name.lower())
        sources = tuple(f"{named[source]} {used or '(all columns)'} ({hows(how)})" for (source, used), how in made.get(name, {}).items())
        rows.append((name, "" if known is None else known.type, "" if known is None or known.nullable else "not null", sources))
    return Answer(f"Columns of {of.dataset}", ("column", "type", "nulls", "made of"), tuple(rows)).noting(of.note)


def names_of_columns(db: sqlite3.Connection, dataset: int) -> list[str]:
    """Those of its last schema, and others that were used or written at some time."""
    used = db.execute(
        """SELECT edge."column" FROM touch JOIN edge ON edge.output = touch.other WHERE touch.dataset = ?1 AND edge."column" <> ''
        UNION SELECT edge.used FROM touch JOIN edge ON edge.input = touch.other WHERE touch.dataset = ?1 AND edge.used <> ''""", (dataset,),
    )
    return merged((stored_column(each.name) for each in _schema(db, dataset)), (name for (name,) in used))


def _schema(db: sqlite3.Connection, dataset: int) -> tuple[Field, ...]:
    """As it was last written; or read, if nobody wrote it. Who failed may not have written it so, and comes last."""
    found = db.execute(
        """SELECT m.schema FROM touch t JOIN passage a ON a.dataset = t.other JOIN process p ON p.flow = a.flow
        JOIN measure m ON m.process = p.number AND m.number = a.number
        WHERE t.dataset = ? AND m.schema IS NOT NULL ORDER BY p.status <> 'failed' DESC, a.dataset = t.dataset DESC, a.written DESC, p.started DESC LIMIT 1""", (dataset,),
    ).fetchone()
    return () if found is None else schema_of(db, found[0])
