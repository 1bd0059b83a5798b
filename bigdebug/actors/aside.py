"""Aside: where a user's function is tried, nobody sees it."""

from __future__ import annotations

import contextlib
import random
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Within: this thread prints nothing, nobody is warned, and random numbers are drawn in vain."""
    states = random.getstate(), np.random.get_state()
    try:
        with warnings.catch_warnings(), _unprinted():
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


@contextlib.contextmanager
def _unprinted() -> Iterator[None]:
    """Within, what this thread prints is lost; other threads print where they did."""
    out = sys.stdout
    if out is None:  # a program without a terminal
        yield
        return
    mine = _Muted(out)
    sys.stdout = mine
    try:
        yield
    finally:
        mine.over = True  # somebody may hold it, or have put another one around it
        if sys.stdout is mine:
            sys.stdout = out


class _Muted:
    """The standard output, without what one thread writes."""

    def __init__(self, out: Any) -> None:
        self._out = out
        self._thread = threading.get_ident()
        self.over = False

    def write(self, text: str) -> int:
        if self.over or threading.get_ident() != self._thread:
            return int(self._out.write(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)
