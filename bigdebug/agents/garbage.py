"""Garbage: what a worker looks at when it collects it behind a task that answers a question.

PySpark collects behind every task, before the worker takes the next one, and looks at all that all modules hold: 15 to 60 ms, of which the tasks of a question, that
take 5, would wait most of their time. So what stood there before such a task is passed over, once; what the task made is looked at as ever.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

try:
    import resource
except ImportError:  # on Windows, where each task has a worker of its own
    resource = None  # type: ignore[assignment]

MOST = 64 << 20
"""Bytes that a worker may have grown by since it looked at all: garbage that was passed over is no more than these."""


class Passing:
    """Passes over what is there. Only the next full collection does, whoever asks for it: the one after that looks at all again."""

    def __init__(self) -> None:
        self._known: int | None = None
        self._is_on = False

    def begin(self) -> None:
        """Called where a task begins. Not if the worker has grown since it looked at all, nor where somebody else has objects passed over."""
        peak = _peak()
        if peak is None or self._is_on or gc.get_freeze_count():
            return
        if self._known is None:
            self._known = peak
            gc.callbacks.append(self._collected)
        if peak - self._known <= MOST:
            gc.freeze()
            self._is_on = True

    def _collected(self, phase: str, info: dict[str, Any]) -> None:
        if phase != "stop" or info["generation"] != 2:
            return
        if self._is_on:
            gc.unfreeze()
            self._is_on = False
        else:
            self._known = _peak()


def _peak() -> int | None:
    """The most bytes that this process has had in memory; None where that is not told."""
    return None if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


passing = Passing()
"""This process's."""
