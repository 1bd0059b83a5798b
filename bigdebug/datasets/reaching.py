"""Reaching: what is upstream or downstream of a dataset, or of a column, as answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import islice

from bigdebug.datasets import doubts
from bigdebug.datasets.answers import Answer
from bigdebug.datasets.graph import (
    columns_reached,
    flows,
    is_direct,
    queries_of,
    queries_of_columns,
    reach,
)
from bigdebug.datasets.matching import Meant
from bigdebug.datasets.rows import datasets_of, moment
from bigdebug.datasets.uses import UNKNOWN
from bigdebug.datasets.words import hows, more


def datasets(db: sqlite3.Connection, of: Meant, upstream: bool, limit: int) -> Answer:
    """The datasets on one side of one, nearest first. Queries that used what is downstream are counted in a note."""
    found = reach(db, {of.id: 0}, upstream)
    shown = list(islice(found.steps, limit))
    jobs = flows(db, [flow for each in shown for flow in found.flows[each]])
    names = datasets_of(db, shown)
    rows = []
    for each in shown:
        last = max((jobs[flow] for flow in found.flows[each]), key=lambda flow: flow.last)
        by = tuple(dict.fromkeys(jobs[flow].job for flow in found.flows[each]))
        rows.append((found.steps[each], str(names[each]), names[each].kind, by, moment(last.last), last.status))
    queries = 0 if upstream else queries_of(db, of.id, found.steps)
    columns = ("steps", "dataset", "kind", "by", "last run", "status")
    return Answer(f"{_side(upstream)} of {of.dataset}", columns, tuple(rows)).noting(
        of.note, more(len(found.steps), limit), _queries(queries), doubts.of_datasets(db, [of.id, *shown], upstream),
    )


def columns(db: sqlite3.Connection, of: Meant, name: str, upstream: bool, limit: int) -> Answer:
    """The columns on one side of a column, nearest first, with how they are used over all steps."""
    found = columns_reached(db, of.id, name, upstream)
    shown = list(islice(found.steps, limit))
    names = datasets_of(db, {number for number, _ in shown})
    rows = []
    for each in shown:
        how = found.how[each]
        rows.append((found.steps[each], str(names[each[0]]), each[1] or "(all columns)", _influence(how), hows(how)))
    queries = 0 if upstream else queries_of_columns(db, (of.id, name), found.steps)
    unknown = "Of some steps it is not known which columns go into which." if any(UNKNOWN in how for how in set(found.how.values())) else ""
    return Answer(f"{_side(upstream)} of {name} of {of.dataset}", ("steps", "dataset", "column", "influence", "how"), tuple(rows)).noting(
        of.note, more(len(found.steps), limit), _queries(queries), unknown, doubts.of_columns(db, found.ends, upstream),
        doubts.of_datasets(db, dict.fromkeys([of.id, *(number for number, _ in shown)]), upstream, columns=True),
    )


def _side(upstream: bool) -> str:
    return "Upstream" if upstream else "Downstream"


def _influence(how: Iterable[str]) -> str:
    return "value" if is_direct(how) else "not known" if UNKNOWN in how else "decides"


def _queries(count: int) -> str:
    return f"{count:,} {'query' if count == 1 else 'queries'} used it, too, and wrote nothing." if count else ""
