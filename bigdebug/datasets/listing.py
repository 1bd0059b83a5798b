"""Listing: what there is, and what was done, latest first."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from bigdebug.datasets.answers import Answer
from bigdebug.datasets.brief import is_called
from bigdebug.datasets.changes import schema_change
from bigdebug.datasets.ends import RESULT
from bigdebug.datasets.matching import Meant
from bigdebug.datasets.model import Process
from bigdebug.datasets.rows import datasets_of, moment, read, schema_of
from bigdebug.datasets.spelling import stored
from bigdebug.datasets.words import cell, first_line, more, seconds
from bigdebug.errors import UnknownDatasetError

_FIND = f"""
SELECT dataset.id, COUNT(DISTINCT CASE p.written WHEN 1 THEN flow.job END), COUNT(DISTINCT CASE p.written WHEN 0 THEN flow.job END),
MAX((SELECT MAX(started) FROM process WHERE process.flow = p.flow)) last
FROM dataset LEFT JOIN passage p ON p.dataset = dataset.id LEFT JOIN flow ON flow.id = p.flow
WHERE NOT ({RESULT}) AND (instr(lower(dataset.name), lower(?1)) OR instr(lower(dataset.namespace), lower(?1)))
GROUP BY dataset.id ORDER BY last DESC, dataset.id DESC LIMIT ?2
"""

_HISTORY = """
SELECT DISTINCT p.number, a.mode, m.rows, m.size, m.schema, f.job, p.started, p.ended, p.status, p.error, p.notebook, p.count, p.run, p.id, a.dataset
FROM touch t JOIN passage a ON a.dataset = t.other JOIN flow f ON f.id = a.flow JOIN process p ON p.flow = a.flow
JOIN measure m ON m.process = p.number AND m.number = a.number WHERE t.dataset = ?
ORDER BY p.started DESC, p.number DESC, a.number DESC LIMIT ?
"""

_WRITTEN_BEFORE = """
SELECT m.schema FROM passage a JOIN process p ON p.flow = a.flow JOIN measure m ON m.process = p.number AND m.number = a.number
WHERE a.dataset = ?1 AND a.written = 1 AND m.schema IS NOT NULL AND p.status <> 'failed' AND (p.started, p.number) < (?2, ?3)
ORDER BY p.started DESC, p.number DESC LIMIT 1
"""

_PROCESSES = """
SELECT p.number, p.started, p.ended, p.notebook, p.count FROM process p
WHERE (?1 IS NULL OR p.flow IN (SELECT value FROM json_each(?1))) AND (?2 = '' OR p.status = ?2) ORDER BY p.started DESC, p.number DESC LIMIT ?3
"""


def find(db: sqlite3.Connection, text: str, limit: int) -> Answer:
    """Datasets whose names have a text in them, those that were used last first."""
    found = db.execute(_FIND, (stored(text), limit + 1)).fetchall()
    named = datasets_of(db, [number for number, *_ in found])
    rows = []
    for number, written, used, last in found[:limit]:
        each = named[number]
        rows.append((str(each), each.kind, each.format, written, used, None if last is None else moment(last)))
    columns = ("dataset", "kind", "format", "jobs that write it", "jobs that read it", "last used")
    return Answer(f"Datasets with {text!r} in their names" if text else "Datasets", columns, tuple(rows)).noting(more(len(found), limit))


def history(db: sqlite3.Connection, of: Meant, limit: int) -> Answer:
    """What was done to a dataset and with it, with rows, and what became of its schema since it was last written by what did not fail."""
    found = db.execute(_HISTORY, (of.id, limit + 1)).fetchall()
    rows = []
    for i, row in enumerate(found[:limit]):
        (number, mode, count, size, schema, job, started, ended, status, error, notebook, execution, run, identity, which) = row
        changed = ""
        if mode != "read" and schema is not None:
            before = next((old[4] for old in found[i + 1 :] if old[1] != "read" and old[4] is not None and old[14] == which and old[8] != "failed"), None)
            if before is None and len(found) > limit:  # it is further back than what is shown
                before = next((told for (told,) in db.execute(_WRITTEN_BEFORE, (which, started, number))), None)
            changed = "" if before in (None, schema) else schema_change(schema_of(db, before), schema_of(db, schema))
        rows.append((moment(started), mode, job, count, size, changed, status, first_line(error), cell(notebook, execution), run, seconds(started, ended), identity))
    columns = ("when", "what", "job", "rows", "bytes", "schema", "status", "error", "cell", "run", "seconds", "process")
    return Answer(f"History of {of.dataset}", columns, tuple(rows)).noting(of.note, more(len(found), limit))


def processes(db: sqlite3.Connection, job: str, status: str, limit: int) -> Answer:
    """What was done, by jobs with a text in their names or called so in a table, and with a status; by all, if these are empty."""
    flows = [flow for flow, name in db.execute("SELECT id, job FROM flow") if job in name or is_called(name, job)] if job else None
    found = db.execute(_PROCESSES, (flows if flows is None else json.dumps(flows), status, limit + 1)).fetchall()
    rows: list[tuple[Any, ...]] = []
    for number, started, ended, notebook, execution in found[:limit]:
        told = read(db, number)
        rows.append((
            told.started, told.job, told.sort, told.status, _named(told, "reads"), _named(told, "writes"), seconds(started, ended), first_line(told.error),
            cell(notebook, execution), told.run, told.id,
        ))
    columns = ("when", "job", "sort", "status", "reads", "writes", "seconds", "error", "cell", "run", "process")
    return Answer("Processes", columns, tuple(rows)).noting(more(len(found), limit))


def job_meant(db: sqlite3.Connection, job: str) -> str:
    """The job that a text means. Raises UnknownDatasetError if it means none, or several."""
    job = stored(job)
    names = [name for (name,) in db.execute("SELECT DISTINCT job FROM flow WHERE job = ?1", (job,))]
    every = [] if names else [name for (name,) in db.execute("SELECT DISTINCT job FROM flow ORDER BY job")]
    names = names or [name for name in every if is_called(name, job)] or [name for name in every if job.lower() in name.lower()]
    if not names:
        raise UnknownDatasetError("No such job was recorded", value=job, remedy="processes() lists what was done, with the names of jobs.")
    if len(names) > 1:
        others = " and others" if len(names) > 8 else ""
        raise UnknownDatasetError("Several jobs have this in their names", value=job, remedy=f"Name one of {', '.join(names[:8])}{others}.")
    return str(names[0])


def last_run(db: sqlite3.Connection, job: str, before: str = "") -> str:
    """The id of the last run of a job; or of the last one before that of an id. Empty if there is none."""
    found = db.execute(
        """SELECT p.id FROM process p JOIN flow f ON f.id = p.flow WHERE f.job = ?1
        AND (?2 = '' OR (p.started, p.number) < (SELECT started, number FROM process WHERE id = ?2)) ORDER BY p.started DESC, p.number DESC LIMIT 1""", (job, stored(before)),
    ).fetchone()
    return "" if found is None else str(found[0])


def _named(process: Process, side: str) -> tuple[str, ...]:
    """The datasets that a process read, or wrote, but what a query gave its user."""
    every = [access.dataset for access in getattr(process, side)]
    return tuple(str(each) for each in every if not (each.kind == "memory" and each.name.startswith("result ")))
