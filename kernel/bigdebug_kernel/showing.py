"""The kernel's end of views in JupyterLab's main area: a comm for each, on which the view is asked and says what it has to say.

The window opens the comm with a request for the view of a run, of a watch, or of all datasets; what comes then, the view itself answers. Questions are answered in threads of
their own, so also while a cell runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import comm

from bigdebug.errors import MessageError, NotCapturedError
from bigdebug.trace.run import Run
from bigdebug.trace.watch import Watch
from bigdebug.views.aside import aside
from bigdebug.views.buffers import taken_out
from bigdebug.views.datasetsview import DatasetsView
from bigdebug.views.payload import VIEW, Request
from bigdebug.views.replies import replied
from bigdebug.views.traceview import TraceView
from bigdebug.views.view import View
from bigdebug.views.watchview import WatchView

if TYPE_CHECKING:
    from bigdebug_kernel.extension import Extension


class Kind(NamedTuple):
    """A kind of view: what it is of, by what a request says of it, and how it is made."""

    of: Callable[[Any, Request], Any]
    view: Callable[[Any, Any], View]


def _run(session: Any, request: Request) -> Run:
    """The run of an id that began then: a Spark session that is started anew counts ids anew."""
    wanted, began = request.text("run"), request.content.get("began")
    for run in () if session is None else reversed(session.runs):
        if run.id == wanted and run.began == began:
            found: Run = run
            return found
    raise NotCapturedError(
        "This run is not there any more: it has been forgotten, or its kernel or Spark session has been started again",
        remedy="Run its cell again under capture, and open the new run from the panel of bigdebug.",
    )


def _watch(session: Any, request: Request) -> Watch:
    """A watch that is on, by its id."""
    wanted = request.text("run")
    for watch in () if session is None else session.watches:
        if watch.id == wanted:
            found: Watch = watch
            return found
    raise NotCapturedError("This watch is not on any more", remedy="In Python, what it was told of is still there; dbg.watch(...) makes a new one.")


def _records(session: Any, run: Run) -> View:
    return TraceView(session.lineage(run), run.table)


def _culprits(session: Any, run: Run) -> View:
    from bigdebug.views.viewing import view  # which imports PySpark

    return view(run.culprits)


def _datasets(session: Any, request: Request) -> Any:
    """What is known of datasets, in this session and in those before."""
    if session is None:
        raise NotCapturedError(
            "No Spark session has been started in this kernel", remedy="Start one and look again; '%lineage datasets graph' shows in a cell what earlier ones did.",
        )
    return session.datasets


KINDS = {
    "trace": Kind(_run, _records), "culprits": Kind(_run, _culprits), "watch": Kind(_watch, lambda session, watch: WatchView(watch)),
    "datasets": Kind(_datasets, lambda session, datasets: DatasetsView(datasets)),
}


class Showing:
    """The views that windows show of one kernel. Those that show the same of a run show one view: what is done in one is seen in all, and after
    a page was loaded again it stands where it stood. Thread-safe."""

    def __init__(self, shell: Any, extension: Extension) -> None:
        self._shell = shell
        self._extension = extension
        self._alone = threading.RLock()
        self._ends: dict[str, End] = {}
        self._finding = threading.Lock()
        self._views: dict[tuple[int, str], tuple[Any, View]] = {}
        """By the number of what they are of, which they keep, and their kind."""

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
        for end in ends:
            end.closed()
            end.comm.close()
        with self._finding:
            self._views.clear()

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

    def _found(self, request: Request) -> View:
        """The view that a request means. Raises MessageError for a kind that there is not, NotCapturedError for what there is no more."""
        name = request.text("kind")
        if name not in KINDS:
            raise MessageError(
                f"This kernel's bigdebug has no view of the kind {name} here, only {', '.join(KINDS)}",
                remedy="Install the same bigdebug where JupyterLab runs and where the kernel does, and restart the kernel.",
            )
        kind, session = KINDS[name], self._extension.latest
        with self._finding:  # which may take a look at a plan; comms come and go meanwhile
            there = {id(each) for each in (() if session is None else (*session.runs, *session.watches, session.datasets))}
            self._views = {key: held for key, held in self._views.items() if key[0] in there}
            of = kind.of(session, request)
            if (id(of), name) not in self._views:
                self._views[id(of), name] = of, kind.view(session, of)
            return self._views[id(of), name][1]


class End:
    """The end of one comm: it hands on what is asked, to the view as soon as there is one."""

    def __init__(self, opened: Any, found: Callable[[Request], View]) -> None:
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
        shown = self._found(request)
        with self._alone:
            if not self._over:
                self._answer = shown.answer
                self._leave = shown.hear(self._say)
        return {"kind": shown.kind, "run": request.text("run")}

    def _say(self, said: dict[str, Any]) -> None:
        if not self._over:
            data, buffers = taken_out(said)
            self.comm.send(data, buffers=buffers)
