"""Passed: an iterator whose records are noted as they pass, at the speed of C, and which does all that a generator does where it is one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import lru_cache, partial
from itertools import chain, compress, repeat, starmap
from typing import Any

from bigdebug.actors.callers import by_caller

_AT_ONCE = frozenset(("builtins", "itertools", "_io"))
"""Modules whose iterables do nothing when they are asked for an iterator; a file that is closed raises."""


class Passed(compress):  # type: ignore[type-arg]  # it has no types when it runs
    """The outputs of a generator, each with a tick. What is sent into it and thrown into it comes to the generator, what that returns comes back, and it is closed with it."""

    __slots__ = ("_given", "_ticks", "answer")

    def __init__(self, given: Generator[Any, Any, Any], ticks: Iterator[Any]) -> None:
        """``ticks`` are true."""
        self._given, self._ticks = given, ticks
        self.answer: Any = None

    def send(self, value: Any) -> Any:
        """As the generator does."""
        return self._ticked(self._given.send(value))

    def throw(self, *error: Any) -> Any:
        """As the generator does."""
        try:
            return self._ticked(self._given.throw(*error))
        finally:
            del error  # it holds all that it passes

    def close(self) -> Any:
        """As the generator does; what it answers, from Python 3.13 on, is kept."""
        self.answer = self._given.close()  # type: ignore[func-returns-value]
        return self.answer

    def _ticked(self, output: Any) -> Any:
        next(self._ticks)
        return output


def passed(records: Any, ticks: Iterator[Any]) -> Iterator[Any]:
    """The records, each with a tick. Nobody asks for the first of them, nor what is no iterable for an iterator, before it is asked itself."""
    if isinstance(records, Generator):
        return Passed(records, ticks)
    at_once = type(records).__module__ in _AT_ONCE and isinstance(records, Iterable) and not getattr(records, "closed", False)
    return compress(records if at_once else asked(records), ticks)


def asked(records: Any) -> Iterator[Any]:
    """The records, of which an iterator is made when the first is asked for. One that had none may have more later, as a consumer of a queue."""
    if not isinstance(records, Iterator):
        return chain.from_iterable((records,))
    made = lru_cache(None)(partial(iter, records))
    return map(next, starmap(made, repeat(())))


def by_hand(outputs: Any, sees: Callable[[Any], object], enough: Callable[[], bool]) -> Generator[Any, Any, tuple[bool, Any]]:
    """Pass outputs on, and see each, until that is enough: then the next one is still there. Gives whether they are over, and what a generator returned."""
    following = partial(next, outputs)
    step = partial(by_caller, following)  # until its first output, a generator may warn of who asks for that
    left: GeneratorExit | None = None
    try:
        while True:
            try:
                output = step()
            except StopIteration as end:
                return True, end.value
            step = following
            sees(output)
            try:
                sent = yield output
            except GeneratorExit as error:
                left = error
            except BaseException as error:
                if not isinstance(outputs, Passed):
                    raise
                before = error.__traceback__ and error.__traceback__.tb_next  # without this frame: who keeps the exception would keep the generator
                step = partial(outputs.throw, error.with_traceback(before))
            else:
                if sent is None and enough():
                    return False, None
                if sent is not None:
                    step = partial(outputs.send, sent)
            if left is not None:
                if isinstance(outputs, Passed):  # not where this one is handled: what they raise would hang on it
                    outputs.close()
                raise left
    finally:
        step, left = following, None  # an exception holds all that it passes, and this held it
