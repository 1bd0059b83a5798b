"""The graph, read at once: for walks that go far. Some 10 ms for 10,000 edges, where a question takes a tenth of a millisecond a step."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

from bigdebug.datasets.ends import ENDS, RESULT
from bigdebug.datasets.everystep import NONE, EverySteps, in_order
from bigdebug.datasets.uses import UNKNOWN

_FEW = 32
"""Edges of a dataset up to which they are gone through for those of a column."""

_TOUCHING = "SELECT dataset, other FROM touch WHERE dataset <> other"

_UNKNOWN = f"""
SELECT touch.dataset, far.dataset, CASE WHEN :upstream THEN near.mode ELSE far.mode END = 'renamed'
FROM flow JOIN passage near ON near.flow = flow.id AND near.written = :upstream JOIN touch ON touch.other = near.dataset
JOIN passage far ON far.flow = flow.id AND far.written = 1 - :upstream JOIN dataset ON dataset.id = far.dataset
WHERE flow.lineage IS NULL AND (:upstream OR NOT ({RESULT}))
"""

_READ_UNKNOWN = """
SELECT touch.dataset, flow.id FROM flow JOIN passage ON passage.flow = flow.id AND passage.written = 0 JOIN touch ON touch.other = passage.dataset
WHERE flow.lineage IS NULL AND NOT EXISTS (SELECT 1 FROM passage renamed WHERE renamed.flow = flow.id AND renamed.mode = 'renamed')
"""

Use = tuple[int, int, str, str, int]
"""By which flow, for which column of which dataset, how, and whether that is the result of a query."""

_Edge = tuple[int, int, str, int, str, str]


class Everything:
    """All of the graph, by the datasets at either end of its edges and flows."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._steps: dict[bool, EverySteps] = {}
        self._names: dict[tuple[int, int], dict[str, tuple[_Edge, ...]]] = {}
        self.size = 0

    def steps(self, upstream: bool) -> EverySteps:
        """All steps between columns in one direction."""
        if upstream not in self._steps:
            self._steps[upstream] = EverySteps(self, upstream)
        return self._steps[upstream]

    @cached_property
    def edges(self) -> list[_Edge]:
        return self._read('SELECT lineage, output, "column", input, used, how FROM edge')

    @cached_property
    def passages(self) -> list[tuple[int, int, int]]:
        return self._read("SELECT flow, dataset, written FROM passage")

    @cached_property
    def touching(self) -> dict[int, tuple[int, ...]]:
        """The others that each dataset is read or written with."""
        return _grouped(self._db.execute(_TOUCHING))

    @cached_property
    def ends(self) -> frozenset[int]:
        """Datasets through which nothing is followed."""
        return self._numbers(f"SELECT id FROM dataset WHERE {ENDS.format(of='dataset')}")

    @cached_property
    def results(self) -> frozenset[int]:
        """Results of queries."""
        return self._numbers(f"SELECT id FROM dataset WHERE {RESULT}")

    def edges_to(self, dataset: int, name: str) -> Sequence[_Edge]:
        """The edges that lead to a column of a dataset; of few those that lead to all of it and perhaps others, too."""
        edges = self._by_output.get(dataset, NONE)
        return edges if len(edges) <= _FEW or not name else self._named(dataset, 2, edges).get(name, NONE)

    @cached_property
    def over_all(self) -> dict[int, tuple[_Edge, ...]]:
        """The edges that lead to all columns of a dataset at once, of those that have many."""
        return {dataset: tuple(edge for edge in edges if not edge[2]) for dataset, edges in self._by_output.items() if len(edges) > _FEW}

    def edges_from(self, dataset: int, name: str) -> Sequence[_Edge]:
        """The edges that lead from a column of a dataset; and perhaps others that lead from it."""
        edges = self._by_input.get(dataset, NONE)
        return edges if len(edges) <= _FEW or not name else self._named(dataset, 4, edges).get(name, NONE)

    def uses(self, here: int, name: str) -> list[Use]:
        """Who uses a column, in order; by a flow whose columns are not known, for no dataset (-1)."""
        found: list[Use] = []
        for each in (here, *self.touching.get(here, NONE)):
            for lineage, output, column, _, used, how in self.edges_from(each, name):
                if used == name:
                    is_result = int(output in self.results)
                    found.extend((flow, output, column, how, is_result) for flow in self._flows.get(lineage, NONE))
        if here in self._read_unknown:
            found += [(flow, -1, "", UNKNOWN, 0) for flow in self._read_unknown[here]]
        return in_order(found)

    def reach(self, starts: Mapping[int, int], upstream: bool) -> tuple[dict[int, int], dict[int, tuple[int, ...]]]:
        """By the datasets that are upstream, or downstream, of some: how far away each is, and by which flows. ``starts`` say how far away these are."""
        flows, far = (self._written, self._sources) if upstream else (self._reading, self._targets)
        steps = dict(sorted(starts.items(), key=itemgetter(1)))
        last: dict[int, list[int]] = {}
        rest = deque(steps)
        while rest:
            here = rest.popleft()
            if here in self.ends and here not in starts:
                continue
            further = steps[here] + 1
            for each in (here, *self.touching.get(here, NONE)):
                for flow in flows.get(each, NONE):
                    for there in far.get(flow, NONE):
                        by = last.get(there)
                        if by is None:
                            last[there] = [flow]
                        else:
                            by.append(flow)
                        if steps.get(there, further + 1) > further:
                            steps[there] = further
                            rest.append(there)
        return steps, {there: tuple(by) if len(by) == 1 else tuple(dict.fromkeys(by)) for there, by in last.items()}

    def queries(self, datasets: Iterable[int]) -> int:
        """How many flows give results of queries that used any of some datasets: the first, and those of the others that something is followed through."""
        first, *others = datasets
        near = (each for here in (first, *(other for other in others if other not in self.ends)) for each in (here, *self.touching.get(here, NONE)))
        return len({flow for each in near for flow in self._reading.get(each, NONE)} & self._asking) if self.results else 0

    def queries_of_columns(self, columns: Iterable[tuple[int, str]]) -> int:
        """How many results of queries were made with any of some columns: as for datasets."""
        if not self.results:
            return 0
        first, *others = columns
        found: set[int] = set()
        for here, name in (first, *(other for other in others if other[0] not in self.ends)):
            for each in (here, *self.touching.get(here, NONE)):
                found.update(output for _, output, _, _, used, _ in self.edges_from(each, name) if used == name)
        return len(found & self.results)

    def written(self, flow: int) -> tuple[int, ...]:
        """What a flow writes, but for results of queries."""
        return self._targets.get(flow, NONE)

    def unknown(self, upstream: bool) -> dict[int, tuple[tuple[int, bool], ...]]:
        """Where flows lead of which no columns are known, and whether they only rename what they read."""
        rows = self._db.execute(_UNKNOWN, {"upstream": int(upstream)})
        return _grouped((here, (far, bool(renamed))) for here, far, renamed in rows)

    # ---- within -----------------------------------------------------------------------------------------------

    @cached_property
    def _by_output(self) -> dict[int, tuple[_Edge, ...]]:
        return _grouped((edge[1], edge) for edge in self.edges)

    @cached_property
    def _by_input(self) -> dict[int, tuple[_Edge, ...]]:
        return _grouped((edge[3], edge) for edge in self.edges)

    def _named(self, dataset: int, end: int, edges: Sequence[_Edge]) -> dict[str, tuple[_Edge, ...]]:
        """The edges of a dataset that has many, by the column at one end."""
        known = self._names.get((dataset, end))
        if known is None:
            known = self._names[dataset, end] = _grouped((edge[end], edge) for edge in edges)
        return known

    @cached_property
    def _flows(self) -> dict[int, tuple[int, ...]]:
        """The flows of each lineage."""
        return _grouped(self._db.execute("SELECT lineage, id FROM flow WHERE lineage IS NOT NULL"))

    @cached_property
    def _read_unknown(self) -> dict[int, tuple[int, ...]]:
        return _grouped(self._db.execute(_READ_UNKNOWN))

    @cached_property
    def _written(self) -> dict[int, tuple[int, ...]]:
        return _grouped((dataset, flow) for flow, dataset, written in self.passages if written)

    @cached_property
    def _reading(self) -> dict[int, tuple[int, ...]]:
        return _grouped((dataset, flow) for flow, dataset, written in self.passages if not written)

    @cached_property
    def _sources(self) -> dict[int, tuple[int, ...]]:
        return _grouped((flow, dataset) for flow, dataset, written in self.passages if not written)

    @cached_property
    def _targets(self) -> dict[int, tuple[int, ...]]:
        results = self.results
        return _grouped((flow, dataset) for flow, dataset, written in self.passages if written and dataset not in results)

    @cached_property
    def _asking(self) -> frozenset[int]:
        """The flows that give results of queries."""
        return frozenset(flow for flow, dataset, written in self.passages if written and dataset in self.results)

    def _numbers(self, question: str) -> frozenset[int]:
        return frozenset(number for (number,) in self._db.execute(question))

    def _read(self, question: str) -> list[Any]:
        rows = self._db.execute(question).fetchall()
        self.size += len(rows)
        return rows


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, tuple[Any, ...]]:
    """By the first of each pair the others, in tuples: of these Python's garbage collector soon knows that it need not look into them."""
    found: dict[Any, list[Any]] = {}
    for key, value in pairs:
        known = found.get(key)
        if known is None:
            found[key] = [value]
        else:
            known.append(value)
    return {key: tuple(some) for key, some in found.items()}
