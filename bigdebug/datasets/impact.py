"""Impact: what becomes of jobs and datasets if a column is dropped."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bigdebug.datasets.answers import Answer
from bigdebug.datasets.graph import flows, links, reached
from bigdebug.datasets.matching import Meant
from bigdebug.datasets.model import Dataset
from bigdebug.datasets.rows import datasets_of, moment
from bigdebug.datasets.steps import RESULT, UNKNOWN, ending
from bigdebug.datasets.uses import IDENTITY
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
    lost: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))


def impact(db: sqlite3.Connection, dataset: int, column: str) -> Affected:
    """Who uses the column, also where it was only copied on the way, and which datasets are not written any more, or from such ones."""
    found = Affected()
    rest = deque([(dataset, column, 0)])
    seen = {(dataset, column)}
    while rest:
        here, name, steps = rest.popleft()
        uses: dict[int, list[tuple[int, str, str, int]]] = defaultdict(list)
        for flow, *use in db.execute(_USED, (here, name)):
            uses[flow].append((use[0], use[1], use[2], use[3]))
        for flow, used in uses.items():
            how = tuple(sorted({how for _, _, how, _ in used}))
            effect = LOSES if how == (IDENTITY,) else MAY_FAIL if how == (UNKNOWN,) else FAILS
            if flow not in found.flows or (FAILS, MAY_FAIL, LOSES).index(effect) < (FAILS, MAY_FAIL, LOSES).index(found.flows[flow][0]):
                found.flows[flow] = (effect, how, steps + 1)
            lost = [(output, other) for output, other, _, is_result in used if not is_result] if effect == LOSES else []  # a result nobody uses
            ends = ending(db, {output for output, _ in lost}) if lost else set()
            for output, other in lost:
                found.lost[output].append(other)
                if (output, other) not in seen and output not in ends:
                    seen.add((output, other))
                    rest.append((output, other, steps + 1))
    _stale(db, found)
    return found


def _stale(db: sqlite3.Connection, found: Affected) -> None:
    starts: dict[int, int] = {}
    for flow, written in db.execute(_WRITTEN, (json.dumps(list(found.flows)),)):
        _, _, steps = found.flows[flow]
        starts[written] = min(steps, starts.get(written, steps))
    ends = ending(db, starts)
    begun = {each: steps for each, steps in starts.items() if each not in ends}
    found.stale = {**starts, **{each.id: each.steps for each in reached(begun, links(db, begun, upstream=False)) if each.id not in starts}}


def answer(db: sqlite3.Connection, of: Meant, column: str, limit: int) -> Answer:
    """What becomes of jobs, the worst first, and of datasets, the nearest first."""
    found = impact(db, of.id, column)
    affected = sorted(found.flows.items(), key=lambda flow: (_ORDER.index(flow[1][0]), flow[1][2]))
    stale = [(number, steps) for number, steps in sorted(found.stale.items(), key=lambda each: each[1]) if number != of.id]
    jobs = flows(db, [flow for flow, _ in affected[:limit]])
    written, names = _written_by(db, jobs), datasets_of(db, [number for number, _ in stale[:limit]])
    rows: list[tuple[Any, ...]] = [
        (effect, jobs[flow].job, written.get(flow, ()), hows(how), steps, moment(jobs[flow].last), jobs[flow].runs)
        for flow, (effect, how, steps) in affected[:limit]
    ]
    rows += [
        (STALE, "", (str(names[number]),), f"loses {', '.join(found.lost[number])}" if number in found.lost else "", steps, None, None)
        for number, steps in stale[:limit]
    ]
    counts = Counter([effect for _, (effect, _, _) in affected] + [STALE] * len(stale))
    said = ", ".join(f"{counts[each]:,} {'are ' if each == STALE else ''}{each}" for each in _ORDER if counts[each])
    return Answer(f"If {of.dataset} loses {column}", ("effect", "job", "writes", "how", "steps", "last run", "runs"), tuple(rows)).noting(
        of.note, more(len(affected) + len(stale), limit), f"{said}." if said else "",
        "A job that only copies the column fails if it names it; one that takes all columns (*) goes on without it." if counts[LOSES] else "",
        "Of some jobs it is not known which columns they use." if counts[MAY_FAIL] else "",
    )


def _written_by(db: sqlite3.Connection, which: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """What flows write, by their numbers."""
    found: dict[int, tuple[str, ...]] = {}
    for flow, *named in db.execute(
        "SELECT p.flow, d.namespace, d.name FROM json_each(?) JOIN passage p ON p.flow = value AND p.written = 1 JOIN dataset d ON d.id = p.dataset",
        (json.dumps(list(which)),),
    ):
        found[flow] = (*found.get(flow, ()), str(Dataset(*named)))
    return found
