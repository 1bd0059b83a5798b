"""Cells under ``%%lineage``: they run as any other cell does, with capture from their first line to their end.

IPython would hand the cell to a magic as a string. Then an ``await`` at its top, the numbers of its lines, its last
expression and its exceptions are the magic's business, and it cannot do as well as IPython. So the first line becomes a
statement that begins capture, the rest stays as it is, and the end of the cell ends capture.
"""

from __future__ import annotations

import linecache
import re
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from IPython.core.error import UsageError
from IPython.core.inputtransformer2 import cell_magic

from bigdebug.shown import plain

_BEGIN = "get_ipython()._bigdebug.begin("
_FIRST = re.compile(r"%%lineage(?:[ \t]+(?P<line>.*))?\s*$")


@dataclass
class CellCapture:
    """Capture from a cell's first line on: of the Spark session that runs, and of any that the cell starts."""

    name: str | None
    strategy: str
    on_crash: Any = "fail"
    captures: list[Any] = field(default_factory=list)
    _open: ExitStack = field(default_factory=ExitStack)

    def join(self, session: Any) -> None:
        self.captures.append(self._open.enter_context(session.capture(self.name, self.strategy, self.on_crash)))

    def end(self) -> None:
        self._open.close()

    def report(self) -> str:
        """A line for each run, and what is missing of its lineage."""
        runs = [run for capture in self.captures for run in capture.runs]
        lines = [line for run in runs for line in (run.summary(), *(f"    incomplete: {why}" for why in run.incomplete))]
        if not self.captures:
            lines = ["No Spark session ran in this cell, so there is no lineage."]
        elif not lines:
            lines = ["No action of a DataFrame, or of an RDD with lineage, ran in this cell; RDDs made before %load_ext bigdebug have none."]
        return "\n".join(map(plain, lines))


@dataclass
class _Running:
    """A cell that runs, in one thread; one that it runs in its turn is another."""

    thread: int
    captures: list[CellCapture] = field(default_factory=list)


class Cells:
    """The cells that run in one shell, innermost last, and the captures that end with each."""

    def __init__(self, shell: Any, session: Callable[[], Any]) -> None:
        self._shell = shell
        self._session = session
        self._running: list[_Running] = []

    # ---- what IPython calls -----------------------------------------------------------------------------------

    def transform(self, lines: list[str]) -> list[str]:
        """``%%lineage`` in the first line becomes a call that begins capture. The other lines keep their numbers.

        Left to the magic: a request for help, a cell without a body, and one whose first statement must come first.
        """
        first = _FIRST.match(lines[0]) if lines else None
        body = lines[1:]
        if first is None or not "".join(body).strip() or any(line.startswith("from __future__") for line in body):
            return lines
        body = cell_magic(self.transform(body))
        return [f"{_BEGIN}{first['line'] or ''!r})\n", *body]

    def started(self, info: Any) -> None:
        self._running.append(_Running(threading.get_ident()))

    def ended(self, result: Any) -> None:
        """The innermost cell of this thread is over. IPython announces the end of an empty cell, but not its start."""
        if result is not None and not result.info.raw_cell.strip():
            return
        here = threading.get_ident()
        for cell in reversed(self._running):
            if cell.thread == here:
                self._running.remove(cell)
                for capture in reversed(cell.captures):
                    self.close(capture)
                return

    def called(self, file: str) -> str | None:
        """What IPython calls the file of a cell: "Cell In[3]"; None if it is no cell's."""
        name = self._shell.compile.format_code_name(file)
        return None if name is None else " ".join(name)

    # ---- what the extension calls -----------------------------------------------------------------------------

    def begin(self, name: str | None, strategy: str, on_crash: Any = "fail") -> None:
        """Capture until the cell that runs in this thread ends."""
        here = threading.get_ident()
        cell = next((cell for cell in reversed(self._running) if cell.thread == here), None)
        if cell is None:
            raise UsageError("%%lineage cannot tell where this cell ends: run it as a cell of its own, not silently")
        capture = self.opened(name, strategy, on_crash)
        cell.captures.append(capture)

    def opened(self, name: str | None, strategy: str, on_crash: Any = "fail") -> CellCapture:
        """A capture that has begun; ``close`` ends it."""
        capture = CellCapture(name, strategy, on_crash)
        session = self._session()
        if session is not None:
            capture.join(session)
        return capture

    def close(self, capture: CellCapture) -> None:
        """End a capture and say what it gave."""
        capture.end()
        print(capture.report())

    def joined(self, session: Any) -> None:
        """A Spark session has just been attached: what captures now captures it too."""
        for capture in self._captures():
            capture.join(session)

    @property
    def capturing(self) -> bool:
        return bool(self._captures())

    def abandon(self) -> None:
        """End every capture, without a word."""
        for capture in reversed(self._captures()):
            capture.end()
        self._running.clear()

    def _captures(self) -> list[CellCapture]:
        return [capture for cell in self._running for capture in cell.captures]


def as_typed(file: str, line: str) -> None:
    """Let tracebacks show the first line of a cell as its user has typed it: as a comment, for who reads the cell as Python."""
    lines = linecache.getlines(file)
    if lines and lines[0].startswith(_BEGIN):
        lines[0] = f"# %%lineage {line}".rstrip() + "\n"
