"""Marks: the outputs of a result as something that is brushed and lit, beside others over one input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from bigdebug.errors import ViewError
from bigdebug.model import Rids
from bigdebug.trace.crossfilter.associations import Rows
from bigdebug.trace.crossfilter.views import View


@dataclass(frozen=True)
class Marks:
    """The outputs of one result as marks: their fields by name in the order of the marks, and the view that links them.

    ``columns`` are what the result shows of all rows. ``view`` has the association, and aggregates by the names of the columns that they
    recompute under a brush; other columns (keys, and what cannot be recomputed) stay as they are. ``notes`` say in sentences what cannot be
    recomputed, and why: marks are only highlighted then.
    """

    name: str
    """Unique among those that are brushed together; the view's name."""
    columns: Mapping[str, pa.Array]
    view: View
    notes: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()
    """The names of columns that are made of several rows, and keep their values under a brush all the same."""
    rids: Callable[[Rows], Rids] | None = field(default=None, repr=False, compare=False)
    """Gives the rids of rows of the input, in their order."""
    behind: Callable[[Rids], Any] | None = field(default=None, repr=False, compare=False)
    """Gives the trace over records of the input, by their rids."""

    @property
    def recomputed(self) -> frozenset[str]:
        """The names of the columns that follow a brush in others."""
        return frozenset(self.view.aggregates)

    @property
    def measured(self) -> frozenset[str]:
        """The names of the columns that say something of the rows behind a mark; the others say which mark it is."""
        return self.recomputed | self.kept

    def trace(self, rows: Rows) -> Any:
        """The trace over rows of the input in the run that made these marks. Raises ViewError for marks that were made of no run."""
        if self.rids is None or self.behind is None:
            raise ViewError(f"The marks of '{self.name}' were made of no run, so no trace leads on from them", remedy="Brush captured DataFrames or RDDs: bigdebug.brush(df, ...).")
        return self.behind(self.rids(rows))

    def __len__(self) -> int:
        return self.view.association.marks
