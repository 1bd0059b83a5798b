"""Policies: what a task does with a record that a function crashes on, instead of failing (BigDebug 4.3 and 5)."""

from __future__ import annotations

import base64
import pickle
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bigdebug.agents.copies import copied_or_same
from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.cell import elsewhere
from bigdebug.agents.guards.crash import Place, Raised, StandIn, raised_as
from bigdebug.agents.guards.expected import Expected, Known
from bigdebug.agents.guards.flight import Flight
from bigdebug.agents.guards.guard import Guard
from bigdebug.agents.guards.inflight import NO_RECORD, Instead, crashes_of_calls
from bigdebug.agents.guards.noted import Noted
from bigdebug.agents.letters import letter_of, post

if TYPE_CHECKING:
    from bigdebug.agents.stage import StageFunction


class Choice(NamedTuple):
    """What becomes of crashes: the pickled function ``repair`` gives a record for one that crashed; without it, they are left out if
    ``skips``, else the job fails. Where the operator's own function crashes, the pickled function ``fix`` is called, if there is one.
    """

    skips: bool = False
    repair: bytes | None = None
    fix: bytes | None = None

    @property
    def goes_on(self) -> bool:
        """Whether the job goes on from a crash."""
        return self.skips or self.repair is not None or self.fix is not None


FAILS = Choice()


class Chosen(NamedTuple):
    """A crash of the run that is resumed, by the pickle of its record, or the text if it could not be pickled.

    With ``raised`` that is what the function is taken to raise, without being called. ``instead`` has the pickle of the record to go on with,
    None to leave the record out; where there is none at all, what happens is what is said of the operator.
    """

    record: bytes | None
    text: str | None
    raised: Raised | None = None
    instead: tuple[bytes | None, ...] = ()


@dataclass(frozen=True)
class Policy:
    """What becomes of crashes: of some that are ``known`` what was chosen for each, of others what is said of their operators in ``by``, of the rest ``otherwise``.

    A task keeps ``most`` crashes in full, pickled by ``dumps``, and writes all of them into the directory ``letters``, if there is one.
    """

    otherwise: Choice = FAILS
    known: Mapping[Place, Chosen] = field(default_factory=dict)
    by: Mapping[int, Choice] = field(default_factory=dict)
    most: int = 1_000
    letters: str | None = None
    dumps: Dumps = pickle.dumps
    moved: bool = False
    """Whether other records had come in the place of some in the run that is resumed, and may not come now."""

    def goes_on(self, operator: int) -> bool:
        """Whether the job goes on from crashes of an operator that nothing was chosen for."""
        return self.choice(operator).goes_on

    def choice(self, operator: int) -> Choice:
        """What becomes of crashes of an operator that nothing was chosen for."""
        return self.by.get(operator, self.otherwise)

    def to_the_end(self) -> Policy:
        """The same with which a job comes to its end, for questions about it: what would fail it is left out, and nobody is written a letter once more."""
        by = {operator: choice._replace(skips=True) for operator, choice in self.by.items()}
        return replace(self, otherwise=self.otherwise._replace(skips=True), by=by, letters=None)

    def renamed(self, names: Mapping[int, int]) -> Policy:
        """The same with other ids of operators."""
        known = {place._replace(operator=names.get(place.operator, place.operator)): each for place, each in self.known.items()}
        return replace(self, known=known, by={names.get(operator, operator): choice for operator, choice in self.by.items()})

    def moves(self, operator: int, partition: int) -> bool:
        """Whether records of an operator have other positions than they had in the run that is resumed.

        So it is where records come in the place of others, or did then, and behind functions that go on now where they had begun anew.
        """
        return self.moved or self._replaces or partition in self._moved or self._spared.get(partition, operator) < operator

    @property
    def puts_others(self) -> bool:
        """Whether it has records come in the place of some, in any partition."""
        return self._replaces or bool(self._moved)

    @cached_property
    def _replaces(self) -> bool:
        return any(choice.repair or choice.fix for choice in (self.otherwise, *self.by.values()))

    @cached_property
    def _moved(self) -> set[int]:
        """Partitions with records that come in the place of others."""
        return {place.partition for place, each in self.known.items() if each.instead not in ((), (None,))}

    @cached_property
    def _spared(self) -> dict[int, int]:
        """Of partitions, the first operator that is not called on all of its records."""
        places = sorted((place for place, each in self.known.items() if each.raised is not None), reverse=True)
        return {place.partition: place.operator for place in places}

    def packed(self) -> str:
        """As text, for a local property of a job."""
        known: dict[int, list[Any]] = {}
        for place, each in self.known.items():
            known.setdefault(place.partition, []).append((tuple(place), tuple(each)))
        parts = {partition: zlib.compress(pickle.dumps(own)) for partition, own in known.items()}
        by = {operator: tuple(choice) for operator, choice in self.by.items()}
        return base64.b64encode(pickle.dumps((tuple(self.otherwise), parts, by, self.most, self.letters, self.dumps, self.moved))).decode()

    @classmethod
    def unpacked(cls, packed: str, partition: int | None = None) -> Policy:
        """The policy; with what is known of a ``partition`` alone, if one is given."""
        otherwise, parts, by, most, letters, dumps, moved = pickle.loads(base64.b64decode(packed))
        wanted = parts.values() if partition is None else [parts[partition]] if partition in parts else []
        known = {Place(*place): Chosen(*each) for own in wanted for place, each in pickle.loads(zlib.decompress(own))}
        return cls(Choice(*otherwise), known, {operator: Choice(*choice) for operator, choice in by.items()}, most, letters, dumps, moved)


class UnrepairedError(StandIn):
    """Stands for what a function raised, where the repair of the record raised something itself."""

    def __init__(self, problem: BaseException, worse: BaseException) -> None:
        own, other = raised_as(problem), raised_as(worse)
        where = "" if other.line is None else f", {other.line.file}:{other.line.line}"
        self.raised = own._replace(message=f"{own.message} (its repair raised {other.exception}: {other.message}{where})")
        super().__init__(self.raised.message)


class Deciding(Guard):
    """A guard that does with crashes what a policy says, and lets those pass that it says nothing of."""

    decides = True
    replaces = True

    def __init__(
        self, policy: Policy, stage: StageFunction, partition: int, attempt: int, flight: Flight | None = None, first: Callable[[Noted], None] | None = None,
    ) -> None:
        super().__init__(policy.dumps, policy.most, flight, first)
        self._policy = policy
        self._stage = stage
        self._partition = partition
        self._seen: Counter[tuple[int, int | None]] = Counter()
        self._letters = None if policy.letters is None else Path(policy.letters) / f"{stage.stage}-{partition}-{attempt}.jsonl"
        self._functions: dict[bytes, Callable[[Any], Any]] = {}
        self._expected: dict[int, Expected] = {}
        self.met: list[Place] = []
        """The crashes that something was chosen for, and that came."""
        self.unposted: str | None = None
        """Why letters could not be written, if they could not: the job goes on without them."""

    def expected(self, operator: int) -> Expected:
        if operator not in self._expected:
            here = operator, self._partition, self._stage.side(operator)
            own = [(place, each) for place, each in self._policy.known.items() if (place.operator, place.partition, place.side) == here]
            known = [Known(place, each.record, each.text, None if each.raised is None else elsewhere(each.raised)) for place, each in own]
            self._expected[operator] = Expected(known, self.dumps, self._policy.moves(operator, self._partition))
        return self._expected[operator]

    def _crashed(
        self, operator: int, segment: int, position: int | None, given: Any, problem: BaseException, met: Any = NO_RECORD,
        again: bool = False, replaces: bool = False,
    ) -> Instead:
        nth = self._seen[operator, position]
        self._seen[operator, position] += not again
        if position is None or given is NO_RECORD:
            raise problem
        instead: Instead = ()
        if not again:
            place = self.expected(operator).take(position, nth, given)
            chosen = () if place is None else self._policy.known[place].instead
            self.met += [place] if place is not None and chosen else []
            problem, instead = self._decided(operator, chosen, given, problem, replaces)
        if instead and not replaces:
            raise problem
        self._keep(operator, segment, position, given, problem, met, again)
        self._tell(operator, position, given, problem)
        return instead

    def _decided(self, operator: int, chosen: tuple[bytes | None, ...], given: Any, problem: BaseException, replaces: bool) -> tuple[BaseException, Instead]:
        """What is noted of a crash, and what comes instead; raises it if the job is not to go on."""
        if chosen:
            return problem, () if chosen[0] is None else ((None, pickle.loads(chosen[0])),)
        choice = self._policy.choice(operator)
        if choice.fix is not None:
            return problem, ((self._function(choice.fix), given),)
        if choice.repair is not None and replaces:
            try:
                return problem, ((None, self._function(choice.repair)(copied_or_same(given))),)  # it may change what it is given, and give that
            except crashes_of_calls() as worse:
                return UnrepairedError(problem, worse), ()
        if not choice.skips:
            raise problem
        return problem, ()

    def _function(self, pickled: bytes) -> Callable[[Any], Any]:
        if pickled not in self._functions:
            self._functions[pickled] = pickle.loads(pickled)
        return self._functions[pickled]

    def _tell(self, operator: int, position: int | None, given: Any, problem: BaseException) -> None:
        if self._letters is None:
            return
        try:
            post(self._letters, [letter_of(operator, self._partition, position, given, problem)])
        except OSError as trouble:
            self.unposted = f"{type(trouble).__name__}: {trouble}"

