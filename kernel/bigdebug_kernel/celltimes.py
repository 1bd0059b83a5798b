"""Cell times: which cell of the notebook ran at a time, for what is recorded of the jobs that it started."""

from __future__ import annotations

import os
import threading
from collections import deque
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from IPython import version_info

from bigdebug.datasets.model import Cell

_MOST = 1_000
"""Cells that are remembered, the latest: Spark tells of what they started within seconds."""

_VSCODE = "__vsc_ipynb_file__"
"""Where VS Code puts the path of the notebook."""


@dataclass
class _Ran:
    cell: Cell
    began: datetime
    ended: datetime | None = None


class CellTimes:
    """The cells that one shell ran, by when. Thread-safe: it is asked from another thread."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._ran: deque[_Ran] = deque(maxlen=_MOST)
        self._ahead = int(version_info[0] >= 9)
        """By how much IPython has counted ahead when it begins a cell, for the next one: one since 9; the first cell that ends shows it."""
        self._alone = threading.Lock()

    def started(self, info: Any) -> None:
        """IPython begins a cell."""
        count = int(self._shell.execution_count) - self._ahead if info.store_history else None
        cell = Cell(self._notebook(), str(getattr(info, "cell_id", None) or ""), count)
        with self._alone:
            self._ran.append(_Ran(cell, _now()))

    def ended(self, result: Any) -> None:
        """IPython has ended the cell that it began last and has not ended. Of an empty one it tells the end alone."""
        if result is not None and not result.info.raw_cell.strip():
            return
        with self._alone:
            running = next((ran for ran in reversed(self._ran) if ran.ended is None), None)
            if running is not None:
                running.ended = datetime.now(timezone.utc)
                told = getattr(result, "execution_count", None)
                if running.cell.count is not None and told is not None and told != running.cell.count:
                    self._ahead += running.cell.count - told
                    running.cell = replace(running.cell, count=told)

    def at(self, when: datetime) -> Cell | None:
        """The innermost cell that ran at a time, which may be a millisecond too early, as Spark tells it. None if none did."""
        with self._alone:
            ran = [each for each in self._ran if each.began <= when and (each.ended is None or when <= each.ended)]
        return ran[-1].cell if ran else None

    def _notebook(self) -> str:
        return str(self._shell.user_ns.get(_VSCODE) or os.environ.get("JPY_SESSION_NAME", ""))


def _now() -> datetime:
    """In whole milliseconds, as Spark has times: what a cell starts does not come before it."""
    now = datetime.now(timezone.utc)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)
