"""Guarded functions over the iterator of a partition: they go on where the user's crashes, without the records that it crashes on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from threading import get_ident
from typing import Any

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.cell import Cell, as_elsewhere
from bigdebug.agents.guards.code import crash_of
from bigdebug.agents.guards.crash import raised_as
from bigdebug.agents.guards.expected import NOTHING, Expected
from bigdebug.agents.guards.flight import Flight
from bigdebug.agents.guards.halving import Found, culprits
from bigdebug.agents.guards.held import alike
from bigdebug.agents.guards.inflight import NO_RECORD, InFlight, Note, crashes
from bigdebug.agents.guards.origins import Origins
from bigdebug.agents.guards.signal import Signal


class _AskedForMore(Signal):
    """A function reads on."""


def _asked_for_more(context: Iterable[Any], reader: int) -> Iterator[Any]:
    """The context, and then a stop. A function that reads in another thread than ``reader`` (``pipe``) would wait for that one for ever: there
    the records end.
    """
    yield from context
    if get_ident() == reader:
        raise _AskedForMore


_AHEAD = 4_096
"""Records that a function may have read before it gave what it made of those before: as many as are looked at for that, at a crash."""

_LOOKS, _EACH, _LEAST_AHEAD, _PART = 4, 64, 16, 40
"""If at so many crashes it had not, then where it crashes on a record alone, so few are looked at, or that part of what was read in between;
but at one in so many all of these."""

_ASKED = 20
"""Records on each of which a function is called, to find out whether it crashes on any."""

_REPEATED = 100
"""Records that a function is given again, of those that one met on which it crashed."""

Fed = list[tuple[int, Any]]
"""Records that a call is given again, with their positions."""


def _alike(one: BaseException, other: BaseException) -> bool:
    """Whether two exceptions say the same, of the same line."""
    return raised_as(one)[:3] == raised_as(other)[:3]


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
    origins: Origins | None = None
    """Those of the records, if these may be made again."""

    def __call__(self, split: int, records: Iterable[Any]) -> Iterator[Any]:
        source = InFlight(records, self.dumps, self.flight, self.origins)
        if self.expected.spares:
            source.spare(self.expected, self.crashed)
        pulled = source.pulled
        repeated: set[int] = set()
        held: Fed = []
        before = owed = looks = 0
        crashed = fine = lags = False
        while True:
            looking, answered = bool(held), 0
            made = passing = before if looking else max(before, owed)
            source.keeping = looking
            try:
                source.begin()
                outputs = iter(self.function(split, source.records()))
                for made, output in enumerate(islice(outputs, passing, None) if passing else outputs, passing + 1):  # noqa: B007
                    if looking:
                        break
                    answered = source.let_go + len(pulled)
                    yield output
                source.land()
                if not looking:
                    return
                if source.let_go:
                    self.lost()
                fed, held = [*held, *source.read()], []
            except crashes() as raised:
                source.land()
                if source.failed:
                    raise
                # What is tried where workers end, is raised in another process.
                problem = raised if self.flight is None else as_elsewhere(raised)
                if source.is_doubtful() and source.let_go:
                    self.lost()
                    self.crashed(source.position(-1), NO_RECORD, problem)
                    crashed, fed = True, []
                    before = self._gives_first(split, map(source.held.given, source.context))
                    if not source.go_on(fed):
                        source.go_on(held)
                        held = []
                    continue
                if not pulled:
                    if self.exact or not crashed:  # it crashes whatever it is given
                        self.crashed(None, NO_RECORD, problem)
                    return
                whatever = source.ended and self._whatever(split, source, problem)
                if whatever and not looking:
                    self.crashed(None, NO_RECORD, problem)
                    return
                suspected = answered > source.let_go
                # A function that answers what it reads is not called on all of it again at each of thousands of crashes.
                often = suspected and not self.exact and not lags and looks >= _LOOKS and looks % _EACH != 0
                alone = self._alone(split, source, problem) if often else None
                brief = alone is not None
                ahead = min(_AHEAD, max(_LEAST_AHEAD, answered // _PART)) if brief else _AHEAD
                looks += suspected
                if suspected and self._reads_ahead(split, source, answered - source.let_go, type(problem), ahead):
                    answered, owed, lags = 0, made, True
                elif made > passing:
                    owed = 0
                if source.let_go > answered:
                    if self.exact:
                        raise
                    self.lost()
                fine = fine or looking or answered > 0
                held += source.read() if whatever else self._without(split, source, answered, problem, repeated, fine, alone)
                context = [*source.context, *(record for position, record in held if position in repeated)]
                before = self._gives_first(split, map(source.held.given, context)) if context or not crashed else before
                crashed, fed = True, []
            if not source.go_on(fed):
                source.go_on(held)
                held = []

    def _whatever(self, split: int, source: InFlight, problem: BaseException) -> bool:
        """Whether the function raises the same when its records have ended, whatever they were: on none, and on each of some alone."""
        some = [[], *([place] for place in range(min(_ASKED, len(source.pulled)))), [len(source.pulled) - 1]]
        pulled = list(source.pulled)
        found = (self._raised(split, source, source.context, pulled, places) for places in some)
        return all(own is not None and _alike(own, problem) for own in found)

    def _alone(self, split: int, source: InFlight, problem: BaseException) -> BaseException | None:
        """What the function raises on the record alone that it had read last, if that is what it raised."""
        own = self._raised(split, source, source.context, source.pulled, [-1])
        return own if type(own) is type(problem) else None

    def _reads_ahead(self, split: int, source: InFlight, answered: int, kind: type[BaseException], ahead: int) -> bool:
        """Whether the function also crashes on some of the last records that it had read before it gave something: then it had not come to them.

        All that it has read in this call is suspect then, and it is called on that again; what it has given is not given twice.
        """
        own = self._raised_of(split, source, list(source.pulled), range(max(0, answered - ahead), answered))
        # What begins in the middle may crash of that.
        return own is not None and (answered <= ahead or type(own) is kind)

    def _gives_first(self, split: int, context: Iterable[Any]) -> int:
        """How much the function gives before it asks for more than the context."""
        given = 0
        try:
            for _ in self.function(split, _asked_for_more(context, get_ident())):
                given += 1
        except _AskedForMore:
            return given
        except crashes():  # it has been given too little, in a thread of its own
            pass
        return 0

    def _without(
        self, split: int, source: InFlight, answered: int, problem: BaseException, repeated: set[int], fine: bool,
        alone: BaseException | None,
    ) -> Fed:
        """The records that the function had read since it gave something, without its culprits, which are noted.

        What comes first is what the culprits met, as far as known, while no record behind it is ``fine``. Those that a culprit met, of
        which the function has given something already, come again, for it may have kept them: they are ``repeated``.
        """
        pulled = list(source.pulled)
        suspects = range(min(max(answered - source.let_go, 0), len(pulled) - 1), len(pulled))
        found = sorted(self._found(split, source, pulled, suspects, problem, alone), key=lambda each: each.place)
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

    def _found(
        self, split: int, source: InFlight, pulled: list[Any], suspects: range, problem: BaseException, alone: BaseException | None,
    ) -> list[Found]:
        """``alone`` is what the function raises on the last one, if that is known."""
        crash = partial(self._raised, split, source, source.context, pulled)
        *others, last = suspects
        own = crash([last]) if alone is None else alone
        if type(own) is not type(problem) and self._needs_first(split, source, last, type(problem)):
            source.context.append(source.first)
            others = [place for place in others if source.position(place) != source.first_at]
            own = crash([last])
        if own is not None and type(own) is type(problem):
            earlier = self._raised_of(split, source, pulled, others)
            return [Found(last, own, 1), *([] if earlier is None else culprits(crash, others, earlier))]
        found = list(culprits(crash, suspects, problem))
        return found if found[-1].together or len(suspects) == len(pulled) else list(culprits(crash, range(len(pulled)), problem))

    def _needs_first(self, split: int, source: InFlight, place: int, kind: type[BaseException]) -> bool:
        """Whether the function crashes on a record if it has read the first one before, and not on that."""
        if source.context or source.first is NO_RECORD or alike(source.first, source.pulled[place]):
            return False
        both = [source.first, source.pulled[place]]
        return self._raised(split, source, [], both, [0]) is None and type(self._raised(split, source, [], both, [0, 1])) is kind

    def _raised_of(self, split: int, source: InFlight, pulled: Sequence[Any], places: Sequence[int]) -> BaseException | None:
        """As ``_raised``, but for what the function raises on no record, too."""
        own = self._raised(split, source, source.context, pulled, places) if places else None
        nothing = None if own is None else self._raised(split, source, source.context, pulled, [])
        return None if own is None or (nothing is not None and _alike(nothing, own)) else own

    def _raised(
        self, split: int, source: InFlight, context: Sequence[Any], pulled: Sequence[Any], places: Sequence[int],
    ) -> BaseException | None:
        """What the function raises on some records; where workers end in it, in a process of its own."""
        def call() -> None:
            deque(self.function(split, map(source.held.given, [*context, *(pulled[place] for place in places)])), maxlen=0)

        cell = None if self.flight is None else Cell(lambda: call, self.dumps)
        try:
            return crash_of(call if cell is None else partial(cell.call, "__call__"))
        finally:
            if cell is not None:
                cell.close()
