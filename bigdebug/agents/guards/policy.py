"""Policies: what a task does with a record that a function crashes on, instead of failing (BigDebug 4.3 and 5)."""

from __future__ import annotations

import base64
import pickle
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bigdebug.agents.guards.cell import elsewhere
from bigdebug.agents.guards.crash import Raised
from bigdebug.agents.guards.guard import Guard
from bigdebug.agents.guards.inflight import NO_RECORD, Instead, crashes
from bigdebug.agents.guards.leaving import Leaving
from bigdebug.agents.letters import letter_of, post


class Place(NamedTuple):
    """Which crash of a run: the ``nth`` of an operator in a partition while the record at a position was on its way."""

    operator: int
    partition: int
    position: int | None
    nth: int


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


@dataclass(frozen=True)
class Policy:
    """What becomes of crashes. ``chosen`` has, for some, the pickle of the record to go on with, or None to leave the record out.

    Of the others, those of operators in ``by`` become what is said there, the rest what ``otherwise`` says. A task keeps ``most`` crashes
    in full, and writes all of them into the directory ``letters``, if there is one. ``left`` has, for some that functions are not given
    again, the pickle of the record and what was raised of it.
    """

    otherwise: Choice = FAILS
    chosen: Mapping[Place, bytes | None] = field(default_factory=dict)
    by: Mapping[int, Choice] = field(default_factory=dict)
    most: int = 1_000
    letters: str | None = None
    left: Mapping[Place, tuple[bytes, Raised]] = field(default_factory=dict)

    def goes_on(self, place: Place) -> bool:
        """Whether the job goes on from what crashes in a place."""
        return place in self.chosen or self._choice(place).goes_on

    def leaves_out(self, place: Place) -> bool:
        """Whether it goes on with nothing instead."""
        if place in self.chosen:
            return self.chosen[place] is None
        choice = self._choice(place)
        return choice.skips and choice.repair is None and choice.fix is None

    def _choice(self, place: Place) -> Choice:
        return self.by.get(place.operator, self.otherwise)

    def packed(self) -> str:
        """As text, for a local property of a job."""
        chosen = {tuple(place): record for place, record in self.chosen.items()}
        by = {operator: tuple(choice) for operator, choice in self.by.items()}
        return base64.b64encode(zlib.compress(pickle.dumps((tuple(self.otherwise), chosen, by, self.most, self.letters, dict(self.left))))).decode()

    @classmethod
    def unpacked(cls, packed: str) -> Policy:
        otherwise, chosen, by, most, letters, left = pickle.loads(zlib.decompress(base64.b64decode(packed)))
        places = {Place(*place): record for place, record in chosen.items()}
        return cls(Choice(*otherwise), places, {operator: Choice(*choice) for operator, choice in by.items()}, most, letters, left)


class Deciding(Guard):
    """A guard that does with crashes what a policy says, and lets those pass that it says nothing of."""

    decides = True

    def __init__(self, policy: Policy, stage: str, partition: int, attempt: int) -> None:
        super().__init__(pickle.dumps, policy.most)
        self._policy = policy
        self._partition = partition
        self._seen: Counter[tuple[int, int | None]] = Counter()
        self._letters = None if policy.letters is None else Path(policy.letters) / f"{stage}-{partition}-{attempt}.jsonl"
        self._functions: dict[bytes, Callable[[Any], Any]] = {}
        self.unposted: str | None = None
        """Why letters could not be written, if they could not: the job goes on without them."""

    def leaving(self, operator: int) -> Leaving:
        own = [(place, told) for place, told in self._policy.left.items() if (place.operator, place.partition) == (operator, self._partition)]
        return Leaving(((place.position, record, elsewhere(raised)) for place, (record, raised) in own if place.position is not None), self.dumps)

    def _crashed(
        self, operator: int, segment: int, position: int | None, given: Any, problem: BaseException, met: Any = NO_RECORD,
        again: bool = False, replaces: bool = False,
    ) -> Instead:
        known = Place(operator, self._partition, position, self._seen[operator, position])
        self._seen[operator, position] += not again
        chosen = self._policy.chosen.get(known, NO_RECORD)
        choice = self._policy.by.get(operator, self._policy.otherwise)
        if position is None or given is NO_RECORD:
            raise problem
        instead: Instead = ()
        if again:
            pass
        elif chosen is not NO_RECORD and chosen is not None:
            instead = ((None, pickle.loads(chosen)),)
        elif chosen is NO_RECORD and choice.fix is not None:
            instead = ((self._function(choice.fix), given),)
        elif chosen is NO_RECORD and choice.repair is not None and replaces:
            try:
                instead = ((None, self._function(choice.repair)(given)),)
            except crashes() as worse:
                problem, again = worse, True
        elif chosen is NO_RECORD and not choice.skips:
            raise problem
        if instead and not replaces:
            raise problem
        super()._crashed(operator, segment, position, given, problem, met, again)
        self._tell(operator, position, given, problem)
        return instead

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

