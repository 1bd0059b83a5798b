"""The kernel's end of JupyterLab's panel: two comms, which the panel opens. It tells of changes on one and answers on the other.

The panel's requests come on a subshell, in a thread of its own, so they are answered while a cell runs. A comm that the kernel opened
when it starts would be lost, as nobody listens yet: so the panel opens both.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import comm

from bigdebug.errors import MessageError
from bigdebug.views.answers import Answers
from bigdebug.views.journal import Journal, session_line
from bigdebug.views.payload import CONTROL, EVENTS, check_version, event, refused
from bigdebug.views.watching import watch_line

if TYPE_CHECKING:
    from bigdebug_kernel.extension import Extension

log = logging.getLogger("bigdebug")

EVERY = 0.5
"""Seconds between two looks while a cell runs. Nobody looks while no panel is open."""


class Panel:
    """All panels of one kernel: several windows, or several notebooks, may each have one."""

    def __init__(self, shell: Any, extension: Extension) -> None:
        self._shell = shell
        self._extension = extension
        self._journal = Journal()
        self._answers = Answers(self._journal, self._runs)
        self._alone = threading.RLock()
        self._noting = threading.Lock()
        """So that what was seen first is noted first: a run would be forgotten by an older look, and found again in another cell, or in none."""
        self._told: dict[Any, int] = {}
        """The comms that hear of changes, and the last one that each was told of."""
        self._asking: list[Any] = []
        self._ends: dict[Any, str] = {}
        """Of both kinds, by the panel that opened them. A page that goes may come to close only one: the other goes with it."""
        self._teller: Teller | None = None
        self._cell: str | None = None
        """The cell of the notebook that runs, by the front end's id for it."""
        self._execution: int | None = None
        """The number that it has meanwhile."""
        self._ahead = 1
        """By how much IPython has counted on when it says that a cell starts: releases differ, and each cell's end tells."""

    def load(self) -> None:
        """Be there for panels, where there is a front end."""
        if getattr(self._shell, "kernel", None) is not None:
            comm.get_comm_manager().register_target(EVENTS, self._opened)
            comm.get_comm_manager().register_target(CONTROL, self._asked)
            self._shell.events.register("pre_run_cell", self._started)
            self._shell.events.register("post_run_cell", self._ended)

    def unload(self) -> None:
        """Close what is open: panels say then that bigdebug is not loaded."""
        if getattr(self._shell, "kernel", None) is None:
            return
        self._shell.events.unregister("pre_run_cell", self._started)
        self._shell.events.unregister("post_run_cell", self._ended)
        for target, opened in ((EVENTS, self._opened), (CONTROL, self._asked)):
            comm.get_comm_manager().unregister_target(target, opened)
        with self._alone:
            comms = [*self._ends]
            self._ends.clear()
            self._told.clear()
            self._asking.clear()
        for each in comms:
            each.close()
        self._look()

    def note(self) -> None:
        """Write down what there is after a cell, and tell it soon."""
        self._noted()
        with self._alone:
            if self._teller is not None:
                self._teller.wake.set()

    def _started(self, info: Any) -> None:
        if info.store_history:  # not one that a cell runs in its turn
            self._cell, self._execution = info.cell_id, self._shell.execution_count - self._ahead

    def _ended(self, result: Any) -> None:
        if result.info.store_history:  # the extension has noted what it left
            if self._execution is not None and result.execution_count is not None:
                self._ahead += self._execution - result.execution_count
            self._cell = self._execution = None

    # ---- what the panel does ----------------------------------------------------------------------------------

    def _opened(self, opened: Any, message: dict[str, Any]) -> None:
        data = message["content"]["data"]
        try:
            check_version(data)
        except MessageError as why:
            opened.send(refused(data, why))
            return
        self._keep(opened, data)
        with self._alone:
            self._told[opened] = -1
        self._look()

    def _asked(self, opened: Any, message: dict[str, Any]) -> None:
        self._keep(opened, message["content"]["data"])
        with self._alone:
            self._asking.append(opened)
        opened.on_msg(lambda asked: opened.send(self._answers.answer(asked["content"]["data"])))

    def _keep(self, opened: Any, data: Any) -> None:
        panel = data.get("panel") if isinstance(data, dict) else None
        with self._alone:
            self._ends[opened] = panel if isinstance(panel, str) else opened.comm_id
        opened.on_close(lambda _: self._closed(opened))

    def _closed(self, closed: Any) -> None:
        with self._alone:
            panel = self._ends.pop(closed, None)
            ends = [closed, *(each for each, opener in self._ends.items() if opener == panel)]
            for end in ends:
                self._ends.pop(end, None)
                self._told.pop(end, None)
                if end in self._asking:
                    self._asking.remove(end)
        for end in ends[1:]:
            end.close()
        self._look()

    # ---- what it is told --------------------------------------------------------------------------------------

    def _look(self) -> None:
        """See that somebody looks for changes while a panel is open, and nobody else."""
        with self._alone:
            if self._told and self._teller is None:
                self._teller = Teller(self)
                self._teller.start()
            elif not self._told and self._teller is not None:
                self._teller.stop()
                self._teller = None
            elif self._teller is not None:
                self._teller.wake.set()

    def tell(self) -> None:
        """Tell each panel what it has not been told of; one that has just opened is told everything."""
        self._noted()
        with self._alone:
            behind = [(each, told) for each, told in self._told.items() if told != self._journal.change]
        for each, told in behind:
            changes = self._journal.since(max(told, 0))
            with self._alone:
                if each not in self._told:  # it was closed meanwhile
                    continue
                self._told[each] = changes["upto"]
            each.send(event("changes", changes))

    def _noted(self) -> None:
        with self._noting:
            session = self._extension.latest
            watches = [] if session is None else [watch_line(watch) for watch in session.watches]
            self._journal.note(self._runs(), self._session(), self._cell, self._execution, watches)

    def _runs(self) -> Sequence[Any]:
        session = self._extension.latest
        return () if session is None else session.runs

    def _session(self) -> dict[str, Any] | None:
        session = self._extension.latest
        return None if session is None else session_line(session.context.appName, session.running)


class Teller(threading.Thread):
    """Looks every half second, and as soon as a cell has ended."""

    def __init__(self, panel: Panel) -> None:
        super().__init__(name="bigdebug panel", daemon=True)
        self.wake = threading.Event()
        self._panel = panel
        self._on = True

    def stop(self) -> None:
        self._on = False
        self.wake.set()

    def run(self) -> None:
        while self._on:
            self.wake.clear()
            try:
                self._panel.tell()
            except Exception as trouble:  # a later look may go well, and the panel can ask
                log.warning("bigdebug could not tell the panel: %s", trouble, exc_info=True)
            self.wake.wait(EVERY)
