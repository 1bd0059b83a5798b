"""The graph: what is upstream and downstream of a dataset, or of a column of it, over all that was recorded.

A dataset is reached through whoever wrote or read it, the files that it stands on, what contains it, or a part of it (``touch``). Walks are over
flows: they cost what there is to tell, not how often it was done. Nothing is followed through a view or a cache (``steps.ENDS``): who reads one is known to
read what it was made of then.
"""

from __future__ import annotations

import json
import sqlite3
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import NamedTuple

from bigdebug.datasets.ends import ENDS, RESULT, ending
from bigdebug.datasets.everystep import Step, in_order
from bigdebug.datasets.remembering import everything, is_held
from bigdebug.datasets.steps import Steps
from bigdebug.datasets.uses import DIRECT, IDENTITY, UNKNOWN

_NOTHING: frozenset[str] = frozenset()

_GOES_ON = frozenset({*DIRECT, UNKNOWN})

_FROM = f"""
FROM reached JOIN dataset here ON here.id = reached.id AND (here.id IN (SELECT value FROM json_each(:starts)) OR NOT {ENDS.format(of="here")})
JOIN touch ON touch.dataset = reached.id
"""

_UPSTREAM = f"""{_FROM}
JOIN passage near ON near.dataset = touch.other AND near.written = 1 JOIN passage far ON far.flow = near.flow AND far.written = 0
"""

_DOWNSTREAM = f"""{_FROM}
JOIN passage near ON near.dataset = touch.other AND near.written = 0 JOIN passage far ON far.flow = near.flow AND far.written = 1
JOIN dataset ON dataset.id = far.dataset AND NOT ({RESULT})
"""

_REACHED = """
WITH RECURSIVE reached (id) AS (SELECT value FROM json_each(:starts) UNION SELECT far.dataset {way} LIMIT :most)
"""

_COUNT = f"{_REACHED} SELECT COUNT(*) FROM reached"

_LINKS = f"{_REACHED} SELECT DISTINCT reached.id, near.flow, far.dataset {{way}}"

_MANY = 1_000
"""Datasets that are reached beyond which all steps are read at once."""

_QUERIES = f"""
SELECT COUNT(DISTINCT far.flow) FROM json_each(?) reached JOIN touch ON touch.dataset = reached.value
JOIN passage near ON near.dataset = touch.other AND near.written = 0 JOIN passage far ON far.flow = near.flow AND far.written = 1
JOIN dataset ON dataset.id = far.dataset AND {RESULT}
"""


class Reached(NamedTuple):
    """Datasets that are reached, nearest first: over how many steps at least, and by which flows the last of them goes."""

    steps: dict[int, int]
    flows: dict[int, tuple[int, ...]]


def reach(db: sqlite3.Connection, starts: Mapping[int, int], upstream: bool) -> Reached:
    """The datasets upstream, or downstream, of some. ``starts`` say how far away each of them is; they are among those reached only if another leads there."""
    way = _UPSTREAM if upstream else _DOWNSTREAM
    given = {"starts": json.dumps(list(starts)), "most": len(starts) + _MANY}
    if is_held(db) or db.execute(_COUNT.format(way=way), given).fetchone()[0] == given["most"]:
        steps, flows = everything(db).reach(starts, upstream)
    else:
        steps, flows = _along(starts, db.execute(_LINKS.format(way=way), given))
    return Reached({each: steps[each] for each in sorted(flows, key=steps.__getitem__)}, flows)


def _along(starts: Mapping[int, int], links: Iterable[tuple[int, int, int]]) -> tuple[dict[int, int], dict[int, tuple[int, ...]]]:
    """How far away is what links (a dataset, a flow, the next dataset) lead to, and by which flows."""
    by_near: dict[int, list[tuple[int, int]]] = {}
    for near, flow, there in links:
        by_near.setdefault(near, []).append((flow, there))
    steps = dict(sorted(starts.items(), key=itemgetter(1)))
    last: dict[int, dict[int, None]] = {}
    rest = deque(steps)
    while rest:
        here = rest.popleft()
        further = steps[here] + 1
        for flow, there in by_near.get(here, ()):
            last.setdefault(there, {})[flow] = None
            if steps.get(there, further + 1) > further:
                steps[there] = further
                rest.append(there)
    return steps, {each: tuple(flows) for each, flows in last.items()}


def queries_of(db: sqlite3.Connection, start: int, datasets: Iterable[int]) -> int:
    """How many queries used a dataset, or any of those downstream of it, and wrote nothing."""
    every = set(datasets)
    if is_held(db):
        return everything(db).queries([start, *every])
    return int(db.execute(_QUERIES, (json.dumps([start, *(every - ending(db, every))]),)).fetchone()[0])


def _without_covered(steps: Sequence[Step], so_far: str) -> Sequence[Step]:
    """Steps downstream but those to columns of datasets over all of whose columns is decided, these among them, where they are no more than decided over, too."""
    covered = {far for far, other, _ in steps if not other}
    if not covered or len(steps) == len(covered):
        return steps
    if so_far not in DIRECT:
        return [step for step in steps if not step[1] or step[0] not in covered]
    return [step for step in steps if not step[1] or step[0] not in covered or _over(so_far, step[2]) in DIRECT]


# ---- columns ----------------------------------------------------------------------------------------------------


class ColumnsReached(NamedTuple):
    """Columns that are reached (all of a dataset, if it has no name), nearest first: over how many steps at least, and how each is used, over all of them; and
    those from which no value goes further, the first one among them perhaps.
    """

    steps: dict[tuple[int, str], int]
    how: dict[tuple[int, str], frozenset[str]]
    ends: dict[tuple[int, str], None]


def columns_reached(db: sqlite3.Connection, start: int, column: str, upstream: bool) -> ColumnsReached:
    """The columns that one is made of, or that are made of it. Of steps whose columns are not known, all are UNKNOWN.

    How a column is used over several steps is what ``Use.then`` says: the most that is done to a value on the way, or how it first decides over others.
    """
    found = ColumnsReached({}, {}, {})
    seen = {(start, column, IDENTITY)}
    standing = [(start, column, IDENTITY)]
    asking = Steps(db, upstream)
    once = _Once()
    steps = 0
    while standing:
        steps += 1
        near = asking((here, name) for here, name, _ in standing)
        over_all = asking.over_all(here for here, _, _ in standing)
        reached_now: list[tuple[int, str, str]] = []
        for here, name, so_far in standing:
            further = near((here, name)) if upstream else _without_covered(near((here, name)), so_far)
            if over_all is not None and name and (every := over_all(here)) and (more := once((here, so_far == UNKNOWN), every)):
                further = in_order([*further, *more])
            if not any(step[2] in _GOES_ON for step in further):
                found.ends[here, name] = None
            for far, other, how in further:
                whole = _over(how, so_far) if upstream else _over(so_far, how)
                state = (far, other, whole)
                if state in seen:
                    continue
                seen.add(state)
                reached_now.append(state)
                there_is = (far, other)
                found.steps.setdefault(there_is, steps)
                found.how[there_is] = _and(found.how.get(there_is, _NOTHING), whole)
        ends = asking.ends(here for here, _, _ in reached_now)
        standing = [each for each in reached_now if each[0] not in ends]
    found.steps.pop((start, column), None)
    found.how.pop((start, column), None)
    return found


class _Once:
    """What goes into all columns of a dataset by value is gone on with for each. What decides over them is the same for all, and gone on with for the first."""

    def __init__(self) -> None:
        self._values: dict[tuple[int, bool], Sequence[Step]] = {}

    def __call__(self, here: tuple[int, bool], every: Sequence[Step]) -> Sequence[Step]:
        """Where to go on from a column of a dataset, and whether it is known how that is used."""
        values = self._values.get(here)
        if values is None:
            self._values[here] = [step for step in every if step[2] in DIRECT]
            return every
        return values


def is_direct(how: Iterable[str]) -> bool:
    """Whether values go in, in some way."""
    return any(each in DIRECT for each in how)


@cache
def _and(how: frozenset[str], other: str) -> frozenset[str]:
    """One set for each combination: there are few, and columns are many."""
    return how | {other}


@cache
def _over(first: str, then: str) -> str:
    """How what is nearest the source is used, if something more is done with the result."""
    if UNKNOWN in (first, then):
        return UNKNOWN
    if first not in DIRECT:
        return first
    return then if then not in DIRECT else max(first, then, key=DIRECT.index)


_COLUMN_QUERIES = f"""
SELECT COUNT(DISTINCT edge.output) FROM json_each(?) reached
JOIN touch ON touch.dataset = json_extract(reached.value, '$[0]') JOIN edge ON edge.input = touch.other AND edge.used = json_extract(reached.value, '$[1]')
JOIN dataset ON dataset.id = edge.output AND {RESULT}
"""


def queries_of_columns(db: sqlite3.Connection, start: tuple[int, str], columns: Iterable[tuple[int, str]]) -> int:
    """How many queries used a column, or any of those downstream of it, and wrote nothing."""
    every = set(columns)
    if is_held(db):
        return everything(db).queries_of_columns([start, *every])
    ends = ending(db, {here for here, _ in every})
    return int(db.execute(_COLUMN_QUERIES, (json.dumps([start, *(each for each in every if each[0] not in ends)]),)).fetchone()[0])


# ---- what is known of flows -------------------------------------------------------------------------------------


class Flow(NamedTuple):
    """What a job does to datasets: how often it was done, when last, how that ended, in which process."""

    id: int
    job: str
    sort: str
    runs: int
    last: int
    status: str
    process: str
    run: str


def flows(db: sqlite3.Connection, which: Iterable[int]) -> Mapping[int, Flow]:
    """Flows by their numbers, with their last processes."""
    return {flow.id: flow for flow in map(Flow._make, db.execute(
        """SELECT f.id, f.job, f.sort, COUNT(*), MAX(p.started), p.status, p.id, p.run
        FROM (SELECT DISTINCT value FROM json_each(?)) JOIN flow f ON f.id = value JOIN process p ON p.flow = f.id GROUP BY f.id""", (json.dumps(list(which)),),
    ))}

