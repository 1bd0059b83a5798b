"""Generators as steps: what had been read when an output came is all that it can be made of (paired capture, Newt 3.2)."""

from __future__ import annotations

import inspect
import logging
import sys
from array import array
from collections import deque
from collections.abc import Generator, Iterator, Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import numpy as np

from bigdebug.actors.actor import Home
from bigdebug.actors.arguments import Arguments
from bigdebug.actors.aside import being_tried
from bigdebug.actors.callers import by_caller
from bigdebug.actors.capture import Capture, Key, Promise, Transform
from bigdebug.actors.codes import library
from bigdebug.actors.decorated import Decorated, decorated, name_of
from bigdebug.actors.handed import handed
from bigdebug.actors.looks import ONLY_ITERATORS, is_iterable
from bigdebug.actors.room import Known
from bigdebug.actors.steady import GENERATOR, Steady, steady
from bigdebug.actors.tried import first_of

log = logging.getLogger("bigdebug")

_COLLECTIONS = (Sequence, AbstractSet, Mapping, MappingView, deque, bytearray, memoryview, array, np.ndarray)
"""Of these, and of what pandas has, all outputs are there at once, and who asks for them again gets them again."""

_ABSTRACT = "collections.abc"
"""What is there goes through a sequence by its places."""


def generator(
    function: Transform | None = None, *, each: bool = False, tags: tuple[Key, Key] | None = None, check: bool = True, name: str = "", home: Home = None,
) -> Any:
    """A function from an iterable to an iterable that is a step each time it is called. Records pass as they do without, one by one.

    It commits when the last output was given, or nobody wants more. Records are known by their order; ``flow_link`` says where they come from. ``each`` is
    tried before the first output, with copies of the function on copies of the first eight records, and of some behind them, each alone: if they give something else then, the step has no
    lineage, and says why; else a note says on how many it was tried.
    ``check=False`` tries nothing and believes it; so is it, and a note says so, where records come from an iterator that cannot be looked into without taking them from it, where what the
    function remembers cannot be copied for certain, and where it would write a file, connect with something or start a program: it is stopped from that before it does. What the function reads
    besides its records is noted, and the step is not exact then: seen while it is tried, else told by the files that it holds open and by the names of what it calls. What packages read that are not known for it is not.

    The function may go through a collection more than once, ask how many there are, and do with it what else one does: from then on an output is made of all that is in it. It is given what stands
    for the collection, and what is written in C and takes a list alone (``json.dumps``, ``heapq``) takes none such: give that ``list(records)``. A text, other bytes, and without ``each`` and ``tags`` a tuple, an array of numpy
    and what another package has in C, it is given as they are: all that comes of these is made of all of them. What a generator function gives is a
    generator, with all that these do. Another function is called at once, as without, and what it gives is given: of an iterator of somebody's class, one that does what that does; of one of Python's own
    (``map``, ``zip``, ``iter(list)``) a generator over it, which cannot be copied or asked how much it will give. In what is neither an iterator nor
    keeps its outputs (a class of the user's whose records come when they are asked for), they are not seen, and the step has no lineage.
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
        self._known = Known()

    def called(self, bound: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function gives, of the records that its first parameter gets. It is called now, as without; of a generator function, that runs nothing yet."""
        found = None if being_tried() else Arguments.of(self._function, bound, args, kwargs)  # else a step within one that is tried
        if found is None:
            result = by_caller(self._function, *args, **kwargs)
            if not being_tried():
                log.warning("bigdebug: a step is not captured: %s was called without records for its first parameter", self._name)
            return result
        arguments, records = found
        capture = Capture(self._function, self._promise, self._name, arguments, self._known)
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
        if isinstance(result, Iterator):
            return passing if type(result).__module__ in ONLY_ITERATORS else handed(result, lambda: passing, capture.strays)
        if _keeps_all(result):
            deque(passing, maxlen=0)
        elif is_iterable(result):
            capture.is_unseen(f"its outputs are in a {type(result).__name__}, which may give others whenever it is asked; give them one by one, or in a list")
        passing.close()
        return result


def _keeps_all(value: Any) -> bool:
    """Whether it is a collection that is gone through by no code of the user's."""
    pandas = sys.modules.get("pandas")
    kinds = _COLLECTIONS if pandas is None else (*_COLLECTIONS, pandas.DataFrame, pandas.Series, pandas.Index)
    way = _module_of(value, "__iter__")
    return isinstance(value, kinds) and library(_module_of(value, "__getitem__") if way == _ABSTRACT else way)


def _module_of(value: Any, method: str) -> str:
    """Of which module a method is; of the user's if it has none."""
    return next((kind.__module__ for kind in type(value).__mro__ if method in vars(kind)), "__main__")


@contextmanager
def _begun(capture: Capture, records: Any, home: Home) -> Iterator[Steady]:
    """Within, the function is called and its outputs are taken. Before, it is tried."""
    with steady(capture.name, GENERATOR, home) as actor:
        with capture.failing(actor):
            capture.tries(first_of(records), not isinstance(records, Iterator))
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
                over, value = yield from capture.seen()
                if not over:
                    value = yield from capture.given
        except GeneratorExit:
            capture.commit(actor)
            if capture.answer is None:
                raise
            return capture.answer
        capture.commit(actor, all_given=True)
    return value
