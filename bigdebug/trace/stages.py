"""Which stages of a run know an operator: at what level its records stand, and which segments begin and end there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from bigdebug.errors import IncompleteLineageError
from bigdebug.graph import FINE, Emission, OperatorGraph, Segment, Stage


class Stages:
    """The stages of ``graph``, those first that computed most partitions (``partitions`` tells which)."""

    def __init__(self, graph: OperatorGraph, partitions: Callable[[Stage], list[int]]) -> None:
        self._graph = graph
        self._partitions = partitions
        self._known_rivals: dict[tuple[str, int], list[Stage]] = {}

    def finest(self, stage: Stage) -> Stage:
        """The same stage with an agent after each operator."""
        segments = tuple(
            Segment((operator,), self._graph[operator].form) for segment in stage.segments for operator in segment.operators
        )
        return replace(stage, id=stage.id + FINE, segments=segments, emission=Emission.RECORDS, feeds=None)

    def level_below(self, stage: Stage, number: int) -> int:
        return stage.segments[number - 1].operators[-1] if number else stage.reads

    def levels(self, operator: int) -> Iterator[tuple[Stage, int]]:
        """Stages and levels at which exactly the records of ``operator`` stand, those with blocks first."""
        found = []
        for stage in self._graph.stages:
            for number, segment in enumerate(stage.segments):
                if segment.operators[-1] == operator:
                    found.append((stage, number + 1))
            if stage.reads == operator and not (stage.fetches and self._graph[operator].form.merges):
                found.append((stage, 0))
        coverage = {stage.id: len(self._partitions(stage)) for stage, _ in found}
        yield from sorted(found, key=lambda at: -coverage[at[0].id])

    def ending_at(self, operator: int, stops: Collection[int]) -> tuple[Stage, int]:
        """A stage with a segment that ends at ``operator`` and skips none of ``stops``; derived if need be."""
        for stage, level in self.levels(operator):
            if level and not set(stage.segments[level - 1].operators[:-1]).intersection(stops):
                return stage, level - 1
        for stage in self.running(operator):
            fine = self.finest(stage)
            for number, segment in enumerate(fine.segments):
                if segment.operators == (operator,):
                    return fine, number
        raise IncompleteLineageError(
            f"{self._graph[operator]} was not computed under capture", remedy="Run an action on it under capture."
        )

    def crossing(self, operator: int, child: int, stops: Collection[int]) -> Iterator[tuple[Stage, int]]:
        """Segments that begin at the records of ``operator`` with ``child``."""
        plain = []
        for stage in self.running(child):
            for number, segment in enumerate(stage.segments):
                begins = segment.operators[0] == child and self.level_below(stage, number) == operator
                if begins and not set(segment.operators[:-1]).intersection(stops):
                    plain.append((stage, number))
        yield from plain
        if not plain:
            for stage in self.running(child):
                fine = self.finest(stage)
                for number, segment in enumerate(fine.segments):
                    if segment.operators == (child,):
                        yield fine, number
                        return

    def running(self, operator: int) -> list[Stage]:
        """Stages that compute ``operator``, those with most blocks first."""
        found = [s for s in self._graph.stages if operator in s.operators]
        return sorted(found, key=lambda s: -len(self._partitions(s)))

    def reading(self, operator: int) -> Stage:
        found = [s for s in self._graph.stages if s.reads == operator and s.fetches]
        if not found:
            raise IncompleteLineageError(
                f"No stage that reads {self._graph[operator]} was captured", remedy="Run the action again under capture."
            )
        return max(found, key=lambda s: len(self._partitions(s)))

    def rivals(self, stage: Stage, number: int) -> list[Stage]:
        """``stage`` and the others that cross its segment ``number`` from the same records (-1: that read the same)."""
        key = (stage.id, number)
        if key not in self._known_rivals:
            fine = stage.id.endswith(FINE)
            found = [stage]

            def crossed(other: Stage) -> list[tuple[int, ...]]:
                return [segment.operators for segment in other.segments[: number + 1]]

            for other in map(self.finest, self._graph.stages) if fine else self._graph.stages:
                alike = (other.reads, other.fetches) == (stage.reads, stage.fetches) and crossed(other) == crossed(stage)
                if alike and other.id != stage.id:
                    found.append(other)
            self._known_rivals[key] = found
        return self._known_rivals[key]
