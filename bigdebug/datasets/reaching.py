"""Reaching: what is upstream or downstream of a dataset, or of a column, as answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from bigdebug.datasets.answers import Answer
from bigdebug.datasets.graph import (
    columns_reached,
    flows,
    is_direct,
    links,
    queries_of,
    queries_of_columns,
    reached,
)
from bigdebug.datasets.matching import Meant
from bigdebug.datasets.rows import datasets_of, moment
from bigdebug.datasets.steps import UNKNOWN
from bigdebug.datasets.words import hows, more


def datasets(db: sqlite3.Connection, of: Meant, upstream: bool, limit: int) -> Answer:
    """The datasets on one side of one, nearest first. Queries that used what is downstream are counted in a note."""
    found = reached({of.id: 0}, links(db, [of.id], upstream))
    jobs = flows(db, [flow for each in found[:limit] for flow in each.flows])
    names = datasets_of(db, [each.id for each in found[:limit]])
    rows = []
    for each in found[:limit]:
        last = max((jobs[flow] for flow in each.flows), key=lambda flow: flow.last)
        by = tuple(dict.fromkeys(jobs[flow].job for flow in each.flows))
        rows.append((each.steps, str(names[each.id]), names[each.id].kind, by, moment(last.last), last.status))
    queries = 0 if upstream else queries_of(db, of.id, (each.id for each in found))
    columns = ("steps", "dataset", "kind", "by", "last run", "status")
    return Answer(f"{_side(upstream)} of {of.dataset}", columns, tuple(rows)).noting(of.note, more(len(found), limit), _queries(queries))


def columns(db: sqlite3.Connection, of: Meant, name: str, upstream: bool, limit: int) -> Answer:
    """The columns on one side of a column, nearest first, with how they are used over all steps."""
    found = columns_reached(db, of.id, name, upstream)
    names = datasets_of(db, {each.id for each in found[:limit]})
    rows = tuple((each.steps, str(names[each.id]), each.name or "(all columns)", _influence(each.how), hows(each.how)) for each in found[:limit])
    queries = 0 if upstream else queries_of_columns(db, (of.id, name), ((each.id, each.name) for each in found))
    unknown = "Of some steps it is not known which columns go into which." if any(UNKNOWN in each.how for each in found) else ""
    return Answer(f"{_side(upstream)} of {name} of {of.dataset}", ("steps", "dataset", "column", "influence", "how"), rows).noting(
        of.note, more(len(found), limit), _queries(queries), unknown,
    )


def _side(upstream: bool) -> str:
    return "Upstream" if upstream else "Downstream"


def _influence(how: Iterable[str]) -> str:
    return "value" if is_direct(how) else "not known" if UNKNOWN in how else "decides"


def _queries(count: int) -> str:
    return f"{count:,} {'query' if count == 1 else 'queries'} used it, too, and wrote nothing." if count else ""
