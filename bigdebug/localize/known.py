"""Known: what a search knows of the faults behind wrong outputs, as it goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from bigdebug.localize.causes import Cause, State
from bigdebug.localize.subject import Ids, Subject
from bigdebug.localize.suspicion import Suspicion


@dataclass
class Fault:
    """Candidates without which the outputs that it ``explains`` are right; each of ``instead`` would do as well for all of these, of ``partly`` for some, or is what
    some would not be there without. Without any of ``vital``, the first output is not there; ``tied`` may be what is wrong, and the repair what they are joined with. If it is ``settled``, nothing else is the cause of one of the outputs: then what
    ``partly`` has may be a fault besides, and is not needed to explain anything.

    ``shares`` are outputs that are right only without other faults as well, and ``lost`` of how many candidates those further outputs were made that are not there without it. ``cause`` is that of the first output, with its candidates called by their places; ``alone`` are wrong by themselves there.
    """

    repair: Ids
    explains: list[int]
    cause: Cause
    alone: Ids = frozenset()
    instead: list[Ids] = field(default_factory=list)
    partly: list[Ids] = field(default_factory=list)
    vital: Ids = frozenset()
    tied: Ids = frozenset()
    settled: bool = False
    lost: list[int] = field(default_factory=list)
    shares: list[int] = field(default_factory=list)

    @property
    def gone(self) -> bool:
        """Whether not all outputs that it explains are right without it: some are not there."""
        return self.cause.gone or bool(self.lost)

    @property
    def unseen(self) -> bool:
        """Whether some of these were made of other candidates as well, which nobody has seen right."""
        return (self.cause.gone and self.cause.size > 1) or any(size > 1 for size in self.lost)

    def add_partly(self, others: Iterable[Ids]) -> None:
        """Note what would do as well for some of the outputs, or might be a fault besides."""
        self.partly += [each for each in others if each not in self.partly]


@dataclass
class Faults:
    """What is known: the faults, by output how candidates are suspected, outputs that have no cause with the reason; ``ended`` says why there may be more. Outputs that are ``done`` were
    looked at, to be there, or without that.
    """

    found: list[Fault] = field(default_factory=list)
    suspected: dict[int, Suspicion] = field(default_factory=dict)
    strange: dict[int, State] = field(default_factory=dict)
    ended: str | None = None
    done: set[tuple[int, bool]] = field(default_factory=set)

    def is_done(self, number: int, there: bool, subject: Subject) -> bool:
        """Whether an output need not be looked at: it was, or it is only to be there, or it is repaired so."""
        return (number, there) in self.done or not (there or (subject.oracle.lost and self.strange.get(number) is State.UNREPAIRED))

    def take(self, others: Faults, numbers: Sequence[int]) -> None:
        """Add what is known of others, which are ``numbers`` here."""
        self.found += [replace(fault, explains=[numbers[each] for each in fault.explains], shares=[numbers[each] for each in fault.shares]) for fault in others.found]
        self.suspected.update((numbers[each], known) for each, known in others.suspected.items())
        self.strange.update((numbers[each], state) for each, state in others.strange.items())
        self.ended = self.ended or others.ended
