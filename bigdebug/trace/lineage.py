"""The lineage of one run: its operator graph over the blocks of a store, one hop at a time.

A hop goes from an operator to the nearest operators whose records are named by a stored table; a hop over several
fused operators is exact because their table is. To stop between them, the stage is derived again with an agent
after each operator (Titian 4.1, remark); whoever holds the running program supplies that derivation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from bigdebug.errors import IncompleteLineageError
from bigdebug.graph import FINE, Form, OperatorGraph, Stage
from bigdebug.store.blocks import Block
from bigdebug.store.directory import LineageStore
from bigdebug.trace import counts, structure
from bigdebug.trace.held import held
from bigdebug.trace.pairs import pairs_of
from bigdebug.trace.places import Places, occupied
from bigdebug.trace.positions import Positions, first
from bigdebug.trace.shuffle import Arrivals, Departures
from bigdebug.trace.stages import Stages
from bigdebug.trace.tables import AssociationTable, association_table

Derive = Callable[[Stage, Collection[int]], None]
"""Writes blocks of ``stage`` for the given partitions into the run's folder."""


@dataclass(frozen=True)
class Hop:
    """One step of a trace: the operator it reaches, and the stage and segment it crosses (None: no stage)."""

    operator: int
    stage: Stage | None = None
    segment: int = -1
    branch: int = 0


@dataclass
class Lineage:
    """Answers hops over ``graph`` from the blocks that ``runs`` (latest first) left in ``store``."""

    graph: OperatorGraph
    store: LineageStore
    runs: tuple[str, ...]
    derive: Derive | None = None
    count: Callable[[int, Collection[int]], Mapping[int, int]] | None = None
    """Counts the records of an operator in partitions that no task of ours has read to their end."""
    computed: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """Partitions that the run computed, by stage, with digests: a block that is missing there is lost, not empty."""

    def __post_init__(self) -> None:
        self.stages = Stages(self.graph, self.readable)
        self._at_rest = False

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Within: what the store does not have is missing, and nothing is derived or counted by a job."""
        before, self._at_rest = self._at_rest, True
        try:
            yield
        finally:
            self._at_rest = before

    @property
    def counting(self) -> Callable[[int, Collection[int]], Mapping[int, int]] | None:
        """``count``, if it may be asked."""
        return None if self._at_rest else self.count

    @property
    def _deriving(self) -> Derive | None:
        return None if self._at_rest else self.derive

    # ---- the shape of the graph -------------------------------------------------------------------------------

    def hops_back(self, operator: int, stops: Collection[int]) -> Iterator[Hop]:
        """Where a backward trace at ``operator`` goes next, stopping no later than at ``stops``."""
        subject = self.graph[operator]
        if subject.form.narrow:
            stage, number = self.stages.ending_at(operator, stops)
            yield Hop(self.stages.level_below(stage, number), stage, number)
        elif subject.form.wide:
            for branch, parent in enumerate(subject.parents):
                yield Hop(parent, self.stages.reading(operator), branch=branch)
        else:
            product = self.stages.reading(operator) if subject.form is Form.CARTESIAN else None
            for branch, parent in enumerate(subject.parents):
                yield Hop(parent, product, branch=branch)

    def hops_ahead(self, operator: int, stops: Collection[int], within: Collection[int]) -> Iterator[Hop]:
        """Where a forward trace at ``operator`` goes next among the operators ``within``."""
        seen: set[tuple[int, ...]] = set()
        narrow = {child.id for child in self.graph.children(operator) if child.form.narrow and child.id in within}
        for child in sorted(narrow):
            for stage, number in self.stages.crossing(operator, child, stops):
                segment = stage.segments[number]
                reached = segment.operators[-1]
                if segment.operators not in seen and reached in within:
                    seen.add(segment.operators)
                    yield Hop(reached, stage, number)
        for other in self.graph.children(operator):
            if other.form.narrow or other.id not in within:
                continue
            for branch, parent in enumerate(other.parents):
                if parent == operator:
                    needs_stage = other.form.wide or other.form is Form.CARTESIAN
                    yield Hop(other.id, self.stages.reading(other.id) if needs_stage else None, branch=branch)

    # ---- one hop ----------------------------------------------------------------------------------------------

    def back(self, operator: int, hop: Hop, places: Places) -> Places:
        """From records of ``operator`` to those of ``hop.operator``."""
        subject = self.graph[operator]
        if subject.form.narrow:
            assert hop.stage is not None
            self.need(hop.stage, places, hop.segment)
            stage, number = hop.stage, hop.segment
            return held((p, self._table(stage, number, p).back(places[p])) for p in occupied(places))
        if subject.form.wide:
            assert hop.stage is not None
            return self._departures(operator, hop.branch).back(self._arrivals(operator, hop.stage, places))
        return structure.back(self, subject, hop, places)

    def pairs(self, operator: int, hop: Hop, places: Places) -> Iterator[tuple[int, int, Positions, Positions]]:
        """As ``back``, each record with those that it was made of: (partition, the one there, which of ``places``, positions there)."""
        subject = self.graph[operator]
        if not subject.form.narrow and not subject.form.wide:
            yield from structure.pairs(self, subject, hop, places)
            return
        assert hop.stage is not None
        number = hop.segment if subject.form.narrow else 0
        self.need(hop.stage, places, number)
        for partition, at in places.items():
            made = subject.form.narrow or subject.form.merges
            which, there = pairs_of(self._table(hop.stage, number, partition), at) if made else (np.arange(len(at), dtype=np.int64), at)
            if subject.form.narrow:
                yield partition, partition, which, there
                continue
            departures = self._departures(operator, hop.branch)
            for sender, arrived, numbers in self._runs(hop.stage, partition).each(there, hop.branch):
                sent, records = departures.pairs(sender, partition, numbers)
                yield partition, sender, which[arrived[sent]], records

    def ahead(self, operator: int, hop: Hop, places: Places) -> Places:
        """From records of ``operator`` to those of ``hop.operator``."""
        reached = self.graph[hop.operator]
        if reached.form.narrow:
            assert hop.stage is not None
            stage, number = hop.stage, hop.segment
            seen = sorted({*self.read(stage, number)}.intersection(occupied(places)))
            self.need_partitions(stage, seen, number)
            return held((p, self._through(stage, number, p, places[p])) for p in seen)
        if reached.form.wide:
            assert hop.stage is not None
            arrived = self._departures(hop.operator, hop.branch).ahead(places, self.read(hop.stage), hop.stage)
            return self._merged(hop.operator, hop.stage, arrived)
        known = counts.records(self, hop.operator)
        return held((p, first(at, known.get(p, 0))) for p, at in structure.ahead(self, reached, hop, places).items())

    def sent(self, stage: Stage, partition: int, arrivals: Positions) -> dict[int, Places]:
        """The records, by operator, that some of what arrived in a partition of a stage was before its shuffle."""
        here = [(partition, self._runs(stage, partition), arrivals)]
        parents = enumerate(self.graph[stage.reads].parents)
        return {parent: self._departures(stage.reads, branch).back(here) for branch, parent in parents}

    def together(self, stage: Stage, partition: int) -> Positions:
        """How many records each of what arrived in a partition of a stage was before its shuffle: a combiner is made of several."""
        feeding = [self._departures(stage.reads, branch) for branch, _ in enumerate(self.graph[stage.reads].parents)]
        parts = [feeding[branch].together(sender, partition, numbers) for branch, sender, numbers in self._runs(stage, partition).sent()]
        return np.concatenate([np.empty(0, dtype=np.int64), *parts])

    def association(self, stage: Stage, number: int, partition: int) -> AssociationTable:
        """The table of a segment, of whichever stage went furthest in ``partition``; derived if need be."""
        return self._table(stage, number, partition)

    def levels(self, stage: Stage, number: int, partition: int) -> tuple[int, int]:
        """How many records enter a segment in a partition, and how many leave it."""
        block = self.block(self._furthest(stage, number, partition), partition, tables=False)
        return block.levels[number], block.levels[number + 1]

    def block(self, stage: Stage, partition: int, tables: bool = True) -> Block:
        """The block of a partition; without ``tables`` its facts alone, for which a stub will do."""
        read = self.store.block if tables else self.store.facts
        found = read(self.runs, stage.id, partition)
        if (found is None or (found.stub and tables)) and self._deriving is not None:
            self._deriving(stage, [partition])
            found = read(self.runs, stage.id, partition)
        if found is None or (found.stub and tables):
            raise IncompleteLineageError(
                f"There is no lineage of partition {partition} of stage {stage.id} ({self.graph[stage.ends]})",
                remedy="The job did not compute it, or its block could not be written: see run.incomplete.",
            )
        return found

    # ---- tables -----------------------------------------------------------------------------------------------

    def _table(self, stage: Stage, number: int, partition: int) -> AssociationTable:
        stage = self._furthest(stage, number, partition)
        block = self.block(stage, partition)
        if number not in block.made:
            segment = stage.segments[number]
            detail = self.graph[segment.operators[-1]].detail
            right = self._runs(stage, partition).branches() == 1 if segment.form in (Form.JOIN, Form.SUBTRACT) else None
            block.made[number] = association_table(
                segment.form, f"segment{number}", block.columns,
                block.levels[number], block.levels[number + 1], right, detail,
            )
        found: AssociationTable = block.made[number]
        return found

    def _runs(self, stage: Stage, partition: int) -> Arrivals:
        block = self.read_block(stage, partition)
        if "arrivals" not in block.made:
            block.made["arrivals"] = Arrivals.of(block)
        found: Arrivals = block.made["arrivals"]
        return found

    def _arrivals(self, operator: int, stage: Stage, places: Places) -> Iterator[tuple[int, Arrivals, Positions]]:
        """What arrived to become records of a wide operator, by reduce partition."""
        self.need(stage, places, 0)
        merges = self.graph[operator].form.merges
        for p in occupied(places):
            yield p, self._runs(stage, p), self._table(stage, 0, p).back(places[p]) if merges else places[p]

    def _merged(self, operator: int, stage: Stage, arrived: Places) -> Places:
        """The records of a wide operator that arrivals became."""
        self.need(stage, arrived, 0)
        merges = self.graph[operator].form.merges
        if merges:
            return held((p, self._table(stage, 0, p).ahead(arrived[p])) for p in occupied(arrived))
        return held((p, first(arrived[p], self.read_block(stage, p).levels[0])) for p in occupied(arrived))

    def _through(self, stage: Stage, number: int, partition: int, at: Positions) -> Positions:
        """The records behind a segment that some before it were made into, of those that were read and asked for: take() stops early."""
        read, asked_for = self.levels(stage, number, partition)
        return first(self._table(stage, number, partition).ahead(first(at, read)), asked_for)

    def _departures(self, operator: int, branch: int) -> Departures:
        for stage in self.graph.stages:
            if stage.feeds == operator and stage.branch == branch:
                return Departures(stage, partial(self.block, stage), self._runs)
        raise IncompleteLineageError(
            f"No stage that feeds {self.graph[operator]} was captured", remedy="Run the action again under capture."
        )

    def readable(self, stage: Stage) -> list[int]:
        """The partitions that the run computed of ``stage``, or of the one that it was derived from."""
        base = stage.id.removesuffix(FINE)
        if stage.adopted:
            return list(range(self.graph[stage.ends].partitions))
        return sorted({*self.computed.get(base, ()), *self.store.partitions(self.runs, base)})

    def read(self, stage: Stage, number: int = -1) -> list[int]:
        """The partitions that ``stage``, or another one that crosses the same segment, has computed."""
        return sorted({p for other in self.stages.rivals(stage, number) for p in self.readable(other)})

    def read_block(self, stage: Stage, partition: int) -> Block:
        """The block of whichever stage went furthest in ``partition`` of what ``stage`` reads."""
        return self.block(self._furthest(stage, -1, partition), partition)

    def _furthest(self, stage: Stage, number: int, partition: int) -> Stage:
        """Of the stages that cross the same segment, the one that read most of ``partition``.

        An action like take() runs several jobs, each a stage of its own on some of the partitions.
        """
        rivals = self.stages.rivals(stage, number)
        return rivals[0] if len(rivals) == 1 else max(rivals, key=lambda rival: self._progress(rival, partition))

    def _progress(self, stage: Stage, partition: int) -> tuple[int, ...]:
        block = self.store.facts(self.runs, stage.id.removesuffix(FINE), partition)
        return () if block is None else block.levels[:2]

    def need(self, stage: Stage, places: Places, number: int) -> None:
        """See that there are blocks for the partitions of ``places``, deriving those that are missing."""
        self.need_partitions(stage, occupied(places), number)

    def need_partitions(self, stage: Stage, partitions: Iterable[int], number: int) -> None:
        """See that there are blocks for these partitions."""
        missing: dict[str, tuple[Stage, list[int]]] = {}
        for partition in partitions:
            furthest = self._furthest(stage, number, partition)
            if not self._has(furthest, partition):
                missing.setdefault(furthest.id, (furthest, []))[1].append(partition)
        if self._deriving is not None:
            for furthest, partitions in missing.values():
                self._deriving(furthest, partitions)

    def _has(self, stage: Stage, partition: int) -> bool:
        block = self.store.facts(self.runs, stage.id, partition)
        return block is not None and not block.stub
