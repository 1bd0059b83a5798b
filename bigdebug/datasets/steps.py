"""Steps: from a column to those that it was made of, or that were made with it, over one flow. Asked one by one, or all read at once for walks that go far."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from bigdebug.datasets.ends import RESULT, ending
from bigdebug.datasets.everystep import Step
from bigdebug.datasets.everything import Everything
from bigdebug.datasets.remembering import everything, is_held

Column = tuple[int, str]
"""The number of a dataset, and a column of it; all of it, if that has no name."""

FAR = 64
"""Questions after which a walk has gone so far that all steps are read at once."""

_ASKED = "WITH asked (id, name) AS (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))"

_UNKNOWN_STEP = """
    CASE {end}.mode WHEN 'renamed' THEN asked.name ELSE '' END, CASE {end}.mode WHEN 'renamed' THEN 'IDENTITY' ELSE 'UNKNOWN' END
"""
"""Of what is renamed the columns stay; of other steps without columns nothing is known."""

_MADE_OF = f"""{_ASKED}
SELECT asked.id, asked.name, edge.input, edge.used, edge.how FROM asked CROSS JOIN touch ON touch.dataset = asked.id
CROSS JOIN edge ON edge.output = touch.other AND edge."column" = asked.name WHERE asked.name <> ''
UNION SELECT asked.id, asked.name, edge.input, edge.used, edge.how FROM asked CROSS JOIN touch ON touch.dataset = asked.id
CROSS JOIN edge ON edge.output = touch.other WHERE asked.name = ''
UNION SELECT asked.id, asked.name, far.dataset, {_UNKNOWN_STEP.format(end="near")} FROM asked CROSS JOIN touch ON touch.dataset = asked.id
CROSS JOIN passage near ON near.dataset = touch.other AND near.written = 1 CROSS JOIN flow ON flow.id = near.flow AND flow.lineage IS NULL
CROSS JOIN passage far ON far.flow = near.flow AND far.written = 0
"""

_DECIDES = """
SELECT DISTINCT some.value, edge.input, edge.used, edge.how FROM json_each(?) some CROSS JOIN touch ON touch.dataset = some.value
CROSS JOIN edge ON edge.output = touch.other AND edge."column" = ''
"""
"""What decides over all columns of a dataset, or goes into them: asked once, for it is the same for each of hundreds."""

_MAKES = f"""{_ASKED}
SELECT asked.id, asked.name, edge.output, edge."column", edge.how FROM asked CROSS JOIN touch ON touch.dataset = asked.id
CROSS JOIN edge ON edge.input = touch.other AND edge.used = asked.name CROSS JOIN dataset ON dataset.id = edge.output AND NOT ({RESULT}) WHERE asked.name <> ''
UNION SELECT asked.id, asked.name, edge.output, edge."column", edge.how FROM asked CROSS JOIN touch ON touch.dataset = asked.id
CROSS JOIN edge ON edge.input = touch.other CROSS JOIN dataset ON dataset.id = edge.output AND NOT ({RESULT}) WHERE asked.name = ''
UNION SELECT asked.id, asked.name, far.dataset, {_UNKNOWN_STEP.format(end="far")} FROM asked CROSS JOIN touch ON touch.dataset = asked.id
CROSS JOIN passage near ON near.dataset = touch.other AND near.written = 0 CROSS JOIN flow ON flow.id = near.flow AND flow.lineage IS NULL
CROSS JOIN passage far ON far.flow = near.flow AND far.written = 1 CROSS JOIN dataset ON dataset.id = far.dataset AND NOT ({RESULT})
"""


class Steps:
    """One step from each of some columns; each is asked once, as long as they are asked one by one. Upstream those ``over_all`` are apart."""

    def __init__(self, db: sqlite3.Connection, upstream: bool) -> None:
        self._db = db
        self._upstream = upstream
        self._known: dict[Column, list[Step]] = {}
        self._over_all: dict[int, list[Step]] = {}
        self._ends: dict[int, bool] = {}
        self._questions = 0
        self._all: Everything | None = everything(db) if is_held(db) else None

    def ends(self, datasets: Iterable[int]) -> Collection[int]:
        """Those of some datasets through which nothing is followed, and others perhaps that are such; each is asked once."""
        if self._all is not None:
            return self._all.ends
        every = set(datasets)
        new = [each for each in every if each not in self._ends]
        if new:
            found = ending(self._db, new)
            self._ends.update((each, each in found) for each in new)
        return {each for each in every if self._ends[each]}

    def __call__(self, columns: Iterable[Column]) -> Callable[[Column], list[Step]]:
        """What says of each of these columns where one step leads, in order."""
        if self._all is None:
            self._ask(columns)
        return self._known.__getitem__ if self._all is None else self._all.steps(self._upstream).of

    def over_all(self, datasets: Iterable[int]) -> Callable[[int], Sequence[Step]] | None:
        """What says of each of these datasets from where all of its columns are made, or are decided over; None if that is said of each column. Upstream alone."""
        if not self._upstream:
            return None
        if self._all is not None:
            return self._all.steps(upstream=True).over_all if self._all.over_all else None
        new = [each for each in dict.fromkeys(datasets) if each not in self._over_all]
        if new:
            self._over_all.update((each, []) for each in new)
            for here, *step in self._db.execute(_DECIDES, (json.dumps(new),)):
                self._over_all[here].append((step[0], step[1], step[2]))
        return self._over_all.__getitem__

    def _ask(self, columns: Iterable[Column]) -> None:
        new = [column for column in dict.fromkeys(columns) if column not in self._known]
        self._questions += bool(new)
        if self._questions > FAR:
            self._all = everything(self._db)
        if not new or self._all is not None:
            return
        self._known.update((column, []) for column in new)
        for here, name, *step in self._db.execute(_MADE_OF if self._upstream else _MAKES, (json.dumps(new),)):
            self._known[here, name].append((step[0], step[1], step[2]))


def steps_from(db: sqlite3.Connection, columns: Sequence[Column], upstream: bool) -> Mapping[Column, list[Step]]:
    """One step from each of some columns, also those from all of their dataset."""
    asking = Steps(db, upstream)
    found = asking(columns)
    over_all = asking.over_all(here for here, _ in columns)
    if over_all is None:
        return {column: found(column) for column in columns}
    return {(here, name): [*found((here, name)), *(over_all(here) if name else ())] for here, name in columns}
