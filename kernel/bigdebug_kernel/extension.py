"""The IPython extension: joins one shell with the Spark session that runs, for as long as it is loaded."""

from __future__ import annotations

import logging
import sys
from typing import Any

from bigdebug.shown import call_files
from bigdebug.spark.arrival import Arrivals
from bigdebug.spark.bars import show_bars_with
from bigdebug_kernel.bars import bars_of
from bigdebug_kernel.cells import Cells, as_typed
from bigdebug_kernel.celltimes import CellTimes
from bigdebug_kernel.completion import Completion
from bigdebug_kernel.crash import CrashDisplay
from bigdebug_kernel.magics import LineageMagics, asks_for_help
from bigdebug_kernel.names import Names
from bigdebug_kernel.panel import Panel
from bigdebug_kernel.searching import SearchDisplay
from bigdebug_kernel.showing import Showing
from bigdebug_kernel.viewing import ViewDisplay

log = logging.getLogger("bigdebug")


class Extension:
    """One shell's bigdebug. ``unload`` leaves nothing of it and detaches; RDDs and traces keep their lineage."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._sessions: list[Any] = []
        self._attached: list[Any] = []  # those that nobody had attached before
        self._capture_all = False
        self._names = Names(shell)
        self._cells = Cells(shell, self.session)
        self._times = CellTimes(shell)
        self._magics = LineageMagics(shell, self)
        self._arrivals = Arrivals(lambda session: self.session())
        self._completion = Completion(self._magics.offered)
        self._panel = Panel(shell, self)
        self._showing = Showing(shell, self)
        self._views = ViewDisplay(shell)
        self._searches = SearchDisplay(shell)
        self._crashes = CrashDisplay(shell, self._cells.called)
        self._events = (
            ("pre_run_cell", self._times.started), ("pre_run_cell", self._cells.started),
            ("post_run_cell", self._cells.ended), ("post_run_cell", self._after_cell), ("post_run_cell", self._times.ended),
        )

    def load(self) -> None:
        self._shell.register_magics(self._magics)
        # Before IPython's own cell_magic, which would make one opaque call of the cell.
        self._shell.input_transformer_manager.line_transforms[:0] = [self._cells.transform, asks_for_help]
        self._shell.Completer.custom_matchers.append(self._completion.matcher)
        for event, callback in self._events:
            self._shell.events.register(event, callback)
        show_bars_with(bars_of(self._shell))
        call_files(self._cells.called)
        self._arrivals.start()
        self._panel.load()
        self._showing.load()
        self._views.load()
        self._searches.load()
        self._after_cell(None)

    def unload(self) -> None:
        self._panel.unload()
        self._showing.unload()
        self._views.unload()
        self._searches.unload()
        self._crashes.disarm()
        self._arrivals.stop()
        show_bars_with(None)
        call_files(None)
        for event, callback in self._events:
            self._shell.events.unregister(event, callback)
        self._shell.Completer.custom_matchers.remove(self._completion.matcher)
        for transform in (self._cells.transform, asks_for_help):
            self._shell.input_transformer_manager.line_transforms.remove(transform)
        self._magics.withdraw()
        self._cells.abandon()
        self._names.restore(self._sessions)
        self._sessions.clear()
        while self._attached:
            self._attached.pop().detach()

    # ---- what the magics ask ----------------------------------------------------------------------------------

    def session(self) -> Any:
        """The debug session of the Spark session that runs, attached now if need be; None if none runs."""
        if "pyspark.sql" not in sys.modules:
            return None
        from bigdebug.session import active_session

        known = active_session(join=False)
        current = known or active_session()
        if current is not None and known is None:
            self._attached.append(current)
        if current is not None and current not in self._sessions[-1:]:
            self._sessions.append(current)
            current.context.setCaptureLineage(self._capture_all or current.context.isCaptureLineage())
            current.name_cells(self._times.at)
            self._cells.joined(current)
            self._crashes.arm()
        return current

    @property
    def latest(self) -> Any:
        """The session that was joined last, though its Spark may have been stopped: its runs are still known."""
        return self._sessions[-1] if self._sessions else None

    def begin(self, line: str) -> None:
        """The first line of a cell under ``%%lineage``, as ``Cells.transform`` leaves it."""
        as_typed(sys._getframe(1).f_code.co_filename, line)
        self._cells.begin(*self._magics.cell_arguments(line))

    def join(self) -> None:
        """Attach to the Spark session that runs, and name what belongs to it, without waiting for the end of a cell."""
        self._after_cell(None)

    def capture_all(self, on: bool) -> None:
        """Capture all cells that follow, also those of Spark sessions to come; or end that."""
        self._capture_all = on
        if self._sessions:
            self._sessions[-1].context.setCaptureLineage(on)

    @property
    def cells(self) -> Cells:
        return self._cells

    def _after_cell(self, result: Any) -> None:
        """See that ``sc`` and ``dbg`` name what belongs to the session that runs now."""
        try:
            session = self.session()
        except Exception as trouble:  # the user's cell comes first
            log.warning("bigdebug could not attach to the Spark session: %s", trouble, exc_info=True)
            return
        if session is not None:
            self._names.place(session, result)
        self._panel.note()
