"""The brush view: charts over one input that filter each other, and what is brushed in them."""

from __future__ import annotations

import logging
import threading
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from bigdebug.errors import ViewError
from bigdebug.trace.crossfilter.marks import Marks
from bigdebug.trace.crossfilter.selection import Selection
from bigdebug.trace.crossfilter.views import Views
from bigdebug.trace.table import Table
from bigdebug.views import brushing
from bigdebug.views.aside import aside
from bigdebug.views.brushed import Brushed
from bigdebug.views.charting import Chart, chosen
from bigdebug.views.payload import Request
from bigdebug.views.replies import Known
from bigdebug.views.view import View

log = logging.getLogger("bigdebug")

_MARKS = "Brush them by their places in the view's frame, or by a flag for each."

Choice = Iterable[int] | Callable[[Any], Any]
"""Marks by their numbers, by a flag for each, or by what gives these flags of the view's frame."""


class BrushView(View):
    """Linked charts. Brush marks of one, and the others show what the rows behind them make (``mode`` crossfilter), or which of their marks share
    rows with them (highlight). Marks of one view are brushed together by OR, views by AND, and no view filters itself.

    ``view.brush("by carrier", marks)`` and ``view.clear()`` do what the mouse does; ``view.selection`` is what is brushed, ``view.frame("by carrier")``
    what is shown, ``view.trace()`` the records behind the brush. Thread-safe.
    """

    kind = "brush"

    def __init__(self, marks: Sequence[Marks], charts: Sequence[Chart] | None = None) -> None:
        """Draws marks as ``charts`` say, which are as many. Raises ViewError for marks that do not belong together, and for charts that cannot be drawn."""
        super().__init__()
        given = [Chart(each) for each in marks] if charts is None else charts
        self._views = Views([each.view for each in marks])
        self._charts = [
            Brushed(each, chosen(chart, each), partial(self._views.answer, each.name, Selection())) for each, chart in zip(marks, given, strict=True)
        ]
        self._by_name = {each.name: each for each in self._charts}
        self._alone = threading.RLock()
        self._selection, self._change, self._looked_at = Selection(), 0, False
        self._mode = "crossfilter" if any(each.follows for each in self._charts) else "highlight"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._by_name)

    @property
    def selection(self) -> Selection:
        """What is brushed: by view, the numbers of its marks."""
        return self._selection

    @selection.setter
    def selection(self, given: Selection | Mapping[str, Choice]) -> None:
        if not isinstance(given, Selection | Mapping):
            raise ViewError("A selection that is none", value=given, remedy='Give a dict of marks by view: {"by carrier": [0, 2]}, or clear().')
        with self._alone:
            self._select(given if isinstance(given, Selection) else self._brushed(Selection(), given))

    @property
    def mode(self) -> str:
        """``crossfilter``: what can be recomputed shows what the brushed rows make. ``highlight``: all stays, and marks that share no row with them fade."""
        return self._mode

    @mode.setter
    def mode(self, given: str) -> None:
        if given not in brushing.MODES:
            raise ViewError("A mode that linked views do not have", value=given, remedy=f"There are {' and '.join(brushing.MODES)}.")
        with self._alone:
            self._mode = given
            self._tell(changed=(), showing=self._charts)

    def brush(self, view: str, marks: Choice) -> None:
        """Brush these marks of a view, in place of those that were: their numbers, a flag for each, or a function of its frame that gives flags.

        Without any mark no row is left. Raises ViewError for a view, or a mark, that is not there.
        """
        with self._alone:
            self._select(self._brushed(self._selection, {view: marks}))

    def clear(self, view: str | None = None) -> None:
        """Take the brush away from a view, from all if None."""
        with self._alone:
            if view is not None:
                self._chart(view)
            self._select(self._selection.cleared(view))

    def frame(self, view: str) -> Any:
        """The marks of a view as a pandas frame, with what they show now."""
        with self._alone:
            return pa.table(dict(self._chart(view).columns(self._recomputed))).to_pandas()

    def lit(self, view: str) -> Any:
        """A flag for each mark of a view: whether it shares rows with what is brushed in the others."""
        with self._alone:
            chart = self._chart(view)
            lit = chart.lit
            return np.ones(len(chart.marks), dtype=bool) if lit is None else lit

    def trace(self, view: str | None = None) -> Any:
        """The records of the input that are behind what is brushed, as a trace over the run of a view, the first if None: ``toDF()`` has the rows of a DataFrame,
        an RDD's is an RDD of the records, and ``goNextAll()`` leads to what they are in.

        Costs no job; its questions may. Raises ViewError if nothing is brushed.
        """
        with self._alone:
            chart = self._charts[0] if view is None else self._chart(view)
            return chart.marks.trace(self._views.rows(self._selection))

    def table(self) -> Table:
        with self._alone:
            rows = [[each.name, str(each.chart.kind), _axes(each.chart), str(len(each.marks)), self._count(each.name)] for each in self._charts]
        notes = [f"{each.name}: {note}" for each in self._charts for note in each.marks.notes]
        return Table(("view", "chart", "shows", "marks", "brushed"), rows, notes, caption="Linked views")

    def __repr__(self) -> str:
        return f"<linked views {', '.join(self.names)}>"

    # ---- what a browser asks -----------------------------------------------------------------------------------------

    @property
    def requests(self) -> Known:
        alone = {"open": self._open, "brush": self._brush, "mode": self._set_mode, "mark": self._mark, "page": self._page}
        return {**{name: partial(self._answered, each) for name, each in alone.items()}, "rows": self._rows}

    def _answered(self, answer: Callable[[Request], dict[str, Any]], request: Request) -> dict[str, Any]:
        with self._alone:
            return answer(request)

    def _open(self, request: Request) -> dict[str, Any]:
        if not self._looked_at:
            self._looked_at = True
            aside(self._prepare, name="bigdebug brush")
        return {
            "change": self._change, "mode": self._mode, "charts": [brushing.charted(each) for each in self._charts],
            "clauses": brushing.clauses(self._charts, self._selection, self._selection.clauses),
            "shown": [brushing.showing(number, each, self._recomputed) for number, each in enumerate(self._charts)],
        }

    def _brush(self, request: Request) -> dict[str, Any]:
        selection = self._selection
        for chart, marks in brushing.brushes(request, self._charts):
            selection = selection.cleared(chart.name) if marks is None else _with(selection, chart.name, marks)
        self._select(selection)
        return {"change": self._change}

    def _set_mode(self, request: Request) -> dict[str, Any]:
        self.mode = brushing.mode_in(request)
        return {"change": self._change}

    def _mark(self, request: Request) -> dict[str, Any]:
        number, chart = brushing.chart_in(request, self._charts)
        return brushing.fields(number, chart, brushing.mark_in(request, chart), self._recomputed)

    def _page(self, request: Request) -> dict[str, Any]:
        number, chart = brushing.chart_in(request, self._charts)
        return brushing.page(number, chart, request, self._recomputed)

    def _rows(self, request: Request) -> dict[str, Any]:
        """A page of the records behind what is brushed. A job: nobody who brushes waits for it."""
        with self._alone:
            change, found = self._change, self._views.rows(self._selection)
        return {"change": change, "total": len(found), **brushing.rows(self._charts[0].marks.trace(found), request.number("start"))}

    # ---- the selection -----------------------------------------------------------------------------------------------

    @property
    def _recomputed(self) -> bool:
        return self._mode == "crossfilter"

    def _brushed(self, selection: Selection, choices: Mapping[str, Choice]) -> Selection:
        for name, choice in choices.items():
            selection = _with(selection, name, self._numbers(self._chart(name), choice))
        return selection

    def _numbers(self, chart: Brushed, choice: Choice) -> Any:
        given = choice(self.frame(chart.name)) if callable(choice) else choice
        if not isinstance(given, Iterable):
            raise ViewError(f"What is brushed in '{chart.name}' is nothing that has marks", value=type(given).__name__, remedy=_MARKS)
        found = np.asarray(given if hasattr(given, "__array__") else [*given])
        if found.dtype == bool and found.ndim == 1:
            if len(found) != len(chart.marks):
                raise ViewError(f"{len(found)} flags for the {len(chart.marks)} marks of '{chart.name}'", remedy="Give one for each mark.")
            return np.flatnonzero(found)
        if found.ndim != 1 or (len(found) and found.dtype.kind not in "iu"):
            raise ViewError(f"Marks of '{chart.name}' that are no numbers from 0", value=given, remedy=_MARKS)
        return found.astype(np.int64)

    def _select(self, selection: Selection) -> None:
        """Show what this selection leaves. Views that it filters as before are not asked."""
        before = self._selection
        filtered = [each for each in self._charts if selection.of_others(each.name) != before.of_others(each.name)]
        answers = self._views.answers(selection, [each.name for each in filtered])
        for each in filtered:
            each.show(answers[each.name])
        self._selection = selection
        names = {*selection.clauses, *before.clauses}
        self._tell([name for name in names if selection.clauses.get(name) != before.clauses.get(name)], filtered)

    def _tell(self, changed: Sequence[str], showing: Sequence[Brushed]) -> None:
        self._change += 1
        self.tell("shown", {
            "change": self._change, "mode": self._mode, "clauses": brushing.clauses(self._charts, self._selection, changed),
            "shown": [brushing.showing(number, each, self._recomputed) for number, each in enumerate(self._charts) if each in showing],
        })

    def _chart(self, name: str) -> Brushed:
        if name not in self._by_name:
            raise ViewError("A view that is not linked with the others", value=name, remedy=f"There are {', '.join(self._by_name) or 'none'}.")
        return self._by_name[name]

    def _count(self, name: str) -> str:
        clause = self._selection.clauses.get(name)
        return "" if clause is None else str(len(clause))

    def _prepare(self) -> None:
        """Make indexes and totals beside the first questions, once somebody looks."""
        try:
            self._views.prepare()
        except Exception as trouble:  # answers do without, and take longer
            log.warning("bigdebug could not prepare linked views: %s", trouble, exc_info=True)


def _with(selection: Selection, name: str, marks: Any) -> Selection:
    """Numbers of an array go into a bitmap as they are, a hundred thousand in a third of a millisecond."""
    if len(marks) and not 0 <= int(marks.min()) <= int(marks.max()) < 1 << 32:
        raise ViewError(f"A mark that '{name}' does not have", value=int(marks.min()), remedy="Marks are numbered from 0.")
    return selection.brushed(name, array("I", np.ascontiguousarray(marks, dtype=np.uint32).tobytes()))


def _axes(chart: Chart) -> str:
    """What is drawn, in a few words."""
    shown = [name for name in (chart.y, chart.x) if name is not None]
    drawn = " by ".join(shown) or "all columns"
    return drawn if chart.color is None else f"{drawn}, colour: {chart.color}"
