"""Selections: which marks are brushed in which view, as data (Mosaic). A clause is a view's name with its marks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pyroaring import FrozenBitMap

from bigdebug.errors import ViewError

Clauses = Mapping[str, FrozenBitMap]
"""By view, the marks that are brushed there."""


@dataclass(frozen=True)
class Selection:
    """The rows that took part in some brushed mark of each brushed view: OR within a view, AND between views.

    A view that no clause is about lets all rows through; a clause without marks lets none through.
    """

    clauses: Clauses = field(default_factory=lambda: MappingProxyType({}))

    def brushed(self, view: str, marks: Iterable[int]) -> Selection:
        """This selection with these marks of a view, in place of those that were brushed there. Raises ViewError for what is no number of a mark."""
        try:
            return Selection(MappingProxyType({**self.clauses, view: FrozenBitMap(marks)}))
        except (OverflowError, TypeError) as error:
            raise ViewError(f"Marks of '{view}' that are no numbers from 0", value=marks, remedy="Brush them by their places in the view.") from error

    def cleared(self, view: str | None = None) -> Selection:
        """This selection without the clause of a view, of all if None."""
        return Selection(MappingProxyType({} if view is None else self.of_others(view)))

    def of_others(self, view: str) -> dict[str, FrozenBitMap]:
        """The clauses that filter a view: all but its own."""
        return {name: marks for name, marks in self.clauses.items() if name != view}
