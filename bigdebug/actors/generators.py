"""Generators as steps: what had been read when an output came is all that it can be made of (paired capture, Newt 3.2)."""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import numpy as np

from bigdebug.actors.actor import Home
from bigdebug.actors.arguments import Arguments
from bigdebug.actors.aside import being_tried
from bigdebug.actors.capture import Capture, Key, Promise, Transform
from bigdebug.actors.decorated import Decorated, decorated, name_of
from bigdebug.actors.steady import GENERATOR, Steady, steady
from bigdebug.actors.tried import first_of

log = logging.getLogger("bigdebug")

_OF_CODE = ("__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__")

_COLLECTIONS = (list, tuple, dict, set, frozenset, deque, range, str, bytes, bytearray, np.ndarray)
"""Of these, all outputs are there at once, and who asks for them again gets them again."""


def generator(
    function: Transform | None = None, *, each: bool = False, tags: tuple[Key, Key] | None = None, check: bool = True, name: str = "", home: Home = None,
) -> Any:
    """A function from an iterable to an iterable that is a step each time it is called. Records pass as they do without, one by one.

    It commits when the last output was given, or nobody wants more. Records are known by their order; ``flow_link`` says where they come from. ``each`` is
    tried before the first output, with copies of the function on copies of the first eight records, and of some behind them, each alone: if they give something else then, the step has no
    lineage, and says why; else a note says on how many it was tried.
    ``check=False`` tries nothing and believes it; so is it, and a note says so, where records come from an iterator that cannot be looked into without taking them from it, where what the
    function remembers cannot be copied for certain, and where it would write a file, connect with something or start a program: it is stopped from that before it does.

    What a generator function gives is a generator, with all that these do. Another function is called at once, as without: a list, or what else Python keeps all outputs in, is given itself, and so
    is what is no iterable; of any other iterable, a generator of its records is given.
    """
    promise = Promise(each, tags, check)
    return decorated(function, lambda fn: GeneratorFunction(fn, promise, name, home))


class GeneratorFunction(Decorated):
    """A function from an iterable to an iterable that is a step each time it is called."""

    def __init__(self, function: Transform, promise: Promise, name: str, home: Home) -> None:
        super().__init__(function)
        self._promise = promise
        self._name = name or name_of(function)
        self._home = home

    def __getattr__(self, name: str) -> Any:
        """What says of the function that it is a generator function."""
        if name not in _OF_CODE:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._function, name)

    def called(self, bound: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function gives, of the records that its first parameter gets. It is called now, as without; of a generator function, that runs nothing yet."""
        found = None if being_tried() else Arguments.of(self._function, bound, args, kwargs)  # else a step within one that is tried
        if found is None:
            result = self._function(*args, **kwargs)
            if not being_tried():
                log.warning("bigdebug: a step is not captured: %s was called without records for its first parameter", self._name)
            return result
        arguments, records = found
        capture = Capture(self._function, self._promise, self._name, arguments)
        begun = _begun(capture, records, self._home)
        if inspect.isgeneratorfunction(self._function):
            plain, made = capture.calls(records), _passing(capture, begun)
            for each in ("__name__", "__qualname__"):
                setattr(made, each, getattr(plain, each))
            return made
        with ExitStack() as going:
            actor = going.enter_context(begun)
            with capture.failing(actor):
                result = capture.calls(records)
            passing = _passing(capture, _going_on(going.pop_all(), actor), waits=True)
        next(passing)
        if type(result) in _COLLECTIONS:
            deque(passing, maxlen=0)
        elif _is_iterable(result):
            return passing
        passing.close()
        return result


def _is_iterable(value: Any) -> bool:
    return isinstance(value, Iterable) or hasattr(type(value), "__getitem__")


@contextmanager
def _begun(capture: Capture, records: Any, home: Home) -> Iterator[Steady]:
    """Within, the function is called and its outputs are taken. Before, it is tried."""
    with steady(capture.name, GENERATOR, home) as actor:
        with capture.failing(actor):
            capture.tries(first_of(records))
        yield actor


@contextmanager
def _going_on(going: ExitStack, actor: Steady) -> Iterator[Steady]:
    with going:
        yield actor


def _passing(capture: Capture, begun: AbstractContextManager[Steady], waits: bool = False) -> Generator[Any, Any, Any]:
    """The outputs, as they come. It commits when the last one was given, or nobody wants more: of one that ``waits`` first, also if nobody wanted any."""
    with begun as actor:
        try:
            with capture.failing(actor):
                if waits:
                    yield
                over, value = (yield from capture.seen()) if capture.is_watched else (False, None)
                if not over:
                    value = yield from capture.given
        except GeneratorExit:
            capture.commit(actor)
            if capture.answer is None:
                raise
            return capture.answer
        capture.commit(actor, all_given=True)
    return value
