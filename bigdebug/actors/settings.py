"""Settings: what holds of a whole thread or process and is put back after a trial: how numpy and decimals compute and print, how deep functions may call each other, where generators of random
numbers are.
"""

from __future__ import annotations

import decimal
import pickle
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_Setting = tuple[Callable[[], Any], Callable[[Any], Any]]


def _numpy_draws() -> tuple[Any, bytes]:
    """Of the generator that all share, whichever it is: somebody may have put another one in the place of numpy's first."""
    bits = np.random.get_bit_generator()  # type: ignore[attr-defined]  # numpy's stubs forgot it
    return bits, pickle.dumps(np.random.get_state(legacy=False))


def _draw_on(held: tuple[Any, bytes]) -> None:
    if _numpy_draws()[0] is held[0]:
        np.random.set_state(pickle.loads(held[1]))


def _of_errors(kind: str) -> _Setting:
    return lambda: np.geterr()[kind], lambda held: np.seterr(**{kind: held})  # type: ignore[literal-required]


def _of_decimals(name: str) -> _Setting:
    def get() -> Any:
        held = getattr(decimal.getcontext(), name)
        return dict(held) if name == "traps" else held

    return get, lambda held: setattr(decimal.getcontext(), name, held)


_EACH: tuple[_Setting, ...] = (
    (sys.getrecursionlimit, sys.setrecursionlimit), (random.getstate, random.setstate), (_numpy_draws, _draw_on),
    *map(_of_decimals, ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "traps")), *map(_of_errors, ("divide", "over", "under", "invalid")),
    (np.geterrcall, np.seterrcall), (np.get_printoptions, lambda held: np.set_printoptions(**held)),
)
"""What gives a setting, and what sets it."""


class Settings:
    """As they are now. Takes 0.1 ms, with putting back."""

    def __init__(self) -> None:
        self._held = [get() for get, _ in _EACH]

    def put_back(self) -> None:
        """From now on they are so again."""
        for (get, put), held in zip(_EACH, self._held):
            if get() != held:
                put(held)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Within, they are so; what is set there stays set, and will be put back."""
        inner = [get() for get, _ in _EACH]
        self.put_back()
        try:
            yield
        finally:
            for number, (get, put) in enumerate(_EACH):
                now = get()
                if now != self._held[number]:
                    self._held[number] = now
                elif now != inner[number]:
                    put(inner[number])
