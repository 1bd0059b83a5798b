"""Marks: the outputs of a result as something that is brushed and lit, beside others over one input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

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

    @property
    def recomputed(self) -> frozenset[str]:
        """The names of the columns that follow a brush in others."""
        return frozenset(self.view.aggregates)

    @property
    def measured(self) -> frozenset[str]:
        """The names of the columns that say something of the rows behind a mark; the others say which mark it is."""
        return self.recomputed | self.kept

    def __len__(self) -> int:
        return self.view.association.marks
