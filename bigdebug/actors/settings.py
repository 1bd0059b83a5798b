"""Settings: what holds of a whole thread or process and is put back after a trial: how numpy and decimals compute and print, how deep functions may call each other, where generators of random
numbers are, how long sockets wait, when Python collects what holds itself, how its thread is called.
"""

from __future__ import annotations

import decimal
import gc
import pickle
import random
import sys
import threading
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


def _timeout() -> float | None:
    """How long sockets wait, where there are any: who imports them does so for the first time with that of Python's."""
    ask: Callable[[], float | None] = getattr(sys.modules.get("socket"), "getdefaulttimeout", lambda: None)  # another thread may be importing it
    return ask()


def _wait(held: float | None) -> None:
    if "socket" in sys.modules:
        sys.modules["socket"].setdefaulttimeout(held)


def _thread() -> tuple[threading.Thread | None, str]:
    """It, and how it is called. One that Python does not know gets no name by the question."""
    number = threading.get_ident()
    found = next((each for each in threading.enumerate() if each.ident == number), None)
    return found, "" if found is None else found.name


def _call(held: tuple[threading.Thread | None, str]) -> None:
    if held[0] is not None:
        held[0].name = held[1]


def _collects(held: bool) -> None:
    (gc.enable if held else gc.disable)()


def _profile(held: Any) -> None:
    if held is None or callable(held):  # one of Python's own is not: it alone can begin again
        sys.setprofile(held)


_EACH: tuple[_Setting, ...] = (
    (sys.getrecursionlimit, sys.setrecursionlimit), (random.getstate, random.setstate), (_numpy_draws, _draw_on),
    *map(_of_decimals, ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "traps")), *map(_of_errors, ("divide", "over", "under", "invalid")),
    (np.geterrcall, np.seterrcall), (np.get_printoptions, lambda held: np.set_printoptions(**held)),
    (gc.isenabled, _collects), (gc.get_threshold, lambda held: gc.set_threshold(*held)), (gc.get_debug, gc.set_debug), (_timeout, _wait), (_thread, _call), (sys.getprofile, _profile),
    *(((sys.get_int_max_str_digits, sys.set_int_max_str_digits),) if hasattr(sys, "set_int_max_str_digits") else ()),  # Python has it since 3.10.7
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
