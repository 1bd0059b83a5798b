"""The trace view: the way that somebody takes through the records of a run, and what it answers to a browser that shows it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from bigdebug.errors import MessageError
from bigdebug.trace.table import Table
from bigdebug.views import tracing
from bigdebug.views.exporting import export
from bigdebug.views.payload import Request
from bigdebug.views.replies import Known
from bigdebug.views.tracing import Crumb
from bigdebug.views.view import View

MOVES: dict[str, Callable[[Any], Any]] = {
    "back": lambda trace: trace.goBack(),
    "ahead": lambda trace: trace.goNext(),
    "sources": lambda trace: trace.goBackAll(),
    "outputs": lambda trace: trace.goNextAll(),
    "keep": lambda trace: trace,
}
"""Where one can go from chosen records, by the name that a browser says."""


class TraceView(View):
    """Records of a run to look at, and to step back and forward from. Displays as a widget, and as the table of what it was made of.

    ``trace`` is where the view stands now, ``frame()`` its records as pandas. Its questions are answered one after the other. A browser is told of some 50
    records at a time.
    """

    kind = "trace"

    def __init__(self, trace: Any, table: Callable[[], Table] | None = None) -> None:
        super().__init__()
        self.run = trace.run
        self._table = table or getattr(trace, "table", trace.run.table)  # a trace of a saved session has none of its own
        self._alone = threading.RLock()
        self._crumbs = [Crumb("start", trace)]
        self._at = 0
        self._change = 0
        self._looked_at: int | None = None

    # ---- in Python --------------------------------------------------------------------------------------------

    @property
    def trace(self) -> Any:
        """The trace at which the view stands."""
        return self._crumbs[self._at].trace

    def frame(self) -> Any:
        """The records of the trace as a pandas frame; of one at several operators, those at the one that is looked at."""
        trace, operators = self.trace, self.trace.operators
        at = self._looked_at if self._looked_at in operators else operators[0]
        return (trace if len(operators) == 1 else trace[self.run.graph[at]]).toPandas()

    def table(self) -> Table:
        return self._table()

    def __repr__(self) -> str:
        return f"<view of {self.trace!r}>"

    # ---- what a browser asks ----------------------------------------------------------------------------------

    @property
    def requests(self) -> Known:
        return {"trace": self._trace, "page": self._page, "count": self._count, "export": self._export, "move": self._move, "crumb": self._crumb}

    def answer(self, data: Any, buffers: Sequence[Any] = ()) -> dict[str, Any]:
        with self._alone:
            return super().answer(data, buffers)

    def _trace(self, request: Request) -> dict[str, Any]:
        return tracing.standing(self.run, self._crumbs, self._at, self._change)

    def _page(self, request: Request) -> dict[str, Any]:
        operator, start = tracing.operator_in(request, self.run), request.number("start")
        found = self._part(request).page(start, tracing.ROWS)
        self._looked_at = operator.id
        return tracing.page(request.number("at"), operator.id, start, found)

    def _count(self, request: Request) -> dict[str, Any]:
        at, operator = request.number("at"), request.number("operator")
        return {"at": at, "operator": operator, "count": self._part(request).count()}

    def _export(self, request: Request) -> dict[str, Any]:
        operator = tracing.operator_in(request, self.run)
        return export(self._part(request), request.text("form"), f"{self.run.name} {operator.name}")

    def _move(self, request: Request) -> dict[str, Any]:
        """Go on from chosen records, or from all if none is chosen. What came behind this place on the way is forgotten."""
        numbers, at = tracing.numbers_in(request.content), request.number("at")
        here = self._part(request).numbered(numbers) if numbers else self._known(at).trace
        move = request.text("move")
        source = request.number("operator") if numbers else None
        crumb = Crumb(move, self._moved(here, move, request), len(numbers) or None, source)
        self._crumbs[at + 1:] = [crumb]
        return self._stand(at + 1)

    def _moved(self, here: Any, move: str, request: Request) -> Any:
        graph = self.run.graph
        if move in MOVES:
            return MOVES[move](here)
        if move != "to":
            raise MessageError(f"A trace moves by {', '.join(MOVES)} and to", value=move, remedy="Reload the page.")
        goal = graph[request.number("to")]
        upstream = {u for o in here.operators for u in graph.upstream(o)}
        return here.back_to(goal.id) if goal.id in upstream else here.forward_to(goal.id)

    def _crumb(self, request: Request) -> dict[str, Any]:
        """Back to an earlier place of the way, or to a later one that is not forgotten."""
        self._known(request.number("at"))
        return self._stand(request.number("at"))

    def _stand(self, at: int) -> dict[str, Any]:
        self._at, self._change, self._looked_at = at, self._change + 1, None
        return tracing.standing(self.run, self._crumbs, self._at, self._change)

    def _part(self, request: Request) -> Any:
        """The records at one operator of a place of the way."""
        trace = self._known(request.number("at")).trace
        operator = tracing.operator_in(request, self.run)
        return trace[operator] if len(trace.operators) != 1 or operator.id not in trace.operators else trace

    def _known(self, at: int) -> Crumb:
        if at >= len(self._crumbs):
            raise MessageError("The way that this view took has changed meanwhile", value=at, remedy="Run the cell that shows the view again.")
        return self._crumbs[at]
