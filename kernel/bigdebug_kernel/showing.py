"""The kernel's end of views in JupyterLab's main area: a comm for each, on which the view is asked and says what it has to say.

The window opens the comm with a request for the view of a run; what comes then, the view itself answers. Questions are answered in threads of
their own, so also while a cell runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import comm

from bigdebug.errors import MessageError, NotCapturedError
from bigdebug.trace.run import Run
from bigdebug.views.aside import aside
from bigdebug.views.buffers import taken_out
from bigdebug.views.payload import VIEW, Request
from bigdebug.views.replies import replied
from bigdebug.views.traceview import TraceView
from bigdebug.views.view import View

if TYPE_CHECKING:
    from bigdebug_kernel.extension import Extension



def _records(session: Any, run: Run) -> View:
    return TraceView(session.lineage(run), run.table)


def _culprits(session: Any, run: Run) -> View:
    from bigdebug.views.viewing import view  # which imports PySpark

    return view(run.culprits)


KINDS: dict[str, Callable[[Any, Run], View]] = {"trace": _records, "culprits": _culprits}
"""What there is to see of a run of a session."""


class Showing:
    """The views that windows show of one kernel. Those that show the same of a run show one view: what is done in one is seen in all, and after
    a page was loaded again it stands where it stood. Thread-safe."""

    def __init__(self, shell: Any, extension: Extension) -> None:
        self._shell = shell
        self._extension = extension
        self._alone = threading.RLock()
        self._ends: dict[str, End] = {}
        self._views: dict[tuple[str, str], tuple[Run, View]] = {}

    def load(self) -> None:
        """Be there for windows, where there is a front end."""
        if getattr(self._shell, "kernel", None) is not None:
            comm.get_comm_manager().register_target(VIEW, self._opened)

    def unload(self) -> None:
        """Close what is open: windows say then that bigdebug is not loaded."""
        if getattr(self._shell, "kernel", None) is None:
            return
        comm.get_comm_manager().unregister_target(VIEW, self._opened)
        with self._alone:
            ends = [*self._ends.values()]
            self._ends.clear()
            self._views.clear()
        for end in ends:
            end.closed()
            end.comm.close()

    def _opened(self, opened: Any, message: dict[str, Any]) -> None:
        end = End(opened, self._found)
        with self._alone:
            self._ends[opened.comm_id] = end
        opened.on_close(lambda _: self._closed(opened))
        opened.on_msg(end.asked)
        end.asked(message)

    def _closed(self, closed: Any) -> None:
        with self._alone:
            end = self._ends.pop(closed.comm_id, None)
        if end is not None:
            end.closed()

    # ---- views ------------------------------------------------------------------------------------------------

    def _found(self, request: Request) -> tuple[Run, View]:
        """The view that a request means. Raises MessageError for a kind that there is not, NotCapturedError for a run that there is no more."""
        kind, began = request.text("kind"), request.content.get("began")
        if kind not in KINDS:
            raise MessageError(
                f"This kernel's bigdebug has no view of the kind {kind} of a run, only {', '.join(KINDS)}",
                remedy="Install the same bigdebug where JupyterLab runs and where the kernel does, and restart the kernel.",
            )
        session = self._extension.latest
        runs = () if session is None else session.runs
        with self._alone:
            self._views = {key: held for key, held in self._views.items() if any(held[0] is run for run in runs)}
            run = _run(runs, request.text("run"), began)
            if (run.id, kind) not in self._views:
                self._views[run.id, kind] = run, KINDS[kind](session, run)
            return self._views[run.id, kind]


def _run(runs: Sequence[Run], wanted: str, began: Any) -> Run:
    """The run of an id that began then: a Spark session that is started anew counts ids anew."""
    for run in reversed(runs):
        if run.id == wanted and run.began == began:
            return run
    raise NotCapturedError(
        "This run is not there any more: it has been forgotten, or its kernel or Spark session has been started again",
        remedy="Run its cell again under capture, and open the new run from the panel of bigdebug.",
    )


class End:
    """The end of one comm: it hands on what is asked, to the view as soon as there is one."""

    def __init__(self, opened: Any, found: Callable[[Request], tuple[Run, View]]) -> None:
        self.comm = opened
        self._found = found
        self._answer: Callable[..., dict[str, Any]] = partial(replied, known={"view": self._begin})
        self._alone = threading.Lock()
        self._leave: Callable[[], None] | None = None
        self._over = False

    def asked(self, message: dict[str, Any]) -> None:
        aside(self._reply, message["content"]["data"], message.get("buffers") or ())

    def closed(self) -> None:
        """Nobody listens any more."""
        with self._alone:
            self._over = True
            if self._leave is not None:
                self._leave()

    def _reply(self, data: Any, buffers: Any) -> None:
        self._say(self._answer(data, buffers=buffers))

    def _begin(self, request: Request) -> dict[str, Any]:
        run, shown = self._found(request)
        with self._alone:
            if not self._over:
                self._answer = shown.answer
                self._leave = shown.hear(self._say)
        return {"kind": shown.kind, "run": run.id}

    def _say(self, said: dict[str, Any]) -> None:
        if not self._over:
            data, buffers = taken_out(said)
            self.comm.send(data, buffers=buffers)
