"""Rounds: a function over an iterator called again and again on the records of one partition, each time without those that it crashed on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any

from bigdebug.agents.guards.calls import Calls, is_same
from bigdebug.agents.guards.cell import as_elsewhere
from bigdebug.agents.guards.crash import same_class
from bigdebug.agents.guards.halving import Found, culprits
from bigdebug.agents.guards.inflight import NO_RECORD, Note, crashes
from bigdebug.agents.guards.inputs import NotMadeAgain
from bigdebug.agents.pairing import Reads
from bigdebug.agents.segments import Tally

_AHEAD = 4_096
"""Records that a function may have read before it gave what it made of those before: as many as are looked at for that, at a crash."""

_LOOKS, _EACH, _LEAST_AHEAD, _PART = 4, 64, 16, 40
"""If at so many crashes it had not, then where it crashes on a record alone, so few are looked at, or that part of what was read in between;
but at one in so many all of these."""

_REPEATED = 100
"""Records that a function is given again, of those that one met on which it crashed."""

Fed = list[tuple[int, Any]]
"""Records that a call is given again, with their positions."""


class _Then(Enum):
    """What becomes of a partition after a crash."""

    ON = "the function is called on the others"
    END = "it crashes whatever it is given"
    FAIL = "the task fails, for records are gone that it would have to be called on again"


class Rounds:
    """The calls for one partition. Behind a crash, the function is called on the records that it had read since it gave something, without the culprits among them. Such a
    call only looks for more of these, as far as to the first thing that it gives; when it finds none, the next one goes on, with these records first.

    ``exact`` says that what is given is what the job is to give, ``lost`` is called where there may be culprits among records that were let go of, and ``reads`` is
    told how many records had been read when whoever had an output asked for the next one.
    """

    def __init__(self, calls: Calls, crashed: Note, exact: bool, lost: Callable[[], None], reads: Reads) -> None:
        self._calls, self._source, self._crashed = calls, calls.source, crashed
        self._exact, self._lost, self._reads = exact, lost, reads
        self._held: Fed = []
        """What a call that looks has been given, and has not crashed on: it comes again when it has ended."""
        self._repeated: set[int] = set()
        self._before = self._owed = 0
        """How many outputs the next call gives that are no news: those of its context, and those given already of what it is given again."""
        self._answered = 0
        """How many records the call that crashed had read when it gave something last."""
        self._looks = 0
        """Crashes at which the function had given something before."""
        self._any = self._fine = self._lags = False
        """Whether there was a crash, whether a record has come through, and whether the function reads ahead of what it gives."""

    def outputs(self) -> Iterator[Any]:
        """What the function gives of records that it does not crash on."""
        try:
            while True:
                looking, source, due = bool(self._held), self._source, sys.maxsize - 1
                passing = self._before if looking else max(self._before, self._owed)
                source.keeping = looking
                coming, given = source.coming, None
                try:
                    source.begin()
                    outputs = iter(self._calls.function(self._calls.split, source.records()))
                    given = Tally(islice(outputs, passing, None) if passing else outputs)
                    if looking:
                        next(given.records, None)
                    else:
                        left, pulled, out = source.left, source.pulled, False
                        self._reads.begin(lambda: (*coming, sys.maxsize - due, source.read_so_far if out else None))  # noqa: B023 (it is asked while these are what they are)
                        try:
                            for output in given.records:
                                out = True
                                try:
                                    yield output
                                finally:  # whoever had it may have read on through it, as through one of groupby's groups
                                    out = False
                                    now = sys.maxsize - source.let_go - len(pulled) if left is None else left()
                                    if now != due:
                                        self._reads.jump(sys.maxsize - due, sys.maxsize - now)
                                    due = now - 1
                        finally:
                            self._reads.end()
                    source.land()
                    if not looking:
                        self._reads.over(lambda: source.read_so_far)  # noqa: B023 (it is the same for all calls)
                        return
                    fed, self._held = [*self._held, *source.read()], []
                except crashes() as raised:
                    source.land()
                    self._answered = sys.maxsize - 1 - due
                    then = _Then.FAIL if source.failed else self._after(raised, looking, passing, given)
                    if then is _Then.FAIL:
                        raise
                    if then is _Then.END:
                        return
                    fed = []
                if not source.go_on(fed):
                    source.go_on(self._held)
                    self._held = []
        except NotMadeAgain:  # what it was called on is not known any more
            self._lost()

    # ---- after a crash ----------------------------------------------------------------------------------------

    def _after(self, raised: BaseException, looking: bool, passing: int, given: Tally | None) -> _Then:
        """Note the culprits, and hold what is left of the records that the call had read since it gave something."""
        source = self._source
        source.held.confirm()
        # What is tried where workers end, is raised in another process.
        problem = as_elsewhere(raised) if self._calls.apart else raised
        if not source.pulled:
            if self._exact or not self._any:
                self._crashed(None, NO_RECORD, problem)
            return _Then.END
        whatever = source.ended and self._calls.whatever(problem)
        if whatever and not looking:
            self._crashed(None, NO_RECORD, problem)
            return _Then.END
        alone = self._looked_ahead(problem, passing, 0 if looking or given is None else given.count())
        if source.let_go > self._answered:
            if self._exact:
                return _Then.FAIL
            self._lost()
        self._fine = self._fine or looking or self._answered > 0
        self._held += source.read() if whatever else self._without(problem, alone)
        context = [*source.context, *(record for position, record in self._held if position in self._repeated)]
        if context or not self._any:
            self._before = self._calls.gives_first(map(source.held.given, context))
        self._any = True
        return _Then.ON

    def _looked_ahead(self, problem: BaseException, passing: int, made: int) -> BaseException | None:
        """See whether the function had read on before it gave something: then all that it has read is suspect, and what it made of it is given already.

        Gives what it raises on the last record alone, where that was looked at.
        """
        suspected = self._answered > self._source.let_go
        # A function that answers what it reads is not called on all of it again at each of thousands of crashes.
        often = suspected and not self._exact and not self._lags and self._looks >= _LOOKS and self._looks % _EACH != 0
        alone = self._calls.alone(problem) if often else None
        ahead = _AHEAD if alone is None else min(_AHEAD, max(_LEAST_AHEAD, self._answered // _PART))
        self._looks += suspected
        if suspected and self._calls.reads_ahead(self._answered - self._source.let_go, problem, ahead):
            self._answered, self._owed, self._lags = 0, passing + made, True
        elif made:
            self._owed = 0
        return alone

    def _without(self, problem: BaseException, alone: BaseException | None) -> Fed:
        """The records that the function had read since it gave something, without its culprits, which are noted.

        What comes first is what the culprits met, as far as known, while no record behind it is fine. Those that a culprit met, of
        which the function has given something already, come again, for it may have kept them: they are repeated.
        """
        source = self._source
        pulled = source.pulled.listed()
        suspects = range(min(max(self._answered - source.let_go, 0), len(pulled) - 1), len(pulled))
        found = sorted(_found(self._calls, pulled, suspects, problem, alone), key=lambda each: each.place)
        if not source.held.sees:
            source.held.confirm()
        instead: dict[int, list[Any]] = {}
        left = [place for place in suspects if not (source.context and source.position(place) == source.first_at)]
        first = NO_RECORD if self._fine or not source.context or len(left) > len(found) else source.held.given(source.context[0])
        for place, own, together in found:
            position, record = source.position(place), source.held.given(pulled[place])
            if not together:
                self._crashed(None, NO_RECORD, own)
                return []
            if together == 1:
                again = position in source.replaced
                instead[place] = [source.held(new) for _, new in self._crashed(position, record, own, first, again=again, replaces=True)]
                source.replaced.add(position)
            else:
                met = [source.held.given(each) for each in pulled[place + 1 - together:place]]
                self._crashed(position, record, own, met[0] if len(met) == 1 else met)
                instead[place] = []
                if together <= _REPEATED:
                    left = [*range(place + 1 - together, min(place, suspects.start)), *left]
                    self._repeated.update(source.position(each) for each in left if each < suspects.start)
        return [(source.position(place), record) for place in left for record in instead.get(place, [pulled[place]])]


def _found(calls: Calls, pulled: Sequence[Any], suspects: range, problem: BaseException, alone: BaseException | None) -> list[Found]:
    """``alone`` is what the function raises on the last one, if that is known."""
    source = calls.source
    crash = partial(calls.raised, source.context, pulled)
    *others, last = suspects
    own = crash([last]) if alone is None else alone
    if not same_class(own, problem) and calls.needs_first(last, problem):
        source.context.append(source.first)
        others = [place for place in others if source.position(place) != source.first_at]
        own = crash([last])
    if own is not None and is_same(own, problem):
        if own is problem:  # one object, which tells of the record that it was raised on last
            own = as_elsewhere(crash([last]) or own)
        earlier = calls.raised_of(pulled, others)
        return [Found(last, own, 1), *([] if earlier is None else culprits(crash, others, earlier))]
    found = list(culprits(crash, suspects, problem))
    return found if found[-1].together or len(suspects) == len(pulled) else list(culprits(crash, range(len(pulled)), problem))
