"""Every step between columns, in one direction, over the graph that was read at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bigdebug.datasets.uses import IDENTITY, UNKNOWN

if TYPE_CHECKING:
    from bigdebug.datasets.everything import Everything

Step = tuple[int, str, str]
"""To which dataset, which column, and how that is used."""

NONE: tuple[Any, ...] = ()
"""What nothing is known of has."""


class EverySteps:
    """All steps between columns in one direction, by the column that they lead from."""

    def __init__(self, whole: Everything, upstream: bool) -> None:
        self._whole = whole
        self._upstream = upstream
        self._unknown = whole.unknown(upstream)
        self._over_all: dict[int, list[Step]] = {}

    def of(self, column: tuple[int, str]) -> list[Step]:
        """As a question would answer, in order."""
        here, name = column
        found: list[Step] = []
        for each in (here, *self._whole.touching.get(here, NONE)):
            if self._upstream:
                found += [edge[3:] for edge in self._whole.edges_to(each, name) if not name or edge[2] in (name, "")]
            else:
                results = self._whole.results
                found += [(edge[1], edge[2], edge[5]) for edge in self._whole.edges_from(each, name) if edge[4] == name or not name if edge[1] not in results]
        if here in self._unknown:
            found += [(far, name if renamed else "", IDENTITY if renamed else UNKNOWN) for far, renamed in self._unknown[here]]
        return in_order(found)

    def over_all(self, here: int) -> list[Step]:
        """From where all columns of a dataset are made, or are decided over, where there are many: few are told of each column. Upstream alone."""
        if here not in self._over_all:
            self._over_all[here] = in_order([edge[3:] for each in (here, *self._whole.touching.get(here, NONE)) for edge in self._whole.over_all.get(each, NONE)])
        return self._over_all[here]


def in_order(some: list[Any]) -> list[Any]:
    """Each once, as a question would answer."""
    return some if len(some) < 2 else sorted(set(some))
