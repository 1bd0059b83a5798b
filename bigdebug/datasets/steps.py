"""Steps: from a column to those that it was made of, or that were made with it, over one flow. Asked one by one, or all read at once for walks that go far."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from bigdebug.datasets.uses import IDENTITY

UNKNOWN = "UNKNOWN"
"""How a column is used by a step of which no columns are known."""

RESULT = "dataset.kind = 'memory' AND dataset.name LIKE 'result %'"
"""Results of queries: nothing is made from them that we would hear of, and there are as many as queries."""

ENDS = """({of}.kind = 'cache' OR {of}.kind = 'view' AND EXISTS (
    SELECT 1 FROM passage defined WHERE defined.dataset = {of}.id AND defined.written = 1 AND defined.mode = 'defined'
) AND NOT EXISTS (
    SELECT 1 FROM passage filled WHERE filled.dataset = {of}.id AND filled.written = 1 AND filled.mode IN ('appended', 'overwritten', 'created', 'written')))"""
"""Views and caches: by the next time they may be defined otherwise, and what reads them says what they were made of when it did. The table of a stream in
memory is none: who reads it does not know the stream.
"""

_ENDING = f"SELECT dataset.id FROM json_each(?) some JOIN dataset ON dataset.id = some.value WHERE {ENDS.format(of='dataset')}"

Column = tuple[int, str]
"""The number of a dataset, and a column of it; all of it, if that has no name."""

Step = tuple[int, str, str]
"""To which dataset, which column, and how that is used."""

_FAR = 64
"""Questions after which a walk has gone so far that all steps are read at once: some ms for a thousand edges, where a question takes a tenth of one."""

_ASKED = "WITH asked (id, name) AS (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))"

_UNKNOWN_STEP = """
    CASE {end}.mode WHEN 'renamed' THEN asked.name ELSE '' END, CASE {end}.mode WHEN 'renamed' THEN 'IDENTITY' ELSE 'UNKNOWN' END
"""
"""Of what is renamed the columns stay; of other steps without columns nothing is known."""

_MADE_OF = f"""{_ASKED}
SELECT asked.id, asked.name, edge.input, edge.used, edge.how FROM asked CROSS JOIN touch ON touch.dataset = asked.id
CROSS JOIN edge ON edge.output = touch.other AND edge."column" IN (asked.name, '') WHERE asked.name <> ''
UNION SELECT asked.id, asked.name, edge.input, edge.used, edge.how FROM asked CROSS JOIN touch ON touch.dataset = asked.id
CROSS JOIN edge ON edge.output = touch.other WHERE asked.name = ''
UNION SELECT asked.id, asked.name, far.dataset, {_UNKNOWN_STEP.format(end="near")} FROM asked CROSS JOIN touch ON touch.dataset = asked.id
CROSS JOIN passage near ON near.dataset = touch.other AND near.written = 1 CROSS JOIN flow ON flow.id = near.flow AND flow.lineage IS NULL
CROSS JOIN passage far ON far.flow = near.flow AND far.written = 0
"""

_MAKES = f"""{_ASKED}
SELECT asked.id, asked.name, edge.output, edge."column", edge.how FROM asked CROSS JOIN touch ON touch.dataset = asked.id
CROSS JOIN edge ON edge.input = touch.other AND edge.used = asked.name CROSS JOIN dataset ON dataset.id = edge.output AND NOT ({RESULT}) WHERE asked.name <> ''
UNION SELECT asked.id, asked.name, edge.output, edge."column", edge.how FROM asked CROSS JOIN touch ON touch.dataset = asked.id
CROSS JOIN edge ON edge.input = touch.other CROSS JOIN dataset ON dataset.id = edge.output AND NOT ({RESULT}) WHERE asked.name = ''
UNION SELECT asked.id, asked.name, far.dataset, {_UNKNOWN_STEP.format(end="far")} FROM asked CROSS JOIN touch ON touch.dataset = asked.id
CROSS JOIN passage near ON near.dataset = touch.other AND near.written = 0 CROSS JOIN flow ON flow.id = near.flow AND flow.lineage IS NULL
CROSS JOIN passage far ON far.flow = near.flow AND far.written = 1 CROSS JOIN dataset ON dataset.id = far.dataset AND NOT ({RESULT})
"""

_ALL_MADE_OF = 'SELECT output, "column", input, used, how FROM edge'

_ALL_MAKES = f"""
SELECT edge.input, edge.used, edge.output, edge."column", edge.how FROM edge WHERE edge.output NOT IN (SELECT id FROM dataset WHERE {RESULT})
"""

_TOUCHING = "SELECT dataset, other FROM touch WHERE dataset <> other"

_ALL_UNKNOWN = f"""
SELECT touch.dataset, far.dataset, CASE WHEN :upstream THEN near.mode ELSE far.mode END = 'renamed'
FROM flow JOIN passage near ON near.flow = flow.id AND near.written = :upstream JOIN touch ON touch.other = near.dataset
JOIN passage far ON far.flow = flow.id AND far.written = 1 - :upstream JOIN dataset ON dataset.id = far.dataset
WHERE flow.lineage IS NULL AND (:upstream OR NOT ({RESULT}))
"""


class Steps:
    """One step from each of some columns; each is asked once."""

    def __init__(self, db: sqlite3.Connection, upstream: bool) -> None:
        self._db = db
        self._upstream = upstream
        self._known: dict[Column, list[Step]] = {}
        self._ends: dict[int, bool] = {}
        self._questions = 0
        self._all: _Every | None = None

    def ends(self, datasets: Iterable[int]) -> set[int]:
        """Those of some datasets through which nothing is followed; each is asked once."""
        new = [each for each in datasets if each not in self._ends]
        if new:
            found = ending(self._db, new) if self._all is None else self._all.ends
            self._ends.update((each, each in found) for each in new)
        return {each for each in datasets if self._ends[each]}

    def __call__(self, columns: Iterable[Column]) -> Mapping[Column, list[Step]]:
        new = [column for column in dict.fromkeys(columns) if column not in self._known]
        if new and self._all is None:
            self._questions += 1
            if self._questions > _FAR:
                self._all = _Every(self._db, self._upstream)
        if self._all is not None:
            self._known.update((column, self._all.of(*column)) for column in new)
            return self._known
        self._known.update((column, []) for column in new)
        for here, name, *step in self._db.execute(_MADE_OF if self._upstream else _MAKES, (json.dumps(new),)) if new else ():
            self._known[here, name].append((step[0], step[1], step[2]))
        return self._known


def ending(db: sqlite3.Connection, datasets: Iterable[int]) -> set[int]:
    """Those of some datasets through which nothing is followed."""
    return {number for (number,) in db.execute(_ENDING, (json.dumps(list(datasets)),))}


class _Every:
    """All steps that there are, in one direction."""

    def __init__(self, db: sqlite3.Connection, upstream: bool) -> None:
        self._upstream = upstream
        self._edges: dict[Column, list[tuple[Any, ...]]] = defaultdict(list)
        for row in db.execute(_ALL_MADE_OF if upstream else _ALL_MAKES):
            self._edges[row[0], row[1]].append(row)
        self._touching: dict[int, list[int]] = defaultdict(list)
        for here, other in db.execute(_TOUCHING):
            self._touching[here].append(other)
        self._unknown: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for here, far, renamed in db.execute(_ALL_UNKNOWN, {"upstream": int(upstream)}):
            self._unknown[here].append((far, renamed))
        self.ends = {number for (number,) in db.execute(f"SELECT id FROM dataset WHERE {ENDS.format(of='dataset')}")}

    @cached_property
    def _names(self) -> dict[int, list[str]]:
        """The columns of each dataset from which there are steps."""
        found: dict[int, list[str]] = defaultdict(list)
        for here, name in self._edges:
            found[here].append(name)
        return found

    def of(self, here: int, name: str) -> list[Step]:
        """As a question would answer."""
        found: list[Step] = []
        for each in (here, *self._touching.get(here, ())):
            names = ((name, "") if self._upstream else (name,)) if name else tuple(self._names.get(each, ()))
            found += [(row[2], row[3], row[4]) for column in names for row in self._edges.get((each, column), ())]
        found += [(far, name if renamed else "", IDENTITY if renamed else UNKNOWN) for far, renamed in self._unknown.get(here, ())]
        return list(dict.fromkeys(found))


def steps_from(db: sqlite3.Connection, columns: Iterable[Column], upstream: bool) -> Mapping[Column, list[Step]]:
    """One step from each of some columns."""
    return Steps(db, upstream)(columns)
