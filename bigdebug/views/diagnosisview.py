"""The localization view: a search while it runs, with a way to stop it, and then its diagnosis."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from bigdebug.errors import LocalizeError, MessageError
from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.localize.search import RUNNING, Search
from bigdebug.model import SourceRecord
from bigdebug.trace.table import Table
from bigdebug.views import diagnosing
from bigdebug.views.aside import aside
from bigdebug.views.payload import Request
from bigdebug.views.replies import Known
from bigdebug.views.view import View

EVERY = 0.1
"""Seconds between two looks at a search that runs."""

SECONDS = 0.5
"""If nothing else has changed, the seconds that it took are told so often."""


class DiagnosisView(View):
    """A diagnosis to look at, or a search: how far it is while it runs, and its diagnosis when it has ended. Displays as a widget, and as a table of the same.

    ``search`` is what is shown, ``frame()`` the records of its fault sets as pandas. A search that runs is looked at ten times a second, in a thread of the view's, and is not waited for.
    """

    kind = "diagnosis"

    def __init__(self, what: Diagnosis | Search) -> None:
        super().__init__()
        self.search = Search.over(what) if isinstance(what, Diagnosis) else what
        self.search.shown = True
        self._alone = threading.Lock()
        self._said = 0
        if not self.search.wait(0):
            self.search.hear(self._begun)

    # ---- in Python --------------------------------------------------------------------------------------------

    def frame(self) -> Any:
        """The records of the fault sets as a pandas frame. Raises LocalizeError before there is a diagnosis."""
        import pandas

        known = self._diagnosis()
        rows = [(number, fault.verdict, str(record.origin), record.record, known.moves(record)) for number, fault, record in _every(known)]
        return pandas.DataFrame(rows, columns=["fault", "verdict", "origin", "record", "moves"])

    def table(self) -> Table:
        search, progress = self.search, self.search.progress
        if search.diagnosis is not None:
            return search.diagnosis.table()
        rows = [] if progress is None else [(progress.output, f"{progress.candidates:,}", f"{progress.left:,}", f"{progress.tests:,}", f"{progress.seconds:.1f}")]
        notes = [] if search.error is None else [" ".join(diagnosing.error(search.error).values()).strip()]
        doing = f": {progress.step.value}" if progress is not None and search.state == RUNNING else ""
        return Table(("output", "candidates", "left", "tests", "seconds"), rows, notes, f"localization {search.state}{doing}")

    def __repr__(self) -> str:
        return f"<view of {self.search!r}>"

    # ---- what a browser asks ----------------------------------------------------------------------------------

    @property
    def requests(self) -> Known:
        return {"diagnosis": self._standing, "stop": self._stop, "records": self._records}

    def _standing(self, request: Request) -> dict[str, Any]:
        return self.standing()

    def _stop(self, request: Request) -> dict[str, Any]:
        """Let the search end at its next test."""
        self.search.stop()
        return self.standing()

    def _records(self, request: Request) -> dict[str, Any]:
        known, number = self._diagnosis(), request.number("fault")
        if number >= len(known.fault_sets):
            raise MessageError(f"This diagnosis has {len(known.fault_sets)} fault sets, numbered from 0", value=number, remedy="Reload the page.")
        return {"fault": number, **diagnosing.records(known, known.fault_sets[number], request.number("start"))}

    def _diagnosis(self) -> Diagnosis:
        if self.search.diagnosis is None:
            raise LocalizeError(f"This localization is {self.search.state}, and has no diagnosis", remedy="Stop ends it with what is known by then.")
        return self.search.diagnosis

    # ---- what it is told --------------------------------------------------------------------------------------

    def standing(self) -> dict[str, Any]:
        """How the search stands now. What is said later has a higher number."""
        with self._alone:
            self._said += 1
            return diagnosing.standing(self.search, self._said)

    def _begun(self) -> None:
        aside(self._follow, name="bigdebug search")

    def _follow(self) -> None:
        """Tell of a search until it is over."""
        known: Any = None
        while not self.search.wait(EVERY):
            progress = self.search.progress
            now = self.search.stopping, progress and replace(progress, seconds=progress.seconds // SECONDS)
            if now != known:
                known = now
                self.tell("search", self.standing())
        self.tell("search", self.standing())


def _every(known: Diagnosis) -> list[tuple[int, Any, SourceRecord]]:
    return [(number, fault, record) for number, fault in enumerate(known.fault_sets, 1) for record in fault.records]
