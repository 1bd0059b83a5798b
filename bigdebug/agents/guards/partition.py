"""Guarded functions over the iterator of a partition: they go on where the user's crashes, without the records that it crashes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.calls import Calls
from bigdebug.agents.guards.cell import as_elsewhere
from bigdebug.agents.guards.expected import NOTHING, Expected
from bigdebug.agents.guards.flight import Flight
from bigdebug.agents.guards.halving import Found, culprits
from bigdebug.agents.guards.inflight import NO_RECORD, InFlight, Note, crashes
from bigdebug.agents.guards.inputs import Inputs, NotMadeAgain
from bigdebug.agents.notes import Notes, smallest
from bigdebug.agents.pairing import Reads
from bigdebug.agents.segments import Leaked, Tally

_AHEAD = 4_096
"""Records that a function may have read before it gave what it made of those before: as many as are looked at for that, at a crash."""

_LOOKS, _EACH, _LEAST_AHEAD, _PART = 4, 64, 16, 40
"""If at so many crashes it had not, then where it crashes on a record alone, so few are looked at, or that part of what was read in between;
but at one in so many all of these."""

_REPEATED = 100
"""Records that a function is given again, of those that one met on which it crashed."""

Fed = list[tuple[int, Any]]
"""Records that a call is given again, with their positions."""


@dataclass(frozen=True)
class GuardedPartition:
    """A function over an iterator. Where it crashes, the culprits are among the records that it had read since it gave something.

    The one in flight is, if the function crashes on it alone, or with the first record before it, which may be a header. The others are
    that it crashes on alone, found by halving; if none is, the last of the fewest in a row that it crashes on.

    It is called anew for the others of these records and those behind. So that a function which reads many before it gives something is
    not called on them for each culprit, calls in between only look for more of these, as far as to the first thing that they give.
    """

    function: Callable[[int, Iterable[Any]], Iterable[Any]]
    crashed: Note
    dumps: Dumps
    flight: Flight | None = None
    exact: bool = False
    """Whether what it gives is what the job is to give: then it fails rather than to leave out records that it has let go of."""
    expected: Expected = NOTHING
    lost: Callable[[], None] = lambda: None
    """Called where there may be culprits among records that were let go of."""
    inputs: Inputs | None = None
    """Those of the records, if these may be made again."""

    def __call__(self, split: int, records: Iterable[Any], reads: Reads | None = None) -> Iterator[Any]:
        """What the function gives of records. ``reads`` is told how many of these had been read when it gave something."""
        source = InFlight(records, self.dumps, self.flight, self.inputs)
        if self.expected.spares:
            source.spare(self.expected, self.crashed)
        calls = Calls(self.function, split, source, self.dumps, self.flight is not None)
        pulled = source.pulled
        reads = Reads() if reads is None else reads
        repeated: set[int] = set()
        held: Fed = []
        before = owed = looks = 0
        crashed = fine = lags = False
        try:
            while True:
                looking, answered = bool(held), 0
                passing = before if looking else max(before, owed)
                source.keeping = looking
                given: Tally | None = None
                coming, expected = source.coming, 1
                try:
                    source.begin()
                    outputs = iter(self.function(split, source.records()))
                    given = Tally(islice(outputs, passing, None) if passing else outputs)
                    if looking:
                        next(given.records, None)
                    else:
                        reads.begin(lambda: (*coming, expected))  # noqa: B023 (it is asked while these are what they are)
                        try:
                            for output in given.records:
                                answered = source.let_go + len(pulled)
                                if answered != expected:
                                    reads.jump(expected, answered)
                                expected = answered + 1
                                yield output
                        finally:
                            reads.end()
                    source.land()
                    if not looking:
                        return
                    fed, held = [*held, *source.read()], []
                except crashes() as raised:
                    source.land()
                    if source.failed:
                        raise
                    source.held.confirm()
                    # What is tried where workers end, is raised in another process.
                    problem = raised if self.flight is None else as_elsewhere(raised)
                    if not pulled:
                        if self.exact or not crashed:  # it crashes whatever it is given
                            self.crashed(None, NO_RECORD, problem)
                        return
                    whatever = source.ended and calls.whatever(problem)
                    if whatever and not looking:
                        self.crashed(None, NO_RECORD, problem)
                        return
                    suspected = answered > source.let_go
                    # A function that answers what it reads is not called on all of it again at each of thousands of crashes.
                    often = suspected and not self.exact and not lags and looks >= _LOOKS and looks % _EACH != 0
                    alone = calls.alone(problem) if often else None
                    brief = alone is not None
                    ahead = min(_AHEAD, max(_LEAST_AHEAD, answered // _PART)) if brief else _AHEAD
                    looks += suspected
                    made = 0 if looking or given is None else given.count()
                    if suspected and calls.reads_ahead(answered - source.let_go, type(problem), ahead):
                        answered, owed, lags = 0, passing + made, True
                    elif made:
                        owed = 0
                    if source.let_go > answered:
                        if self.exact:
                            raise
                        self.lost()
                    fine = fine or looking or answered > 0
                    held += source.read() if whatever else self._without(calls, answered, problem, repeated, fine, alone)
                    context = [*source.context, *(record for position, record in held if position in repeated)]
                    before = calls.gives_first(map(source.held.given, context)) if context or not crashed else before
                    crashed, fed = True, []
                if not source.go_on(fed):
                    source.go_on(held)
                    held = []
        except NotMadeAgain:  # what it was called on is not known any more
            self.lost()

    def _without(
        self, calls: Calls, answered: int, problem: BaseException, repeated: set[int], fine: bool, alone: BaseException | None,
    ) -> Fed:
        """The records that the function had read since it gave something, without its culprits, which are noted.

        What comes first is what the culprits met, as far as known, while no record behind it is ``fine``. Those that a culprit met, of
        which the function has given something already, come again, for it may have kept them: they are ``repeated``.
        """
        source = calls.source
        pulled = list(source.pulled)
        suspects = range(min(max(answered - source.let_go, 0), len(pulled) - 1), len(pulled))
        found = sorted(_found(calls, pulled, suspects, problem, alone), key=lambda each: each.place)
        instead: dict[int, list[Any]] = {}
        left = [place for place in suspects if not (source.context and source.position(place) == source.first_at)]
        first = NO_RECORD if fine or not source.context or len(left) > len(found) else source.held.given(source.context[0])
        for place, own, together in found:
            position, record = source.position(place), source.held.given(pulled[place])
            if not together:
                self.crashed(None, NO_RECORD, own)
                return []
            if together == 1:
                again = position in source.replaced
                instead[place] = [source.held(new) for _, new in self.crashed(position, record, own, first, again=again, replaces=True)]
                source.replaced.add(position)
            else:
                met = [source.held.given(each) for each in pulled[place + 1 - together:place]]
                self.crashed(position, record, own, met[0] if len(met) == 1 else met)
                instead[place] = []
                if together <= _REPEATED:
                    left = [*range(place + 1 - together, min(place, suspects.start)), *left]
                    repeated.update(source.position(each) for each in left if each < suspects.start)
        return [(source.position(place), record) for place in left for record in instead.get(place, [pulled[place]])]


@dataclass(frozen=True)
class GuardedPaired:
    """As ``Paired``, whose function is guarded."""

    function: GuardedPartition

    def run(self, split: int, records: Iterable[Any], notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        pulled, reads = Tally(records), Reads()
        given = Tally(self.function(split, pulled.records, reads))
        notes.columns[f"{name}.reads"] = lambda: smallest(reads.array())
        notes.levels[-1] = pulled.count
        notes.levels.append(given.count)
        return given.records


def _found(calls: Calls, pulled: list[Any], suspects: range, problem: BaseException, alone: BaseException | None) -> list[Found]:
    """``alone`` is what the function raises on the last one, if that is known."""
    source = calls.source
    crash = partial(calls.raised, source.context, pulled)
    *others, last = suspects
    own = crash([last]) if alone is None else alone
    if type(own) is not type(problem) and calls.needs_first(last, type(problem)):
        source.context.append(source.first)
        others = [place for place in others if source.position(place) != source.first_at]
        own = crash([last])
    if own is not None and type(own) is type(problem):
        earlier = calls.raised_of(pulled, others)
        return [Found(last, own, 1), *([] if earlier is None else culprits(crash, others, earlier))]
    found = list(culprits(crash, suspects, problem))
    return found if found[-1].together or len(suspects) == len(pulled) else list(culprits(crash, range(len(pulled)), problem))
