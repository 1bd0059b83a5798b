"""An oracle: says of sets of candidates whether the output that is asked about is still wrong when the program runs on them alone."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyroaring import BitMap

from bigdebug.agents.outlines import Outline, Right, loses
from bigdebug.localize.progress import Course, Progress
from bigdebug.localize.usual import Usual
from bigdebug.model import Outcome


@dataclass(frozen=True)
class Answer:
    """The outcome on a set, the number that the output holds there, NaN if it holds none, whether there is no such output any more, of all outputs as a whole how many there are, and
    the outline of what there is.
    """

    outcome: Outcome
    value: float = math.nan
    gone: bool = False
    outputs: int = 0
    outline: Outline = None

    @property
    def fails(self) -> bool:
        return self.outcome is Outcome.FAIL

    @property
    def passes(self) -> bool:
        return self.outcome is Outcome.PASS


Ask = Callable[[Sequence[BitMap]], Sequence[Answer]]
"""Answers for several sets of candidates at once, in their order."""


class Spent(Exception):  # it passes through a search, which says by itself how far it came
    """A search is to end: its budget is spent, or somebody stopped it. The message says which."""


ENDS = (Spent, KeyboardInterrupt)
"""What ends a search, which gives what it knows by then."""


def why(end: BaseException) -> str:
    """Why a search was ended."""
    return str(end) if isinstance(end, Spent) else "it was interrupted"


class Budget:
    """What a search may take: ``most`` tests, so many ``seconds``, until one of ``stops`` is set. None is without end. Counts the tests of all its oracles.

    ``course`` is the way of the search; ``shown`` says that somebody is shown it, so that no bar need tell of it.
    """

    def __init__(self, most: int | None = None, seconds: float | None = None, stops: Sequence[threading.Event] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self.tests, self.course, self.shown = 0, Course(clock), False
        self._most, self._seconds, self._stop = most, seconds, threading.Event()
        self._stops = (self._stop, *stops)

    @property
    def took(self) -> float:
        """Seconds since it was made."""
        return self.course.took

    @property
    def counts(self) -> bool:
        """Whether tests are to be few: then none is made before it is needed."""
        return self._most is not None

    @property
    def left(self) -> int:
        """How many candidates may still be of the cause that is looked for."""
        return self.course.left

    @property
    def progress(self) -> Progress:
        """How far the search is."""
        return self.course.progress(self.tests)

    def stop(self) -> None:
        """Let the search end at its next test; from any thread."""
        self._stop.set()

    def check(self, more: int = 0) -> None:
        """Raise Spent if it was stopped, its time is over, or it has not so many ``more`` tests."""
        if any(stop.is_set() for stop in self._stops):
            raise Spent("it was stopped")
        if self._seconds is not None and self.took >= self._seconds:
            raise Spent("its second was over" if self._seconds == 1 else f"its {self._seconds:g} seconds were over")
        if self._most is not None and self.tests + more > self._most:
            raise Spent(self._spent(self._most))

    def _spent(self, most: int) -> str:
        its = "its 1 test" if most == 1 else f"its {most:,} tests"
        if self.tests < most:
            return f"the next step takes more than {its if not self.tests else f'the {most - self.tests:,} left of {its}'}"
        return f"{its} {'was' if most == 1 else 'were'} spent"

    def spend(self, tests: int) -> None:
        """Count ``tests`` that are to come. Raises Spent, and counts none, if they are too many."""
        self.check(tests)
        self.tests += tests


class Oracle:
    """Asks about each set once, as long as the ``budget`` lasts.

    Verdicts are kept by what the set's roaring bitmap is written as (BigSift 4.4): sets of a million in few runs take some ten bytes. With ``pushed``, tests
    are pushed down (BigSift 4.2): it answers in the place of ``ask``, sooner, and as long as it is not seen to be wrong; what is asked ``anew``, it is not.

    An output that is gone, or has lost a value, or fewer outputs than there are, is not wrong, but nobody has seen it right: as long as it is to be ``there``, that is unresolved.
    ``lost`` says that this was met. ``right`` are outlines of outputs that are right, by which it is known what is lost; None if nobody has looked at them.
    """

    def __init__(self, ask: Ask, budget: Budget, pushed: Ask | None = None, right: Sequence[Outline] | None = ()) -> None:
        self._ask, self._budget, self._pushed, self.usual = ask, budget, pushed, Usual(right)
        self._known: dict[bytes, Answer] = {}
        self.there = self.lost = False
        self._whole = Answer(Outcome.UNRESOLVED)

    def narrow(self, left: int) -> None:
        """Say how many candidates are left."""
        self._budget.course.narrow(left)

    @property
    def course(self) -> Course:
        """The way of the search that it answers."""
        return self._budget.course

    @property
    def pushed(self) -> bool:
        """Whether answers are those of tests that were pushed down."""
        return self._pushed is not None

    def compare(self, whole: Answer) -> None:
        """Take what is said of all candidates for what is to be there."""
        self._whole = whole

    def answers(self, sets: Sequence[BitMap]) -> list[Answer]:
        """The answers for ``sets``; those that are known are not asked again. Raises Spent."""
        keys = [_key(each) for each in sets]
        new = {key: each for key, each in zip(keys, sets) if key not in self._known}
        if new:
            self._budget.spend(len(new))
            self._known.update(zip(new, (self._pushed or self._ask)(list(new.values()))))
        return [self._taken(self._known[key]) for key in keys]

    def unasked(self, sets: Sequence[BitMap]) -> int:
        """Of how many of ``sets`` the answer is not known."""
        return sum(_key(each) not in self._known for each in sets)

    def strictly(self, sets: Sequence[BitMap]) -> list[Answer]:
        """The same, and what an output holds no more is lost, whatever right ones hold."""
        found = self.answers(sets)
        return [self._without_value() if answer.passes and not answer.gone and loses(self._whole.outline, answer.outline, Right(None)) else answer for answer in found]

    def learn(self, sets: Sequence[BitMap], answers: Sequence[Answer]) -> None:
        """Take ``answers`` for those for ``sets``, which were asked about together with those of others. Raises Spent."""
        self._budget.spend(len(sets))
        self._known.update(zip(map(_key, sets), answers))

    def anew(self, sets: Sequence[BitMap]) -> list[Answer]:
        """The answers for ``sets`` asked once more, whatever is known: a test that repeats itself gives what it gave."""
        self._budget.spend(len(sets))
        return [self._taken(answer) for answer in self._ask(sets)]

    def _taken(self, answer: Answer) -> Answer:
        if not answer.passes:
            return answer
        whole = self._whole
        lost = not answer.gone and self.usual.loses(whole.outline, answer.outline)
        holds_none = math.isnan(answer.value) and not math.isnan(whole.value) and not loses(whole.outline, answer.outline)  # what its outline does not tell
        if not (lost or holds_none or answer.gone or answer.outputs < whole.outputs):
            return answer
        self.lost = True
        return self._without_value() if lost else replace(self._without_value(), value=answer.value)

    def _without_value(self) -> Answer:
        """That of what is not wrong, and not there as it was; a number that is left is another one."""
        return Answer(Outcome.UNRESOLVED if self.there else Outcome.PASS, gone=True)

    def unpushed(self) -> None:
        """What answered in the place of the program was the program itself: what is known stands."""
        self._pushed = None

    def distrust(self) -> None:
        """Forget what tests that were pushed down have said, and push down no more."""
        self._pushed = None
        self._known.clear()


def _key(candidates: BitMap) -> bytes:
    candidates.run_optimize()
    return bytes(candidates.serialize())
