"""The graph of datasets and jobs as it is drawn: in layers, what feeds others before them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from bigdebug.datasets.ends import RESULT
from bigdebug.datasets.graph import flows, reach
from bigdebug.datasets.layers import Place, layered
from bigdebug.datasets.model import Dataset
from bigdebug.datasets.rows import datasets_of, moment


@dataclass(frozen=True)
class DatasetNode:
    """A dataset, at a ``place`` of a ``layer``; ``id`` is its number in the store."""

    id: int
    dataset: Dataset
    layer: int
    place: int


@dataclass(frozen=True)
class JobNode:
    """A job: how often it ran, when last, and how that ended."""

    job: str
    sort: str
    runs: int
    last: datetime
    status: str
    layer: int
    place: int


class DrawnLink(NamedTuple):
    """From a node to another, by their numbers, by ``way`` of the layers between; ``same``: both are the same data, a table and its files."""

    near: int
    far: int
    same: bool
    way: tuple[Place, ...]


@dataclass(frozen=True)
class Drawing:
    """Nodes, and links between them. ``left`` counts the datasets that are left out; ``focus`` is the number of the one that all others are about."""

    nodes: tuple[DatasetNode | JobNode, ...]
    links: tuple[DrawnLink, ...]
    focus: int | None
    left: int


_RECENT = """
SELECT flow.id FROM flow JOIN process ON process.flow = flow.id GROUP BY flow.id ORDER BY MAX(process.started) DESC
"""

_PASSAGES = f"""
SELECT passage.flow, passage.dataset, passage.written FROM json_each(?) some JOIN passage ON passage.flow = some.value
JOIN dataset ON dataset.id = passage.dataset WHERE NOT ({RESULT})
"""

_SAME = """
SELECT touch.dataset, touch.other FROM json_each(?1) one JOIN touch ON touch.dataset = one.value AND touch.other <> touch.dataset
WHERE touch.other IN (SELECT value FROM json_each(?1))
"""


def drawing(db: sqlite3.Connection, focus: int | None, limit: int) -> Drawing:
    """What was used last, or all that is upstream and downstream of a dataset, nearest first: ``limit`` datasets at most."""
    chosen = [flow for (flow,) in db.execute(_RECENT)] if focus is None else list(_around(db, focus))
    passages: dict[int, list[tuple[int, int]]] = {}
    for flow, dataset, written in db.execute(_PASSAGES, (json.dumps(chosen),)):
        passages.setdefault(flow, []).append((dataset, written))
    shown: dict[int, None] = {} if focus is None else {focus: None}
    every, kept = set(shown), []
    for flow in chosen:
        datasets = [dataset for dataset, _ in passages.get(flow, ())]
        every.update(datasets)
        if len(shown.keys() | set(datasets)) <= limit and any(written for _, written in passages.get(flow, ())):
            shown.update(dict.fromkeys(datasets))
            kept.append(flow)
    return _laid_out(db, focus, list(shown), kept, passages, len(every) - len(shown))


def _around(db: sqlite3.Connection, focus: int) -> Iterable[int]:
    """The flows that lead to a dataset and from it, nearest first."""
    sides = [reach(db, {focus: 0}, upstream) for upstream in (True, False)]
    near = [(steps, side.flows[each]) for side in sides for each, steps in side.steps.items()]
    return dict.fromkeys(flow for _, flows in sorted(near, key=itemgetter(0)) for flow in flows)


def _laid_out(
    db: sqlite3.Connection, focus: int | None, datasets: list[int], kept: list[int], passages: dict[int, list[tuple[int, int]]], left: int,
) -> Drawing:
    known = flows(db, kept)
    jobs = list(dict.fromkeys(known[flow].job for flow in kept))
    at = {dataset: i for i, dataset in enumerate(datasets)}
    job_at = {job: len(at) + i for i, job in enumerate(jobs)}
    found: dict[tuple[int, int], bool] = {}
    for flow in kept:
        here = job_at[known[flow].job]
        for dataset, written in passages[flow]:
            found[(here, at[dataset]) if written else (at[dataset], here)] = False
    written_at = {far for near, far in found if near >= len(at)}
    for one, other in db.execute(_SAME, (json.dumps(datasets),)):
        # What one writes there the other is read with.
        if at[one] in written_at and (at[other] not in written_at or at[one] < at[other]):
            found.setdefault((at[one], at[other]), True)
    places, ways = layered(len(at) + len(job_at), list(found))
    names = datasets_of(db, datasets)
    nodes: list[DatasetNode | JobNode] = [DatasetNode(dataset, names[dataset], *places[i]) for dataset, i in at.items()]
    for job, i in job_at.items():
        some = [known[flow] for flow in kept if known[flow].job == job]
        last = max(some, key=lambda flow: flow.last)
        nodes.append(JobNode(job, last.sort, sum(flow.runs for flow in some), moment(last.last), last.status, *places[i]))
    return Drawing(tuple(nodes), tuple(DrawnLink(*link, same, tuple(ways.get(link, ()))) for link, same in found.items()), None if focus is None else at[focus], left)
