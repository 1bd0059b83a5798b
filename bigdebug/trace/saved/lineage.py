"""Saved lineage: that of a run in a directory, answered from what is mapped, else from its blocks; and how it is written."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bigdebug.errors import CorruptBlockError, IncompleteLineageError
from bigdebug.graph import OperatorGraph, Stage
from bigdebug.model import NO_RIDS, Rids, pack
from bigdebug.store.blocks import Block
from bigdebug.trace.lineage import Hop, Lineage
from bigdebug.trace.numbering import Numbering
from bigdebug.trace.places import Places
from bigdebug.trace.positions import distinct
from bigdebug.trace.run import Run
from bigdebug.trace.saved.associated import Associated, Pairs, write
from bigdebug.trace.tables import AssociationTable
from bigdebug.trace.walk import all_of
from bigdebug.trace.ways import Way, ways_of


def write_lineage(home: Path, folder: str, run: Run) -> dict[str, Any]:
    """Write the lineage of an RDD program's run between the operators where a trace steps; what a catalog lists. Raises BigdebugErrors for what is not known."""
    return _Levels(run).written(home, folder)


class _Levels:
    """The records of a run's levels, numbered while its ways are gone back. What nobody counted at an operator, the JVM's to arrange, is what others were made of."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._ways = sorted(ways_of(run), key=lambda way: -way.made)
        self._known: dict[int, Numbering] = {}
        self._reached: dict[int, list[Rids]] = {}
        for operator in {run.subject, *(way.made for way in self._ways), *(way.hop.operator for way in self._ways)}:
            known = _counted(run, operator)
            if known is None:
                self._reached[operator] = []
            else:
                self._known[operator] = known

    def written(self, home: Path, folder: str) -> dict[str, Any]:
        return write(home, folder, self._known, self._pairs())

    def _pairs(self) -> Iterator[Pairs]:
        held: list[tuple[Way, Rids, Rids]] = []
        for way in self._ways:
            above, below = self._rids(way)
            if way.hop.operator in self._reached:
                self._reached[way.hop.operator].append(distinct(below))
                held.append((way, above, below))
            else:
                yield self._numbered(way, above, below)
        for way, above, below in held:
            self._numbering(way.hop.operator)
            yield self._numbered(way, above, below)

    def _rids(self, way: Way) -> tuple[Rids, Rids]:
        """The records of a level and those that they were made of, by rid."""
        places = self._numbering(way.made).every()
        above, below = [NO_RIDS], [NO_RIDS]
        for partition, sender, which, there in self._run.lineage.pairs(way.made, way.hop, places):
            above.append(pack(partition, places[partition][which]))
            below.append(pack(sender, there))
        return np.concatenate(above), np.concatenate(below)

    def _numbering(self, operator: int) -> Numbering:
        """Asked of an operator when all ways to it have been gone: ids grow along the program."""
        if operator not in self._known:
            self._known[operator] = Numbering.of_rids(distinct(np.concatenate([NO_RIDS, *self._reached[operator]])))
        return self._known[operator]

    def _numbered(self, way: Way, above: Rids, below: Rids) -> Pairs:
        made, of = self._known[way.made], self._known[way.hop.operator]
        return Pairs(way.made, way.hop.operator, way.hop.branch, made.numbers_of(above), of.numbers_of(below))


def _counted(run: Run, operator: int) -> Numbering | None:
    """All records of an operator; None where nobody counted them. Raises IncompleteLineageError where the action's own were not."""
    try:
        return Numbering.of_counts({partition: len(at) for partition, at in all_of(run.lineage, operator).items()})
    except IncompleteLineageError:
        if operator == run.subject:
            raise
        return None


def _other(stage: Stage) -> CorruptBlockError:
    return CorruptBlockError(f"The catalog tells of another stage {stage.id} than its blocks", remedy="Restore the directory, or save the session again.")


@dataclass
class SavedLineage(Lineage):
    """The lineage of an RDD program's run. Steps inside a stage, and those of sessions of format 1, are answered from blocks."""

    associated: Associated | None = field(default=None)

    def block(self, stage: Stage, partition: int, tables: bool = True) -> Block:
        """As it was saved. Raises CorruptBlockError where it is that of another stage than the catalog tells of."""
        found = super().block(stage, partition, tables)
        if len(found.levels) != len(stage.segments) + 1:
            raise _other(stage)
        return found

    def _table(self, stage: Stage, number: int, partition: int) -> AssociationTable:
        try:
            return super()._table(stage, number, partition)
        except (KeyError, AssertionError) as missing:  # its agents noted something else
            raise _other(stage) from missing

    def back(self, operator: int, hop: Hop, places: Places) -> Places:
        if self.associated is not None and self.associated.knows(operator, hop.operator, hop.branch):
            return self.associated.back(operator, hop.operator, hop.branch, places)
        return super().back(operator, hop, places)

    def ahead(self, operator: int, hop: Hop, places: Places) -> Places:
        if self.associated is not None and self.associated.knows(hop.operator, operator, hop.branch):
            return self.associated.ahead(hop.operator, operator, hop.branch, places)
        return super().ahead(operator, hop, places)


@dataclass(frozen=True)
class LevelLineage:
    """The lineage of a DataFrame's run: it goes from level to level, and stops nowhere between."""

    graph: OperatorGraph
    associated: Associated

    def hops_back(self, operator: int, stops: Collection[int]) -> Iterator[Hop]:
        """Where a backward trace goes next."""
        return (Hop(of, branch=branch) for made, of, branch in self.associated.ways if made == operator)

    def hops_ahead(self, operator: int, stops: Collection[int], within: Collection[int]) -> Iterator[Hop]:
        """Where a forward trace goes next."""
        return (Hop(made, branch=branch) for made, of, branch in self.associated.ways if of == operator and made in within)

    def back(self, operator: int, hop: Hop, places: Places) -> Places:
        """From records of ``operator`` to those of ``hop.operator``."""
        return self.associated.back(operator, hop.operator, hop.branch, places)

    def ahead(self, operator: int, hop: Hop, places: Places) -> Places:
        """From records of ``operator`` to those of ``hop.operator``."""
        return self.associated.ahead(hop.operator, operator, hop.branch, places)
