"""Garbage: what a worker looks at when it collects it behind a task that answers a question.

PySpark collects behind every task, before the worker takes the next one, and looks at all that all modules hold: 15 to 60 ms, of which the tasks of a question, that
take 5, would wait most of their time. So what stood there before such a task is passed over, once; what the task made is looked at as ever.
"""

from __future__ import annotations

import gc
import sys
from mmap import PAGESIZE
from typing import Any

MOST = 64 << 20
"""Bytes that a worker may have grown by since it looked at all: garbage that was passed over is no more than these."""


class Passing:
    """Passes over what is there. Only the next full collection does, whoever asks for it: the one after that looks at all again."""

    def __init__(self) -> None:
        self._known: int | None = None
        self._is_on = False

    def begin(self) -> None:
        """Called where a task begins. Not if the worker has grown since it looked at all, nor where somebody else has objects passed over."""
        held = _held()
        if held is None or self._is_on or gc.get_freeze_count():
            return
        if self._known is None:
            self._known = held
            gc.callbacks.append(self._collected)
        if held - self._known <= MOST:
            gc.freeze()
            self._is_on = True

    def _collected(self, phase: str, info: dict[str, Any]) -> None:
        if phase != "stop" or info["generation"] != 2:
            return
        if self._is_on:
            gc.unfreeze()
            self._is_on = False
        else:
            self._known = _held()


def _held() -> int | None:
    """The bytes that this process has in memory, or on a Mac the most that it has had; None where that is not told."""
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with open("/proc/self/statm", "rb") as told:
            return int(told.read().split()[1]) * PAGESIZE
    except OSError:
        return None


passing = Passing()
"""This process's."""
