"""Patience: who asks the JVM about a plan, column by column, stops when whoever waits for it has waited long enough."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bigdebug.outside import Signal

_waits = threading.local()


class OutOfPatience(Signal):
    """Nobody waits any more for what this thread is finding out. It is found out anew when it is asked for."""


@contextmanager
def waiting(seconds: float) -> Iterator[None]:
    """Within, this thread goes on for so long at most, and then raises OutOfPatience where it asks."""
    _waits.until = time.monotonic() + seconds
    try:
        yield
    finally:
        _waits.until = None


def asking() -> None:
    """This thread asks for something more. Raises OutOfPatience."""
    until = getattr(_waits, "until", None)
    if until is not None and time.monotonic() > until:
        _waits.until = None  # what is done about that asks, too
        raise OutOfPatience
