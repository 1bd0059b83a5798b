"""The culprit view: the records that a run crashed on, what somebody decides of them, and the run resumed with that."""

from __future__ import annotations

import threading
from typing import Any

from bigdebug.errors import MessageError, ReplayError
from bigdebug.session import DebugSession
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.resumed import Resumed
from bigdebug.trace.run import Run
from bigdebug.trace.table import Table
from bigdebug.views import crashing
from bigdebug.views.decisions import Decisions
from bigdebug.views.forecasting import refusal, said_before, tasks_of
from bigdebug.views.payload import Request, text
from bigdebug.views.replies import Known
from bigdebug.views.results import result_page
from bigdebug.views.resuming import Following, Work
from bigdebug.views.view import View


class CulpritView(View):
    """Crash culprits by cause; each can be looked at, left out or repaired, and the run resumed. Displays as a widget, and as the table of culprits.

    ``decided`` is what was decided so far, as ``run.resume`` takes it; ``resumed`` what the last resume gave. Culprits that are not known yet are found when somebody
    asks for all, or resumes: opening the view costs no job, and looking at where a culprit came from one, at most.
    """

    kind = "culprits"

    def __init__(self, culprits: Culprits, run: Run | None = None, first: CrashCulprit | None = None, following: Following | None = None) -> None:
        super().__init__()
        self.run = run
        self.culprits = culprits
        self.resumed: Resumed | None = None
        self._seconds = 0.0
        self._reached: int | None = None
        self._said = 0
        self._decisions = Decisions(culprits, run.resuming[0] if run is not None and run.resuming else None)
        self._work = Work(culprits, self._went_on, following)
        self._first = first
        self._change = 0
        self._counting = threading.Lock()

    # ---- in Python --------------------------------------------------------------------------------------------

    @property
    def decided(self) -> dict[str, Any]:
        """What was decided, for ``run.resume(**view.decided)``. Raises ReplayError if of some of the known culprits nothing was."""
        return self._decisions.arguments()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until what the view does has ended; False if it has not after ``timeout`` seconds."""
        return self._work.wait(timeout)

    def table(self) -> Table:
        return self.culprits.table()

    def __repr__(self) -> str:
        return f"<view of {len(self.culprits.known):,} culprits{'' if self.run is None else f' of {self.run.name}'}>"

    # ---- what a browser asks ----------------------------------------------------------------------------------

    @property
    def requests(self) -> Known:
        return {
            "culprits": self._culprits, "page": self._page, "culprit": self._culprit, "sources": self._sources, "common": self._common, "skip": self._skip,
            "repair": self._repair, "restore": self._restore, "fix": self._fix, "find": self._find, "resume": self._resume, "stop": self._stop, "result": self._result,
        }

    def _culprits(self, request: Request) -> dict[str, Any]:
        return self._state()

    def _page(self, request: Request) -> dict[str, Any]:
        return crashing.page(self._decisions, request.number("cause"), request.number("start"))

    def _culprit(self, request: Request) -> dict[str, Any]:
        return crashing.culprit(self._decisions, request.number("number"), self.run)

    def _sources(self, request: Request) -> dict[str, Any]:
        number = request.number("number")
        return {"number": number, **crashing.sources(self._decisions.causes.culprit(number))}

    def _common(self, request: Request) -> dict[str, Any]:
        return crashing.common(self.culprits)

    def _skip(self, request: Request) -> dict[str, Any]:
        """Leave out one, those of a cause, or all; or do not."""
        on = _on(request)
        match request.text("of"):
            case "culprit":
                self._decisions.skip(request.number("at"), on)
            case "cause":
                self._decisions.skip_cause(request.number("at"), on)
            case "all":
                self._decisions.skip_all(on)
            case other:
                raise MessageError("What is left out is a culprit, a cause, or all", value=other, remedy="Reload the page.")
        return self._changed()

    def _repair(self, request: Request) -> dict[str, Any]:
        self._decisions.repair(request.number("number"), crashing.edits_in(request))
        return self._changed()

    def _restore(self, request: Request) -> dict[str, Any]:
        self._decisions.restore(request.number("number"))
        return self._changed()

    def _fix(self, request: Request) -> dict[str, Any]:
        self._decisions.fix(request.number("number"), _on(request))
        return self._changed()

    def _find(self, request: Request) -> dict[str, Any]:
        self._work.begin("looking for culprits", self._work.find_all)
        return self._changed()

    def _resume(self, request: Request) -> dict[str, Any]:
        if self.run is None or not self.run.resuming:
            raise ReplayError("This run did not crash in this session, so there is nothing to resume", remedy="Run the job again.")
        self.run.resuming[0].check()
        if self.culprits.complete:
            self._decisions.arguments()  # refused at once, where that can be told
        self._work.begin("looking for culprits" if not self.culprits.complete else "resuming", self._going_on)
        return self._changed()

    def _going_on(self) -> None:
        """Find all culprits, and resume with what was decided."""
        assert self.run is not None
        self._work.find_all()
        said, given = self._decisions.said, self._decisions.arguments()
        self._work.now("resuming", tasks_of(self.run))
        before = self._work.seconds
        replaced, resumed = self._decisions.replaced(), self.run.resume(**given)
        self._seconds, self._said, self._reached = self._work.seconds - before, said, crashing.reached(resumed.run, replaced)
        self.resumed = resumed

    def _stop(self, request: Request) -> dict[str, Any]:
        self._work.stop()
        return self._changed()

    def _result(self, request: Request) -> dict[str, Any]:
        resumed = self.resumed
        if resumed is None:
            raise MessageError("This run has not been resumed yet", remedy="Resume it.")
        return {"run": resumed.run.id, **crashing.result(result_page(resumed.result, request.number("start")))}

    # ---- how it stands ----------------------------------------------------------------------------------------

    def _changed(self) -> dict[str, Any]:
        """How the view stands now; all that show it are told."""
        state = self._state(anew=True)
        self.tell("culprits", state)
        return state

    def _went_on(self) -> None:
        self._changed()

    def _state(self, anew: bool = False) -> dict[str, Any]:
        with self._counting:  # a state with a higher number was looked at later
            self._change += anew
            return self._looked_at()

    def _looked_at(self) -> dict[str, Any]:
        work, known, run = self._work, self.culprits, self.run
        doing, problem, resumed = work.doing, work.problem, self.resumed
        first = next((number for number, one in enumerate(known.known) if one is self._first), None)
        return {
            "run": None if run is None else run.id, "name": None if run is None else text(run.name), "change": self._change,
            "known": len(known.known), "complete": known.complete, "first": None if first is None else crashing.place(self._decisions, first), "notes": [text(why) for why in known.unknown],
            **crashing.causes(self._decisions), "said": self._decisions.said, "all": self._decisions.skips_all, "decided": crashing.counts(self._decisions.counts()),
            "refused": (refused := refusal(run)), "forecast": None if run is None or refused is not None else said_before(run, self._decisions),
            "doing": None if doing is None else {"what": doing, "seconds": round(work.seconds, 1), "tasks": work.tasks, "of": work.total},
            "problem": None if problem is None else crashing.problem(problem),
            "resumed": None if resumed is None else crashing.ended(resumed, self._seconds, self._reached) | {"latest": self._said == self._decisions.said and problem is None},
        }


def _on(request: Request) -> bool:
    on = request.content.get("on")
    if not isinstance(on, bool):
        raise MessageError("This request needs on, which is true or false", value=on, remedy="Reload the page.")
    return on


def culprits_in(what: Any, session: DebugSession | None) -> CulpritView | None:
    """The view of culprits, of one of them, or of a run that failed and has some; None of anything else.

    It needs no session: what a saved one tells of crashes can be looked at.
    """
    if isinstance(what, Run):
        failed = what.status == "failed" and (what.culprits.known or not what.culprits.complete)
        return _view(what.culprits, what, None, session) if failed else None
    runs = () if session is None else session.runs
    if isinstance(what, CrashCulprit):
        run = next((run for run in runs if any(one is what for one in run.culprits.known)), None)
        alone = Culprits()
        alone.known.append(what)
        return _view(alone if run is None else run.culprits, run, what, session)
    if isinstance(what, Culprits):
        return _view(what, next((run for run in runs if run.culprits is what), None), None, session)
    return None


def _view(culprits: Culprits, run: Run | None, first: CrashCulprit | None, session: DebugSession | None) -> CulpritView:
    return CulpritView(culprits, run, first, None if session is None else session.following)
