"""Collector: Python's garbage collector, which goes through every object of the process once many new ones were made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def waiting() -> Iterator[None]:
    """The collector waits until this block has made what it makes, thousands of objects that all stay: to look for garbage among them takes
    longer than to make them. For work of less than a second, for it waits in all threads.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
