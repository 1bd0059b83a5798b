"""Doubts: what has to be said beside what was reached, for it is more or less than what was recorded can tell."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from itertools import islice
from typing import Any

from bigdebug.datasets.rows import datasets_of

_SHOWN = 3
"""Datasets that a note names."""

_NEAREST = 100
"""Datasets, and columns, that are looked at: the nearest ones."""

_ASKED = "WITH asked (id, name) AS (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))"

_TELLS = """
EXISTS (SELECT 1 FROM schema, json_each(schema.fields) told WHERE schema.id = one.schema AND lower(json_extract(told.value, '$[0]')) = lower(asked.name))
"""

_SEEN = "touch JOIN passage a ON a.dataset = touch.other JOIN process p ON p.flow = a.flow JOIN measure m ON m.process = p.number AND m.number = a.number"

_SCHEMAS = f"(SELECT DISTINCT m.schema FROM {_SEEN} WHERE touch.dataset = asked.id AND a.written = {{written}} AND m.schema IS NOT NULL) one"
"""There are few, however often something was done: only these are read, and only up to the first that answers."""

_WRITTEN_OTHERWISE = f"""{_ASKED}
SELECT DISTINCT asked.id FROM asked
WHERE EXISTS (SELECT 1 FROM {_SCHEMAS.format(written=1)}) AND NOT EXISTS (SELECT 1 FROM {_SCHEMAS.format(written=1)} WHERE {_TELLS})
"""

_READ_OTHERWISE = f"""{_ASKED}
SELECT DISTINCT asked.id FROM asked
WHERE EXISTS (SELECT 1 FROM touch JOIN dataset d ON d.id = touch.other WHERE touch.dataset = asked.id AND d.format IN ('csv', 'text'))
AND EXISTS (SELECT 1 FROM {_SCHEMAS.format(written=0)} WHERE NOT {_TELLS})
"""

_MADE_AGAIN = """
SELECT some.value FROM json_each(:reached) some CROSS JOIN passage a ON a.dataset = some.value AND a.written = 1 CROSS JOIN process p ON p.flow = a.flow
GROUP BY some.value HAVING MAX(CASE WHEN a.mode <> 'dropped' THEN p.started END) > MIN(CASE a.mode WHEN 'dropped' THEN p.started END)
"""

_MOVED = """
SELECT DISTINCT d.id FROM json_each(:reached) some CROSS JOIN touch near ON near.dataset = some.value
CROSS JOIN dataset d ON d.id = near.other AND d.location <> '' CROSS JOIN touch ON touch.dataset = d.id
CROSS JOIN dataset o ON o.id = touch.other AND o.place <> d.place
WHERE instr(o.place, rtrim(d.place, '/') || '/') <> 1 AND instr(d.place, rtrim(o.place, '/') || '/') <> 1
"""

_ON_THE_WAY = """
WITH reached (id) AS MATERIALIZED (SELECT value FROM json_each(?)),
reached_too (id) AS MATERIALIZED (SELECT DISTINCT touch.other FROM reached CROSS JOIN touch ON touch.dataset = reached.id),
some_writing (flow) AS MATERIALIZED (SELECT DISTINCT w.flow FROM reached_too CROSS JOIN passage w ON w.dataset = reached_too.id AND w.written = 1)
SELECT DISTINCT r.flow FROM some_writing CROSS JOIN passage r ON r.flow = some_writing.flow AND r.written = 0 CROSS JOIN reached_too ON reached_too.id = r.dataset
"""
"""What was done on the way: flows that read some of the datasets that are reached, and write others or the same."""

_ONE = "WITH one (flow) AS MATERIALIZED (SELECT value FROM json_each(:ways))"

_OUT_OF_TIME = f"""{_ONE},
some_jobs (flow, began, over) AS MATERIALIZED (
    SELECT one.flow, MIN(process.started), MAX(COALESCE(process.ended, 9223372036854775807)) FROM one CROSS JOIN process ON process.flow = one.flow GROUP BY one.flow
),
some_read (dataset, over) AS MATERIALIZED (
    SELECT r.dataset, {{some}}(some_jobs.over) FROM some_jobs CROSS JOIN passage r ON r.flow = some_jobs.flow AND r.written = 0 GROUP BY r.dataset
),
some_written (dataset, began) AS MATERIALIZED (
    SELECT w.dataset, {{some}}(some_jobs.began) FROM some_jobs CROSS JOIN passage w ON w.flow = some_jobs.flow AND w.written = 1 AND w.mode <> 'dropped' GROUP BY w.dataset
)
SELECT touch.other FROM some_read CROSS JOIN touch ON touch.dataset = some_read.dataset CROSS JOIN some_written ON some_written.dataset = touch.other
GROUP BY touch.other HAVING {{some}}(some_written.began) > {{some}}(some_read.over)
"""
"""With MAX for ``some``: what a job began to write after all had read it, upstream. With MIN: what a job had read before any began to write it, downstream."""

_OVERWRITTEN = f"""{_ONE},
some_over (dataset, began, flow) AS MATERIALIZED (
    SELECT w.dataset, MAX(p.started), w.flow FROM json_each(:reached) some CROSS JOIN passage w ON w.dataset = some.value AND w.written = 1 AND w.mode IN ('overwritten', 'truncated')
    CROSS JOIN process p ON p.flow = w.flow AND p.status = 'succeeded' WHERE NOT EXISTS (
        SELECT 1 FROM passage itself CROSS JOIN touch ON touch.dataset = itself.dataset AND touch.other = w.dataset WHERE itself.flow = w.flow AND itself.written = 0
    ) GROUP BY w.dataset
)
SELECT DISTINCT some_over.dataset FROM some_over CROSS JOIN passage w ON w.dataset = some_over.dataset AND w.written = 1 CROSS JOIN one ON one.flow = w.flow
WHERE {{otherwise}} AND NOT EXISTS (SELECT 1 FROM process p WHERE p.flow = one.flow AND (p.started >= some_over.began OR p.ended IS NULL))
"""
"""Which were overwritten, by what did not read them, after a job on the way had written them for the last time and ``otherwise``."""

_FROM_OTHERS = """
EXISTS (SELECT 1 FROM passage r WHERE r.flow = one.flow AND r.written = 0 AND NOT EXISTS (
    SELECT 1 FROM passage now WHERE now.flow = some_over.flow AND now.written = 0 AND now.dataset = r.dataset
))
"""

_OF_OTHERS = "(SELECT lineage FROM flow WHERE id = one.flow) IS NOT (SELECT lineage FROM flow WHERE id = some_over.flow)"

_FAILED = f"""{_ONE}
SELECT DISTINCT flow.job FROM one CROSS JOIN flow ON flow.id = one.flow WHERE NOT EXISTS (SELECT 1 FROM process p WHERE p.flow = one.flow AND p.status <> 'failed')
"""


def of_columns(db: sqlite3.Connection, ends: Iterable[tuple[int, str]], upstream: bool) -> str:
    """What is to be said of columns at which a walk ended: it ends where who read a dataset has other columns than who wrote it, as those of CSV are, which have
    none by themselves. Costs 20 us for each of the nearest, at which it looks.
    """
    asked = json.dumps([each for each in islice(ends, _NEAREST) if each[1]])
    found = [number for (number,) in db.execute(_WRITTEN_OTHERWISE if upstream else _READ_OTHERWISE, (asked,))]
    if not found:
        return ""
    side = "what its columns were made of" if upstream else "what was made of its columns"
    return f"{_named(db, found)} was read with other columns than it was written with: {side} is not known from there on."


def of_datasets(db: sqlite3.Connection, reached: Iterable[int], upstream: bool, columns: bool = False) -> str:
    """What is to be said of datasets on the way that were dropped and made again, or moved, or read by a job on the way for the last time before another one wrote into them
    for the first time, or overwritten by another one since, from other sources (or ``columns``): what they held before and after is not told apart. And of jobs on
    the way that failed whenever they ran.
    Looks at the nearest, which takes some milliseconds.
    """
    every = list(islice(reached, _NEAREST))
    ways = [flow for (flow,) in db.execute(_ON_THE_WAY, (json.dumps(every),))]

    def asked(question: str, *said: list[int]) -> list[Any]:
        found = db.execute(question, {"reached": json.dumps(every), "ways": json.dumps(ways)})
        return [each for (each,) in found if not any(each in some for some in said)]

    again = asked(_MADE_AGAIN)
    moved = asked(_MOVED, again)
    later = asked(_OUT_OF_TIME.format(some="MAX" if upstream else "MIN"), again)
    over = asked(_OVERWRITTEN.format(otherwise=_OF_OTHERS if columns else _FROM_OTHERS), again, later)
    failed = sorted(asked(_FAILED))
    return " ".join(filter(None, (
        f"{_named(db, again)} was dropped and made again: this is told of all that it ever was." if again else "",
        f"{_named(db, moved)} was elsewhere before: this is told of all places where it ever was." if moved else "",
        f"{_named(db, later)} was written again after it was read: this is told of all that it ever held." if later else "",
        f"{_named(db, over)} was overwritten since by another job, or another version of it: this is told of all that it ever held." if over else "",
        f"{_and_more(failed[:_SHOWN], len(failed))} failed whenever it ran: what it was to write is told, too." if failed else "",
    )))


def _named(db: sqlite3.Connection, which: list[int]) -> str:
    return _and_more(sorted(map(str, datasets_of(db, which[:_SHOWN]).values())), len(which))


def _and_more(names: list[str], count: int) -> str:
    return f"{', '.join(names)}{f' and {count - len(names):,} more' * (count > len(names))}"

