"""A trace: records at operators of a run, and where it can go from there (Titian 3). Lazy, and pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np
from pyroaring import BitMap64

from bigdebug.errors import UnknownOperatorError, UnknownRecordError
from bigdebug.graph import Operator
from bigdebug.model import NO_RIDS, Origin, Rids
from bigdebug.shown import counted, plain
from bigdebug.trace.counts import sizes
from bigdebug.trace.given import rids_given, whole
from bigdebug.trace.operators import not_here, operator_here, operator_of
from bigdebug.trace.page import check_numbers, numbered, numbers_given
from bigdebug.trace.places import Places, count, places_of, rids_of, union
from bigdebug.trace.positions import Positions
from bigdebug.trace.run import Run
from bigdebug.trace.walk import all_of, first_met, walk

Standing = Mapping[int, Places]
"""Where a trace stands: records by operator."""


class Trace:
    """A set of records at one operator of a run, or at several (both parents of a join, all sources).

    Steps give new traces and cost nothing; the first question (``count``, ``rids``, ...) follows them. Backward, the
    answer is exactly the records that the traced ones were computed from, except through the operators that
    ``opaque`` names: what an arbitrary function over an iterator read before an output (Newt 3.2).
    """

    def __init__(self, run: Run, operators: Iterable[int], standing: Callable[[], Standing]) -> None:
        self.run = run
        self.operators = tuple(sorted(operators))
        self._find: Callable[[], Standing] | None = standing
        self._standing: Standing = {}

    # ---- where it stands --------------------------------------------------------------------------------------

    @property
    def standing(self) -> Standing:
        """The records, by operator and partition; found on first use."""
        if self._find is not None:
            self._standing = self._find()
            self._find = None
        return self._standing

    @property
    def places(self) -> Places:
        """The records at the only operator of this trace."""
        return self.standing.get(self._only("places"), {})

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the sources that a backward trace from here can reach."""
        names = self.run.input_names()
        reachable = {u for operator in self.operators for u in self.run.graph.upstream(operator)}
        return tuple(name for source, name in names.items() if source in reachable)

    @property
    def opaque(self) -> tuple[Operator, ...]:
        """Operators upstream through which a trace is sufficient but not precise."""
        reachable = {u for operator in self.operators for u in self.run.graph.upstream(operator)}
        return tuple(o for o in self.run.graph if o.id in reachable and o.form.opaque)

    def rids(self) -> Rids:
        """The record ids, ascending; where the trace stands at several operators, one operator after the other."""
        found = [rids_of(self.standing.get(operator, {})) for operator in self.operators]
        return np.concatenate(found) if found else NO_RIDS

    def bitmap(self) -> BitMap64:
        """The rids at the only operator of this trace as a compressed set: for overlaps, and to keep many of them."""
        self._only("bitmap()")
        return BitMap64(self.rids().tolist())

    def count(self) -> int:
        """How many records the trace names; no Spark job."""
        return sum(count(places) for places in self.standing.values())

    def origins(self) -> list[Origin]:
        """Where the traced records came from, in the order of ``rids()``; for traces that stand at sources."""
        found: list[Origin] = []
        for operator in self.operators:
            facts = self.run.sources.get(operator)
            if facts is None:
                raise UnknownOperatorError(
                    f"{self.run.graph[operator]} is not a source, so its records have no origin",
                    remedy="Go back to the sources first: goBackAll().",
                )
            for partition, positions in sorted(self.standing.get(operator, {}).items()):
                found.extend(facts.origins(partition, positions, lambda ps, o=operator: self._sizes(o, ps)))  # type: ignore[misc]
        return found

    def _sizes(self, operator: int, partitions: list[int]) -> Mapping[int, int]:
        return sizes(self.run.lineage, operator, partitions)

    # ---- narrowing --------------------------------------------------------------------------------------------

    def at(self, rids: Iterable[int]) -> Any:
        """The records with these ids. Raises UnknownRecordError for an id that is not in this trace."""
        wanted = rids_given(rids)
        operator = self._only("at()")

        def find() -> Standing:
            here = self.standing.get(operator, {})
            chosen = places_of(wanted)
            for partition, positions in chosen.items():
                known = here.get(partition, NO_RIDS)
                strange = positions[~np.isin(positions, known)]
                if len(strange):
                    rid = (partition << 40) | int(strange[0])
                    raise UnknownRecordError(
                        f"{self.run.graph[operator]} has no such record in this trace: partition {partition}, "
                        f"position {int(strange[0])}", value=rid, remedy="rids() lists the ids that it has.",
                    )
            return {operator: chosen}

        return self._to([operator], find)

    def numbered(self, numbers: Iterable[int]) -> Any:
        """The records with these numbers, counted from 0 in the order of ``rids()``. Raises UnknownRecordError for a number beyond the last."""
        wanted = numbers_given(numbers)
        operator = self._only("numbered()")

        def find() -> Standing:
            here = self.standing.get(operator, {})
            check_numbers(wanted, count(here), self.run.graph[operator])
            return {operator: numbered(here, wanted)}

        return self._to([operator], find)

    __iter__ = None
    """collect() gives the records: to iterate over a trace would hide a job."""

    def __getitem__(self, name: str | Operator) -> Any:
        """The part of the trace that stands at one input, or at one operator. An input that is read several times is one name."""
        if isinstance(name, Operator):
            at = operator_here(self, name)
            return self._to([at], lambda: {at: self.standing.get(at, {})})
        names = self.run.input_names()
        every = [s for s, dataset in self.run.datasets().items() if dataset == name]
        chosen = every or [s for s, known in names.items() if known == name]
        here = [s for s in chosen if s in self.operators]
        if not here:
            raise not_here(name, names.values())
        return self._to(here, lambda: {s: self.standing.get(s, {}) for s in here})

    # ---- steps ------------------------------------------------------------------------------------------------

    def goBackAll(self) -> Any:  # noqa: N802 (Titian's name)
        """All source records that contributed."""
        sources = {s.id for s in self.run.graph.sources}
        return self._step(sources, ahead=False)

    def goNextAll(self) -> Any:  # noqa: N802
        """All records of the run's result that these contributed to."""
        return self._step({self.run.subject}, ahead=True)

    def goBack(self, n: int = 1) -> Any:  # noqa: N802
        """Back by ``n`` stage boundaries: wide operators, rearrangements and sources."""
        return self._steps(n, ahead=False)

    def goNext(self, n: int = 1) -> Any:  # noqa: N802
        """Ahead by ``n`` stage boundaries."""
        return self._steps(n, ahead=True)

    def back_to(self, operator: Any) -> Any:
        """Back to one operator, given as the RDD, the operator, or its id; it may lie inside a stage."""
        return self._step({self._operator(operator)}, ahead=False)

    def back_to_first(self, operators: Collection[int]) -> Any:
        """Back by one step: on each way to the first of these operators, given as ids."""
        return self._step(set(operators), ahead=False)

    def forward_to(self, operator: Any) -> Any:
        """Ahead to one operator, given as the RDD, the operator, or its id."""
        return self._step({self._operator(operator)}, ahead=True)

    def _steps(self, n: int, ahead: bool) -> Any:
        n = whole(n, "a trace goes by a whole number of steps")
        if n < 1:
            raise ValueError(f"a trace goes by at least one step, not {n}; goNext() is the way ahead and goBack() back")
        boundaries = {o.id for o in self.run.graph if o.boundary} | {self.run.subject}
        trace = self
        for _ in range(n):
            trace = trace._step(boundaries, ahead)
        return trace

    def _step(self, goals: set[int], ahead: bool) -> Any:
        graph = self.run.graph
        if ahead:
            wanted = {u for g in goals for u in graph.upstream(g)} & graph.upstream(self.run.subject)
            reachable = {d for o in self.operators for d in graph.downstream(o)} & wanted
        else:
            wanted = {d for g in goals for d in graph.downstream(g)}
            reachable = {u for o in self.operators for u in graph.upstream(o)} & wanted
        targets = [g for g in goals if g in reachable]
        if not targets:
            here = ", ".join(str(graph[o]) for o in self.operators)
            there = ", ".join(str(graph[g]) for g in sorted(goals) if g in graph)
            raise UnknownOperatorError(
                f"No way leads {'ahead' if ahead else 'back'} from {here} to {there}",
                remedy="Trace from an operator of the same branch of the program.",
            )
        # A single goal is where it is; at the ends of the program further steps have nowhere to go.
        ends = {self.run.subject} if ahead else {s.id for s in graph.sources}
        stay = [o for o in self.operators if o in goals and (len(goals) == 1 or o in ends)]
        reached = first_met(graph, self.operators, set(goals), reachable, ahead, set(stay))

        def find() -> Standing:
            found: dict[int, Any] = {}
            for operator in self.operators:
                here = self.standing.get(operator, {})
                if operator in stay:
                    _merge(found, operator, here)
                    continue
                lineage = self.run.lineage
                for at, places in walk(lineage, operator, here, goals, reachable, ahead).items():
                    _merge(found, at, places)
            return found

        return self._to(reached, find)

    def _to(self, operators: Iterable[int], find: Callable[[], Standing]) -> Any:
        return Trace(self.run, operators, find)

    def _operator(self, given: Any) -> int:
        """The id of an operator of this run; an error of ours for one of another run."""
        return operator_of(self.run, given).id

    def _only(self, what: str) -> int:
        if len(self.operators) != 1:
            names = ", ".join(repr(n) for n in self.inputs)
            raise UnknownOperatorError(
                f"{what} needs a trace at one operator and this one stands at {len(self.operators)}",
                remedy=f"Choose one first: trace[{names.split(', ')[0]}].",
            )
        return self.operators[0]

    def __repr__(self) -> str:
        at = ", ".join(str(self.run.graph[o]) for o in self.operators)
        state = "not followed yet" if self._find is not None else counted(self.count())
        return plain(f"<trace of run {self.run.name!r} at {at}: {state}>")


def all_records(run: Run, operator: int) -> Standing:
    """Every record of an operator that the run saw."""
    return {operator: all_of(run.lineage, operator)}


def _merge(found: dict[int, Any], operator: int, places: Mapping[int, Positions]) -> None:
    found[operator] = union(found.get(operator, {}), places)
