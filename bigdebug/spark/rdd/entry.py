"""Entry: where the program of a run is entered to run once more, and with which of the run's records."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.spark.rdd.positional import entries
from bigdebug.trace.places import Places, union

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD


class Entry:
    """The records of a trace, or without ``exclude`` all others, on their way to ``target``.

    They are restricted, dropped or, if it ``edits``, changed ``at`` an operator, else at the sources. Unless other records than the traced ones run, or changed
    ones, the program is entered behind what the place of a record decided and, if ``absent``, its absence: that stays as it was in the run.
    """

    def __init__(self, trace: LineageRDD, exclude: bool, at: int | None, edits: bool, absent: bool, target: int) -> None:
        self._trace, self._run = trace, trace.run
        self._exclude, self._at, self._edits, self._absent, self._target = exclude, at, edits, absent, target

    @property
    def anew(self) -> bool:
        """True if other records than the traced ones run, or changed ones: then nothing of the run is kept."""
        return self._exclude or self._edits

    @cached_property
    def cut(self) -> dict[int, Places]:
        """By operator where the program is entered, the records of the run that it is entered with, before any is changed."""
        cut: dict[int, Places]
        if self._exclude:
            cut = {o: self.everything(o) if self._edits else _minus(self.everything(o), p) for o, p in self.aimed.items()}
            return cut | {s: self.everything(s) for s in self._others(self.aimed)}
        cut = self._entered()
        return {s: {} for s in self._others(cut)} | cut

    @cached_property
    def aimed(self) -> Mapping[int, Places]:
        """The traced records at the operator where they are restricted, dropped or changed."""
        if self._at is None:
            return self._sources
        aimed: Mapping[int, Places] = (self._trace.forward_to(self._at) if self._ahead else self._trace.back_to(self._at)).standing
        return aimed

    def everything(self, operator: int) -> dict[int, Any]:
        """All records of an operator."""
        sizes = dict(self._trace._sizes(operator, list(range(self._run.graph[operator].partitions))))
        return {p: np.arange(n, dtype=np.int64) for p, n in sizes.items()}

    def edits(self, operator: int) -> bool:
        """Whether records that the program is entered with there are changed."""
        return self._edits and (self._at is None or operator == self._at)

    def edited(self, operator: int) -> Mapping[int, Any]:
        """Which of the records that the program is entered with there are changed, by partition."""
        if not self.edits(operator):
            return {}
        if self._exclude:
            return dict(self.aimed.get(operator, {}))
        return {p: np.arange(len(at)) for p, at in self.cut[operator].items()}

    def _entered(self) -> dict[int, Places]:
        """What the traced records were made of, at the last operators on each way that the program is entered at."""
        graph, trace = self._run.graph, self._trace
        found: dict[int, Places] = {}
        goals = {s.id for s in graph.sources} | (set() if self.anew else entries(graph, self._absent))
        if self._at is not None:
            if self._ahead:
                cut: dict[int, Places] = {self._at: self.aimed[self._at]}
                return cut | {s: places for s, places in self._sources.items() if self._reachable(s, cut)}
            goals.add(self._at)
        for operator in goals.intersection(trace.operators):
            found[operator] = trace.standing.get(operator, {})
        going = [o for o in trace.operators if o not in goals]
        if going:
            standing = trace._to(going, lambda: {o: trace.standing.get(o, {}) for o in going})._step(goals, ahead=False).standing
            for operator, places in standing.items():
                found[operator] = union(found.get(operator, {}), places)
        return found

    @property
    def _ahead(self) -> bool:
        """True if ``at`` is an operator that the trace has still to reach."""
        return not any(self._at in self._run.graph.upstream(o) for o in self._trace.operators)

    @property
    def _sources(self) -> Mapping[int, Places]:
        """What the traced records were made of at the sources."""
        sources: Mapping[int, Places] = self._trace.goBackAll().standing
        return sources

    def _others(self, cut: Mapping[int, Any]) -> list[int]:
        """Sources that the target still reads when the program is cut at ``cut``."""
        return [s.id for s in self._run.graph.sources if s.id not in cut and self._reachable(s.id, cut)]

    def _reachable(self, source: int, cut: Mapping[Any, Any]) -> bool:
        """Whether the target still reads ``source`` when the program is cut at ``cut``."""
        todo, seen = [self._target], set()
        while todo:
            operator = todo.pop()
            if operator == source:
                return True
            if operator not in seen and operator not in cut:
                seen.add(operator)
                todo.extend(self._run.graph[operator].parents)
        return False


def _minus(everything: Mapping[int, Any], places: Places) -> dict[int, Any]:
    return {p: np.setdiff1d(at, places[p], assume_unique=True) if p in places else at for p, at in everything.items()}
