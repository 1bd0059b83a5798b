"""Doubts: what has to be said beside what was reached, for it is more or less than what was recorded can tell."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from itertools import islice

from bigdebug.datasets.rows import datasets_of

_SHOWN = 3
"""Datasets that a note names."""

_NEAREST = 100
"""Datasets, and columns, that are looked at: the nearest ones."""

_ASKED = "WITH asked (id, name) AS (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))"

_TELLS = """
EXISTS (SELECT 1 FROM schema, json_each(schema.fields) told WHERE schema.id = m.schema AND lower(json_extract(told.value, '$[0]')) = lower(asked.name))
"""

_SEEN = "touch JOIN passage a ON a.dataset = touch.other JOIN process p ON p.flow = a.flow JOIN measure m ON m.process = p.number AND m.number = a.number"

_WRITTEN_OTHERWISE = f"""{_ASKED}
SELECT DISTINCT asked.id FROM asked
WHERE EXISTS (SELECT 1 FROM {_SEEN} WHERE touch.dataset = asked.id AND a.written = 1 AND m.schema IS NOT NULL)
AND NOT EXISTS (SELECT 1 FROM {_SEEN} WHERE touch.dataset = asked.id AND a.written = 1 AND {_TELLS})
"""

_READ_OTHERWISE = f"""{_ASKED}
SELECT DISTINCT asked.id FROM asked
WHERE EXISTS (SELECT 1 FROM touch JOIN dataset d ON d.id = touch.other WHERE touch.dataset = asked.id AND d.format IN ('csv', 'text'))
AND EXISTS (SELECT 1 FROM {_SEEN} WHERE touch.dataset = asked.id AND a.written = 0 AND m.schema IS NOT NULL AND NOT {_TELLS})
"""

_MADE_AGAIN = """
SELECT DISTINCT a.dataset FROM json_each(?) some JOIN passage a ON a.dataset = some.value AND a.written = 1 AND a.mode = 'dropped' JOIN process p ON p.flow = a.flow
WHERE EXISTS (
    SELECT 1 FROM passage b JOIN process q ON q.flow = b.flow WHERE b.dataset = a.dataset AND b.written = 1 AND b.mode <> 'dropped' AND q.started > p.started
)
"""

_OUT_OF_TIME = """
WITH reached (id) AS MATERIALIZED (SELECT value FROM json_each(?1)),
reached_too (id) AS MATERIALIZED (SELECT DISTINCT touch.other FROM reached CROSS JOIN touch ON touch.dataset = reached.id),
some_writing (flow) AS MATERIALIZED (SELECT DISTINCT w.flow FROM reached_too CROSS JOIN passage w ON w.dataset = reached_too.id AND w.written = 1),
one (flow) AS MATERIALIZED (
    SELECT DISTINCT r.flow FROM some_writing CROSS JOIN passage r ON r.flow = some_writing.flow AND r.written = 0 CROSS JOIN reached_too ON reached_too.id = r.dataset
),
times (flow, began, over) AS MATERIALIZED (
    SELECT one.flow, MIN(process.started), MAX(COALESCE(process.ended, 9223372036854775807)) FROM one CROSS JOIN process ON process.flow = one.flow GROUP BY one.flow
)
SELECT DISTINCT here FROM (
    SELECT touch.other AS here, {grouped} FROM times one_reader CROSS JOIN passage r ON r.flow = one_reader.flow AND r.written = 0 CROSS JOIN touch ON touch.dataset = r.dataset
    CROSS JOIN passage w ON w.dataset = touch.other AND w.written = 1 AND w.mode <> 'dropped' CROSS JOIN times writer ON writer.flow = w.flow
    GROUP BY touch.other, {grouped} HAVING MIN(writer.began) > MAX(one_reader.over)
)
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


def of_datasets(db: sqlite3.Connection, reached: Iterable[int], upstream: bool) -> str:
    """What is to be said of datasets on the way that were dropped and made again, or read by a job on the way for the last time before another one wrote into them
    for the first time: what they held before and after is not told apart.
    Looks at the nearest, which takes some milliseconds.
    """
    every = json.dumps(list(islice(reached, _NEAREST)))
    again = [number for (number,) in db.execute(_MADE_AGAIN, (every,))]
    later = [number for (number,) in db.execute(_OUT_OF_TIME.format(grouped="writer.flow" if upstream else "one_reader.flow"), (every,)) if number not in again]
    return " ".join(filter(None, (
        f"{_named(db, again)} was dropped and made again: this is told of all that it ever was." if again else "",
        f"{_named(db, later)} was written again after it was read: this is told of all that it ever held." if later else "",
    )))


def _named(db: sqlite3.Connection, which: list[int]) -> str:
    names = sorted(map(str, datasets_of(db, which[:_SHOWN]).values()))
    return f"{', '.join(names)}{f' and {len(which) - _SHOWN:,} more' * (len(which) > _SHOWN)}"

