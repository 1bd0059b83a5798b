"""Brushed: one of several linked charts, with what its marks show now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bigdebug.trace.crossfilter.computed import arrow_of
from bigdebug.trace.crossfilter.marks import Marks
from bigdebug.trace.crossfilter.views import Answer
from bigdebug.views.channels import channel
from bigdebug.views.charting import ROWS, Chart

Flags = npt.NDArray[np.bool_]


class Brushed:
    """A chart of marks. ``lit`` says which marks share rows with what is brushed in others, None where nothing is: then all do."""

    def __init__(self, marks: Marks, chart: Chart, unfiltered: Callable[[], Answer]) -> None:
        """``unfiltered`` is asked, once, for what all rows make, where a row may be part of several links."""
        self.marks, self.chart = marks, chart
        self._answer: Answer | None = None
        self._now: dict[str, pa.Array] = {}
        self._unfiltered = unfiltered

    @cached_property
    def _sizes(self) -> npt.NDArray[np.int64]:
        """How many links each mark has. A row, where it is part of one mark at most, is a link."""
        association = self.marks.view.association
        return association.sizes[: len(self.marks)] if association.disjoint else self._unfiltered().counts

    @property
    def name(self) -> str:
        return self.marks.name

    @property
    def follows(self) -> bool:
        """Whether anything that is shown is recomputed under a brush."""
        return bool(self.marks.recomputed) or ROWS in self._drawn.values()

    @property
    def lit(self) -> Flags | None:
        return None if self._answer is None else self._answer.counts > 0

    def show(self, answer: Answer | None) -> None:
        """From now on show what a brush in others leaves; None: all."""
        self._answer, self._now = (answer if answer is not None and answer.clauses else None), {}

    def rows(self, mark: int) -> tuple[int, int]:
        """How many rows, or combinations of rows, a mark has left, and of how many. Other than what it shows, they are the same in all modes."""
        everything = int(self._sizes[mark])
        return everything if self._answer is None else int(self._answer.counts[mark]), everything

    def column(self, name: str, recomputed: bool) -> pa.Array:
        """What the marks show in a column: of the rows that are left if ``recomputed`` and it can be, else of all."""
        counted = name == ROWS and ROWS not in self.marks.columns
        if not recomputed or self._answer is None or not (counted or name in self.marks.recomputed):
            return pa.array(self._sizes) if counted else self.marks.columns[name]
        if name not in self._now:
            shown = np.ma.MaskedArray(self._answer.counts) if counted else self._answer.values[name]
            self._now[name] = arrow_of(shown, pa.int64() if counted else self.marks.columns[name].type)
        return self._now[name]

    def columns(self, recomputed: bool) -> Mapping[str, pa.Array]:
        return {name: self.column(name, recomputed) for name in self.marks.columns}

    # ---- as it is drawn ----------------------------------------------------------------------------------------------

    @property
    def _drawn(self) -> dict[str, str]:
        """The columns that are drawn, by their channels."""
        given = {"x": self.chart.x, "y": self.chart.y, "color": self.chart.color}
        return {role: name for role, name in given.items() if name is not None}

    def channels(self) -> dict[str, Any]:
        """What is drawn of all rows."""
        return {role: self._channel(role, recomputed=False) for role in self._drawn}

    def changed(self) -> dict[str, Any]:
        """What is drawn of the rows that are left, of the channels that follow a brush."""
        return {role: self._channel(role, recomputed=True) for role, name in self._drawn.items() if self._follows(name) and self._answer is not None}

    def _channel(self, role: str, recomputed: bool) -> dict[str, Any]:
        name = self._drawn[role]
        named = role == "x" and self.chart.kind == "bar"
        return channel(name, self.column(name, recomputed), named, kept=named and self._ordered, recomputed=self._follows(name))

    def _follows(self, name: str) -> bool:
        return name in self.marks.recomputed or (name == ROWS and ROWS not in self.marks.columns)

    @property
    def _ordered(self) -> bool:
        """Whether the result has its bars in the order of their lengths: then they stay so."""
        lengths = self.column(self.chart.y or ROWS, recomputed=False)
        numbers = np.asarray(lengths.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
        steps = np.diff(numbers)
        return len(numbers) > 2 and bool(np.all(steps <= 0) or np.all(steps >= 0))
