"""Garbage: what a worker looks at when it collects it behind a task that answers a question.

PySpark collects behind every task, before the worker takes the next one, and looks at all that all modules hold: 15 to 60 ms, of which the tasks of a question, that
take 5, would wait most of their time. So what stood there before such a task is passed over; what is made for it and by it is looked at as ever.
"""

from __future__ import annotations

import gc
from typing import Any

EVERY = 8
"""One in so many tasks of questions looks at all: what stood there may have become garbage meanwhile."""


class Passing:
    """Passes over what is there. Only the next full collection does, whoever asks for it: the one after that looks at all again."""

    def __init__(self) -> None:
        self._tasks = 0
        self._is_on = False

    def begin(self) -> None:
        """Called where a task begins, before anything of its own is there. It passes over nothing where somebody else has objects passed over."""
        if self._collected not in gc.callbacks:
            gc.callbacks.append(self._collected)
            if self._is_on:  # somebody has cleared them
                gc.unfreeze()
                self._is_on = False
        self._tasks += 1
        if self._tasks % EVERY and not self._is_on and not gc.get_freeze_count():
            gc.freeze()
            self._is_on = True

    def _collected(self, phase: str, info: dict[str, Any]) -> None:
        if self._is_on and phase == "stop" and info["generation"] == 2:
            gc.unfreeze()
            self._is_on = False


passing = Passing()
"""This process's."""


class Beginning:
    """Stands for the beginning of a task: where it is unpickled, what comes behind it is not there yet."""

    def __reduce__(self) -> tuple[Any, ...]:
        return passing_over, ()


def passing_over() -> Beginning:
    """What a Beginning is unpickled as."""
    passing.begin()
    return Beginning()
