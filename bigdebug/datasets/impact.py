"""Impact: what becomes of jobs and datasets if a column is dropped."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from bigdebug.datasets.answers import Answer
from bigdebug.datasets.ends import RESULT, ending
from bigdebug.datasets.everything import Everything, Use
from bigdebug.datasets.graph import flows, reach
from bigdebug.datasets.matching import Meant
from bigdebug.datasets.model import Dataset
from bigdebug.datasets.remembering import everything, is_held
from bigdebug.datasets.rows import datasets_of, moment
from bigdebug.datasets.steps import FAR
from bigdebug.datasets.uses import IDENTITY, UNKNOWN
from bigdebug.datasets.words import hows, more

FAILS, MAY_FAIL, LOSES, STALE = "fails", "may fail", "fails or loses it", "stale"
"""What becomes of a job that uses the column, of one whose columns are not known, of one that only copies it; and of what is made of such jobs' results."""
_ORDER = (FAILS, MAY_FAIL, LOSES, STALE)

_USED = f"""
SELECT flow.id, edge.output, edge."column", edge.how, {RESULT} FROM touch JOIN edge ON edge.input = touch.other AND edge.used = ?2
JOIN flow ON flow.lineage = edge.lineage JOIN dataset ON dataset.id = edge.output WHERE touch.dataset = ?1
UNION SELECT flow.id, -1, '', 'UNKNOWN', 0 FROM touch JOIN passage ON passage.dataset = touch.other AND passage.written = 0
JOIN flow ON flow.id = passage.flow AND flow.lineage IS NULL
WHERE touch.dataset = ?1 AND NOT EXISTS (SELECT 1 FROM passage renamed WHERE renamed.flow = flow.id AND renamed.mode = 'renamed')
"""

_WRITTEN = f"""
SELECT passage.flow, dataset.id FROM json_each(?) some JOIN passage ON passage.flow = some.value AND passage.written = 1
JOIN dataset ON dataset.id = passage.dataset WHERE NOT ({RESULT})
"""


@dataclass
class Affected:
    """By flow: what becomes of it, and how it uses the column. By dataset: how many steps it is away; those that lose a column, and which."""

    flows: dict[int, tuple[str, tuple[str, ...], int]] = field(default_factory=dict)
    stale: dict[int, int] = field(default_factory=dict)
    lost: dict[int, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))


def impact(db: sqlite3.Connection, dataset: int, column: str) -> Affected:
    """Who uses the column, also where it was only copied on the way, and which datasets are not written any more, or from such ones."""
    found = Affected()
    asking = _Uses(db)
    rest = deque([(dataset, column, 0)])
    seen = {(dataset, column)}
    while rest:
        here, name, steps = rest.popleft()
        for flow, used in _by_flow(asking(here, name)):
            how = (used[0][3],) if len(used) == 1 else tuple(sorted({use[3] for use in used}))
            effect = LOSES if how == (IDENTITY,) else MAY_FAIL if how == (UNKNOWN,) else FAILS
            before = found.flows.get(flow)
            if before is None or _ORDER.index(effect) < _ORDER.index(before[0]):
                found.flows[flow] = (effect, how, steps + 1)
            if effect != LOSES:
                continue
            for _, output, other, _, is_result in used:
                if is_result:
                    continue  # nobody uses it
                found.lost[output][other] = None
                if (output, other) not in seen and not asking.ends(output):
                    seen.add((output, other))
                    rest.append((output, other, steps + 1))
    _stale(db, found)
    return found


def _by_flow(uses: Sequence[Use]) -> Iterable[tuple[int, Sequence[Use]]]:
    if len(uses) == 1:  # mostly
        return [(uses[0][0], uses)]
    return [(flow, list(some)) for flow, some in groupby(uses, key=itemgetter(0))]


class _Uses:
    """Who uses a column, flow by flow: asked one by one, or all read at once for a column that is copied far."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._questions = 0
        self._all: Everything | None = everything(db) if is_held(db) else None

    def __call__(self, dataset: int, column: str) -> Sequence[Use]:
        self._questions += 1
        if self._all is None and self._questions > FAR:
            self._all = everything(self._db)
        if self._all is not None:
            return self._all.uses(dataset, column)
        return sorted(self._db.execute(_USED, (dataset, column)))

    def ends(self, dataset: int) -> bool:
        """Whether nothing is followed through a dataset."""
        return dataset in (ending(self._db, [dataset]) if self._all is None else self._all.ends)


def _stale(db: sqlite3.Connection, found: Affected) -> None:
    starts: dict[int, int] = {}
    for flow, written in _written(db, found.flows):
        _, _, steps = found.flows[flow]
        starts[written] = min(steps, starts.get(written, steps))
    ends = everything(db).ends if is_held(db) else ending(db, starts)
    begun = {each: steps for each, steps in starts.items() if each not in ends}
    further = reach(db, begun, upstream=False).steps
    found.stale = starts | {each: steps for each, steps in further.items() if each not in starts}


def _written(db: sqlite3.Connection, which: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Flows, and what each writes but for results of queries."""
    if is_held(db):
        written = everything(db).written
        return ((flow, each) for flow in which for each in written(flow))
    return db.execute(_WRITTEN, (json.dumps(list(which)),))


def answer(db: sqlite3.Connection, of: Meant, column: str, limit: int) -> Answer:
    """What becomes of jobs, the worst first, and of datasets, the nearest first."""
    found = impact(db, of.id, column)
    affected = sorted(found.flows.items(), key=lambda flow: (_ORDER.index(flow[1][0]), flow[1][2]))
    stale = [(number, steps) for number, steps in sorted(found.stale.items(), key=lambda each: each[1]) if number != of.id]
    by_job = _by_job(db, [flow for flow, _ in affected])
    shown = dict(list(by_job.items())[:limit])
    jobs = flows(db, [flow for each in shown.values() for flow in each])
    written, names = _written_by(db, jobs), datasets_of(db, [number for number, _ in stale[:limit]])
    rows: list[tuple[Any, ...]] = []
    for job, same in shown.items():
        hows_of = frozenset(use for flow in same for use in found.flows[flow][1])
        rows.append((
            found.flows[same[0]][0], job, tuple(dict.fromkeys(each for flow in same for each in written.get(flow, ()))), hows(hows_of),
            min(found.flows[flow][2] for flow in same), moment(max(jobs[flow].last for flow in same)), sum(jobs[flow].runs for flow in same),
        ))
    rows += [
        (STALE, "", (str(names[number]),), f"loses {', '.join(found.lost[number])}" if number in found.lost else "", steps, None, None)
        for number, steps in stale[:limit]
    ]
    counts = Counter([found.flows[same[0]][0] for same in by_job.values()] + [STALE] * len(stale))
    said = ", ".join(f"{counts[each]:,} {'are ' if each == STALE else ''}{each}" for each in _ORDER if counts[each])
    return Answer(f"If {of.dataset} loses {column}", ("effect", "job", "writes", "how", "steps", "last run", "runs"), tuple(rows)).noting(
        of.note, more(len(by_job) + len(stale), limit), f"{said}." if said else "",
        "A job that only copies the column fails if it names it; one that takes all columns (*) goes on without it." if counts[LOSES] else "",
        "Of some jobs it is not known which columns they use." if counts[MAY_FAIL] else "",
    )


def _by_job(db: sqlite3.Connection, which: Sequence[int]) -> dict[str, list[int]]:
    """Flows by the names of their jobs, both as they come: the same job may do several things."""
    names = dict(db.execute("SELECT flow.id, flow.job FROM json_each(?) JOIN flow ON flow.id = value", (json.dumps(list(which)),)).fetchall())
    found: dict[str, list[int]] = {}
    for flow in which:
        found.setdefault(names[flow], []).append(flow)
    return found


def _written_by(db: sqlite3.Connection, which: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """What flows write, by their numbers."""
    found: dict[int, tuple[str, ...]] = {}
    for flow, *named in db.execute(
        "SELECT p.flow, d.namespace, d.name FROM json_each(?) JOIN passage p ON p.flow = value AND p.written = 1 JOIN dataset d ON d.id = p.dataset",
        (json.dumps(list(which)),),
    ):
        found[flow] = (*found.get(flow, ()), str(Dataset(*named)))
    return found
