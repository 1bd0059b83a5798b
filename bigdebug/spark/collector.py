"""Collector: Python's garbage collector, which goes through every object of the process once many new ones were made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class _Waiting:
    """How many blocks the collector waits for, and whether it is to go on after them."""

    def __init__(self) -> None:
        self._alone = Lock()
        self._blocks = 0
        self._enabled = False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """The collector waits until this block has made what it makes, thousands of objects that all stay: to look for garbage among them takes
        longer than to make them. For work of less than a second, for it waits in all threads; what they say of it within is not kept.
        """
        with self._alone:
            if not self._blocks:
                self._enabled = gc.isenabled()
                gc.disable()
            self._blocks += 1
        try:
            yield
        finally:
            with self._alone:
                self._blocks -= 1
                if self._enabled and not self._blocks:
                    gc.enable()


waiting = _Waiting()
