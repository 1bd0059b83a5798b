"""Spelling: Spark takes columns that differ by case alone for one, so ``AMT`` that a schema of the user's reads of files with ``amt`` is stored as ``amt``."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from bigdebug.datasets.model import Access, ColumnEdge, Dataset

Column = tuple[Dataset, str]

_NEW = """
WITH asked (key, id, name) AS (SELECT key, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?1))
SELECT key, id FROM asked
WHERE NOT EXISTS (SELECT 1 FROM touch CROSS JOIN edge ON edge.output = touch.other AND edge."column" = asked.name WHERE touch.dataset = asked.id)
AND NOT EXISTS (SELECT 1 FROM touch CROSS JOIN edge ON edge.input = touch.other AND edge.used = asked.name WHERE touch.dataset = asked.id)
"""

_MOST = 100
"""Datasets at a place that are looked at: below a folder there may be thousands, of the same columns."""

_NAMES = """
WITH RECURSIVE one (name) AS (
    SELECT MIN({name}) FROM edge WHERE {side} = ?1 UNION ALL
    SELECT (SELECT MIN({name}) FROM edge WHERE {side} = ?1 AND {name} > one.name) FROM one WHERE one.name IS NOT NULL
) SELECT name FROM one WHERE name <> ''
"""


def stored(text: str) -> str:
    """A text as SQLite takes it: half of a surrogate pair is no text there, and is written as an escape."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def stored_column(name: str) -> str:
    """The name of a column as edges have it: with an escape for a NUL, too, at which SQLite's JSON ends a text."""
    return stored(name).replace("\0", "\\x00")


def spelled(db: sqlite3.Connection, edges: Sequence[ColumnEdge], accesses: Iterable[Access], known: Mapping[Dataset, int]) -> dict[Column, str]:
    """The columns of edges that are stored otherwise than they are called, and how: as a dataset's column is called since it was first seen. A dataset that
    has two columns here which differ by case alone (``spark.sql.caseSensitive``) has them as they are called.

    Costs 3 us for each column that is stored already, and 5 us for each column of a dataset that has a new one.
    """
    every = list(dict.fromkeys((dataset, name) for edge in edges for dataset, name in ((edge.output, edge.column), (edge.input, edge.used)) if name))
    asked = [(known[dataset], stored_column(name)) for dataset, name in every]
    new = db.execute(_NEW, (json.dumps(asked),)).fetchall()
    if not new:
        return {}
    others = _others(db, {number for _, number in new})
    told = _told(every, accesses)
    found: dict[Column, str] = {}
    for key, number in new:
        dataset, name = every[key]
        alike = others[number].get(name.lower(), set())
        if len(alike) == 1 and len(told[dataset, name.lower()]) == 1:
            found[dataset, name] = next(iter(alike))
    return found


def merged(schema: Iterable[str], stored: Iterable[str]) -> list[str]:
    """The columns of a schema, as they are stored where that is otherwise, and others that are stored."""
    names, every = list(schema), set(stored)
    others = {name.lower(): name for name in every.difference(names)}
    for i, name in enumerate(names):
        if name not in every and name.lower() in others and sum(each.lower() == name.lower() for each in names) == 1:
            names[i] = others.pop(name.lower())
    return list(dict.fromkeys([*names, *sorted(every)]))


def _others(db: sqlite3.Connection, datasets: Iterable[int]) -> dict[int, dict[str, set[str]]]:
    """The columns that are stored of datasets, and of those at their places, by their names in lower case."""
    found: dict[int, dict[str, set[str]]] = {}
    for number in datasets:
        names = found.setdefault(number, {})
        for (other,) in db.execute("SELECT other FROM touch WHERE dataset = ? ORDER BY other <> dataset LIMIT ?", (number, _MOST)).fetchall():
            for side, name in (("output", '"column"'), ("input", "used")):
                for (one,) in db.execute(_NAMES.format(side=side, name=name), (other,)):
                    names.setdefault(one.lower(), set()).add(one)
    return found


def _told(columns: Iterable[Column], accesses: Iterable[Access]) -> dict[Column, set[str]]:
    """All names that a process has for the columns of its datasets, by these in lower case."""
    found: dict[Column, set[str]] = {}
    for dataset, name in (*columns, *((access.dataset, field.name) for access in accesses for field in access.schema)):
        found.setdefault((dataset, name.lower()), set()).add(name)
    return found
