"""Saved lineage: that of a run in a directory, answered from what is mapped, else from its blocks; and how it is written."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bigdebug.graph import OperatorGraph
from bigdebug.model import pack
from bigdebug.trace.associated import Associated, Pairs, write
from bigdebug.trace.lineage import Hop, Lineage
from bigdebug.trace.numbering import Numbering
from bigdebug.trace.places import Places
from bigdebug.trace.positions import Positions
from bigdebug.trace.run import Run
from bigdebug.trace.walk import all_of
from bigdebug.trace.ways import Way, ways_of


def write_lineage(home: Path, folder: str, run: Run) -> dict[str, Any]:
    """Write the lineage of an RDD program's run between the operators where a trace steps; what a catalog lists. Raises BigdebugErrors for what is not known."""
    ways = ways_of(run)
    operators = sorted({run.subject, *(way.made for way in ways), *(way.hop.operator for way in ways)})
    places = {operator: all_of(run.lineage, operator) for operator in operators}
    levels = {operator: Numbering.of_counts({partition: len(at) for partition, at in here.items()}) for operator, here in places.items()}
    return write(home, folder, levels, (_pairs(run, way, places[way.made], levels) for way in ways))


def _pairs(run: Run, way: Way, places: Places, levels: dict[int, Numbering]) -> Pairs:
    above, below = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for partition, sender, which, there in run.lineage.pairs(way.made, way.hop, places):
        above.append(levels[way.made].numbers_of(pack(partition, places[partition][which])))
        below.append(levels[way.hop.operator].numbers_of(pack(sender, there)))
    return Pairs(way.made, way.hop.operator, way.hop.branch, np.concatenate(above), np.concatenate(below))


@dataclass
class SavedLineage(Lineage):
    """The lineage of an RDD program's run. Steps inside a stage, and those of sessions of format 1, are answered from blocks."""

    associated: Associated | None = field(default=None)

    def back(self, operator: int, hop: Hop, places: Places) -> dict[int, Positions]:
        if self.associated is not None and self.associated.knows(operator, hop.operator, hop.branch):
            return self.associated.back(operator, hop.operator, hop.branch, places)
        return super().back(operator, hop, places)

    def ahead(self, operator: int, hop: Hop, places: Places) -> dict[int, Positions]:
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

    def back(self, operator: int, hop: Hop, places: Places) -> dict[int, Positions]:
        """From records of ``operator`` to those of ``hop.operator``."""
        return self.associated.back(operator, hop.operator, hop.branch, places)

    def ahead(self, operator: int, hop: Hop, places: Places) -> dict[int, Positions]:
        """From records of ``operator`` to those of ``hop.operator``."""
        return self.associated.ahead(hop.operator, operator, hop.branch, places)
