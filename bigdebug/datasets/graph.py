"""The graph: what is upstream and downstream of a dataset, or of a column of it, over all that was recorded.

A dataset is reached through whoever wrote or read it, the files that it stands on, what contains it, or a part of it (``touch``). Walks are over
flows: they cost what there is to tell, not how often it was done. Nothing is followed through a view or a cache (``steps.ENDS``): who reads one is known to
read what it was made of then.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bigdebug.datasets.steps import ENDS, RESULT, UNKNOWN, Steps, ending
from bigdebug.datasets.uses import DIRECT, IDENTITY

_FROM = f"""
FROM reached JOIN dataset here ON here.id = reached.id AND (here.id IN (SELECT value FROM json_each(:starts)) OR NOT {ENDS.format(of="here")})
JOIN touch ON touch.dataset = reached.id
"""

_UPSTREAM = f"""
WITH RECURSIVE reached (id) AS (
    SELECT value FROM json_each(:starts) UNION
    SELECT far.dataset {_FROM}
    JOIN passage near ON near.dataset = touch.other AND near.written = 1 JOIN passage far ON far.flow = near.flow AND far.written = 0
)
SELECT DISTINCT reached.id, near.flow, far.dataset {_FROM}
JOIN passage near ON near.dataset = touch.other AND near.written = 1 JOIN passage far ON far.flow = near.flow AND far.written = 0
"""

_DOWNSTREAM = f"""
WITH RECURSIVE reached (id) AS (
    SELECT value FROM json_each(:starts) UNION
    SELECT far.dataset {_FROM}
    JOIN passage near ON near.dataset = touch.other AND near.written = 0 JOIN passage far ON far.flow = near.flow AND far.written = 1
    JOIN dataset ON dataset.id = far.dataset AND NOT ({RESULT})
)
SELECT DISTINCT reached.id, near.flow, far.dataset {_FROM}
JOIN passage near ON near.dataset = touch.other AND near.written = 0 JOIN passage far ON far.flow = near.flow AND far.written = 1
JOIN dataset ON dataset.id = far.dataset AND NOT ({RESULT})
"""

_QUERIES = f"""
SELECT COUNT(DISTINCT far.flow) FROM json_each(?) reached JOIN touch ON touch.dataset = reached.value
JOIN passage near ON near.dataset = touch.other AND near.written = 0 JOIN passage far ON far.flow = near.flow AND far.written = 1
JOIN dataset ON dataset.id = far.dataset AND {RESULT}
"""


class Link(NamedTuple):
    """A step from a dataset to the next one, by a flow."""

    near: int
    flow: int
    far: int


class Reached(NamedTuple):
    """A dataset that is reached: over how many steps at least, and by which flows the last of them goes."""

    id: int
    steps: int
    flows: tuple[int, ...]


def links(db: sqlite3.Connection, starts: Iterable[int], upstream: bool) -> list[Link]:
    """All steps between the datasets that are upstream, or downstream, of some."""
    return [Link(*row) for row in db.execute(_UPSTREAM if upstream else _DOWNSTREAM, {"starts": json.dumps(list(starts))})]


def queries_of(db: sqlite3.Connection, start: int, datasets: Iterable[int]) -> int:
    """How many queries used a dataset, or any of those downstream of it, and wrote nothing."""
    every = set(datasets)
    return int(db.execute(_QUERIES, (json.dumps([start, *(every - ending(db, every))]),)).fetchone()[0])


def reached(starts: Mapping[int, int], steps: Iterable[Link]) -> list[Reached]:
    """The datasets that steps lead to, nearest first. ``starts`` say how far away each of them is; they are among those reached only if another leads there."""
    by_near: dict[int, list[Link]] = defaultdict(list)
    for link in steps:
        by_near[link.near].append(link)
    far = dict(sorted(starts.items(), key=lambda start: start[1]))
    last: dict[int, dict[int, None]] = defaultdict(dict)
    rest = deque(far)
    while rest:
        here = rest.popleft()
        for link in by_near[here]:
            last[link.far][link.flow] = None
            if link.far not in far or far[link.far] > far[here] + 1:
                far[link.far] = far[here] + 1
                rest.append(link.far)
    return sorted((Reached(each, far[each], tuple(flows)) for each, flows in last.items()), key=lambda found: found.steps)


# ---- columns ----------------------------------------------------------------------------------------------------


class ReachedColumn(NamedTuple):
    """A column that is reached (all of its dataset, if it has no name), over how many steps at least, and how it is used, over all of them."""

    id: int
    name: str
    steps: int
    how: frozenset[str]


def columns_reached(db: sqlite3.Connection, start: int, column: str, upstream: bool) -> list[ReachedColumn]:
    """The columns that one is made of, or that are made of it, nearest first. Of steps whose columns are not known, all are UNKNOWN.

    How a column is used over several steps is what ``Use.then`` says: the most that is done to a value on the way, or how it first decides over others.
    """
    found: dict[tuple[int, str], tuple[int, set[str]]] = {}
    seen = {(start, column, IDENTITY)}
    standing = [(start, column, IDENTITY)]
    asking = Steps(db, upstream)
    steps = 0
    while standing:
        steps += 1
        near = asking((here, name) for here, name, _ in standing)
        reached_now: list[tuple[int, str, str]] = []
        for here, name, so_far in standing:
            covered = set() if upstream else {far for far, other, _ in near[here, name] if not other}
            for far, other, how in near[here, name]:
                whole = _over(how, so_far) if upstream else _over(so_far, how)
                if other and far in covered and whole not in DIRECT:
                    continue  # it decides over all columns, this one among them
                if (far, other) != (start, column):
                    found.setdefault((far, other), (steps, set()))[1].add(whole)
                if (far, other, whole) not in seen:
                    seen.add((far, other, whole))
                    reached_now.append((far, other, whole))
        ends = asking.ends({here for here, _, _ in reached_now})
        standing = [each for each in reached_now if each[0] not in ends]
    return [ReachedColumn(each, name, steps, frozenset(how)) for (each, name), (steps, how) in found.items()]


def is_direct(how: Iterable[str]) -> bool:
    """Whether values go in, in some way."""
    return any(each in DIRECT for each in how)


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

