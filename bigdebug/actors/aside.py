"""Aside: where a user's function is tried, nobody sees it."""

from __future__ import annotations

import contextlib
import contextvars
import random
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

_TRIED = contextvars.ContextVar("bigdebug: a function is being tried", default=False)


def being_tried() -> bool:
    """Whether this is a trial: then nothing is captured, for none of it is a step of the user's."""
    return _TRIED.get()


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Within: this thread prints nothing, nobody is warned, no step is captured, and random numbers are drawn in vain.

    Where the generators of all were drawn from (``Apart`` gives a function others; but pandas' ``sample`` draws from numpy's own), they are put back: what another thread drew meanwhile is
    drawn again then.
    """
    states = random.getstate(), _numpy_state()
    token = _TRIED.set(True)
    try:
        with warnings.catch_warnings(), _unprinted():
            warnings.simplefilter("ignore")
            yield
    finally:
        _TRIED.reset(token)
        if random.getstate() != states[0]:
            random.setstate(states[0])
        if _numpy_state() != states[1]:
            np.random.set_state(states[1])


def _numpy_state() -> tuple[Any, ...]:
    state: Any = np.random.get_state(legacy=True)
    return (state[0], tuple(state[1].tolist()), *state[2:])


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
