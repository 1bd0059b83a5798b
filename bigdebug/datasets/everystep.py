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

    def of(self, column: tuple[int, str]) -> list[Step]:
        """As a question would answer, in order."""
        here, name = column
        found: list[Step] = []
        for each in (here, *self._whole.touching.get(here, NONE)):
            if self._upstream:
                names = (name, "") if name else None
                found += [edge[3:] for edge in self._whole.edges_to(each, name) if names is None or edge[2] in names]
            else:
                results = self._whole.results
                found += [(edge[1], edge[2], edge[5]) for edge in self._whole.edges_from(each, name) if edge[4] == name or not name if edge[1] not in results]
        if here in self._unknown:
            found += [(far, name if renamed else "", IDENTITY if renamed else UNKNOWN) for far, renamed in self._unknown[here]]
        return in_order(found)


def in_order(some: list[Any]) -> list[Any]:
    """Each once, as a question would answer."""
    return some if len(some) < 2 else sorted(set(some))
