"""The view of a watch: what tasks tell of records while they run."""

from __future__ import annotations

from typing import Any

from bigdebug.trace.table import Table
from bigdebug.trace.watch import Watch
from bigdebug.views.payload import Request
from bigdebug.views.replies import Known
from bigdebug.views.view import View
from bigdebug.views.watching import watch_line

MOST = 50
"""Records, calls and errors of each kind that a browser is told of."""


class WatchView(View):
    """A watch to look at while jobs run: a browser asks again as long as it is on. Displays as a widget, and as the first of its tables."""

    kind = "watch"

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self.watch = watch

    @property
    def requests(self) -> Known:
        return {"watch": self._watch, "stop": self._stop}

    def table(self) -> Table:
        tables = self.watch.tables()
        return tables[0] if tables else Table(("record",), [], (), repr(self.watch))

    def __repr__(self) -> str:
        return f"<view of {self.watch!r}>"

    def _watch(self, request: Request) -> dict[str, Any]:
        return watch_line(self.watch, MOST)

    def _stop(self, request: Request) -> dict[str, Any]:
        self.watch.stop()
        return watch_line(self.watch, MOST)
