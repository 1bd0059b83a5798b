"""Decisions: what is to become of the culprits of a run, as somebody says it of one, of a cause, or of all, until the run is resumed."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from bigdebug.errors import MessageError, ReplayError
from bigdebug.shown import counted, shown
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.resumed import Resuming
from bigdebug.views.repairing import repaired

OPEN, SKIP, REPAIR = "open", "skip", "repair"


class Repaired(NamedTuple):
    """A record in the place of one that crashed, and what was edited: texts by the numbers of fields."""

    record: Any
    edits: Mapping[int, str | None]


class Cause(NamedTuple):
    """A cause by its number, how many culprits it has, and the number of the first one."""

    number: int
    culprits: int
    first: int


class Counts(NamedTuple):
    """Culprits by what was decided of them."""

    skipped: int
    repaired: int
    open: int


class Decisions:
    """The known culprits by cause, in the order in which the causes were met, and what was decided of each. Thread-safe.

    What is said of one culprit counts more than what is said of its cause, and that more than what is said of all: that holds for culprits, too, that are found
    afterwards.
    """

    def __init__(self, culprits: Culprits, resuming: Resuming | None = None) -> None:
        """``resuming`` is asked whether a repair would do."""
        self.culprits = culprits
        self._resuming = resuming
        self._alone = threading.RLock()
        self._causes: dict[Any, int] = {}
        self._cause_of: list[int] = []
        self._members: list[list[int]] = []
        self._all = False
        self._by_cause: dict[int, bool] = {}
        self._by_one: dict[int, bool] = {}
        self._repaired: dict[int, Repaired] = {}
        self.said = 0
        """How often something was decided."""

    # ---- causes -----------------------------------------------------------------------------------------------

    @property
    def causes(self) -> list[Cause]:
        """The most frequent first."""
        with self._alone:
            self._look()
            every = [Cause(number, len(members), members[0]) for number, members in enumerate(self._members)]
        return sorted(every, key=lambda cause: -cause.culprits)

    def members(self, cause: int) -> list[int]:
        """The numbers of the culprits of a cause. Raises MessageError for a cause that is not known."""
        with self._alone:
            self._look()
            if not 0 <= cause < len(self._members):
                raise MessageError("This view knows no such cause", value=cause, remedy="Run the cell that shows the view again.")
            return [*self._members[cause]]

    def cause_of(self, number: int) -> int:
        with self._alone:
            self.culprit(number)
            return self._cause_of[number]

    def culprit(self, number: int) -> CrashCulprit:
        """The culprit of a number from 0. Raises MessageError if so many are not known."""
        with self._alone:
            self._look()
            if not 0 <= number < len(self._cause_of):
                raise MessageError("This view knows no such culprit", value=number, remedy="Run the cell that shows the view again.")
            return self.culprits.known[number]

    def _look(self) -> None:
        """Take the culprits that were found since the last look."""
        for number in range(len(self._cause_of), len(self.culprits.known)):
            cause = self._causes.setdefault(self.culprits.known[number].cause, len(self._causes))
            if cause == len(self._members):
                self._members.append([])
            self._members[cause].append(number)
            self._cause_of.append(cause)

    # ---- saying -----------------------------------------------------------------------------------------------

    def skip(self, number: int, on: bool) -> None:
        """Leave a culprit out, or not; its repair is forgotten."""
        with self._alone:
            self.culprit(number)
            self._repaired.pop(number, None)
            self._by_one[number] = on
            self.said += 1

    def skip_cause(self, cause: int, on: bool) -> None:
        """Leave out those of a cause that are not repaired, or do not."""
        with self._alone:
            for number in self.members(cause):
                self._by_one.pop(number, None)
            self._by_cause[cause] = on
            self.said += 1

    def skip_all(self, on: bool) -> None:
        """Leave out all that are not repaired, or do not."""
        with self._alone:
            self._by_one.clear()
            self._by_cause.clear()
            self._all = on
            self.said += 1

    def repair(self, number: int, edits: Mapping[int, str | None]) -> None:
        """Put the record, with these texts in its fields, in its place. Raises ReplayError for what cannot be read as its field, and for a record that a resume would refuse."""
        culprit = _single(self.culprit(number))
        made = Repaired(repaired(culprit.record, edits), dict(edits))
        if self._resuming is not None:
            self._resuming.check_repair(culprit, made.record)
        with self._alone:
            self._repaired[number] = made
            self.said += 1

    def restore(self, number: int) -> None:
        """Forget a repair."""
        with self._alone:
            self.culprit(number)
            self._repaired.pop(number, None)
            self.said += 1

    # ---- what was said ----------------------------------------------------------------------------------------

    def repair_of(self, number: int) -> Repaired | None:
        with self._alone:
            return self._repaired.get(number)

    def replaced(self) -> list[CrashCulprit]:
        """The culprits in whose place another record comes, in the order in which they were found."""
        with self._alone:
            return [self.culprits.known[number] for number in sorted(self._repaired)]

    def of(self, number: int) -> str:
        """What was decided of a culprit."""
        with self._alone:
            if number in self._repaired:
                return REPAIR
            return SKIP if self._by_one.get(number, self._by_cause.get(self.cause_of(number), self._all)) else OPEN

    @property
    def skips_all(self) -> bool:
        """Whether all are left out that nothing else was said of, also those that are not known yet."""
        with self._alone:
            return self._all

    def counts(self, cause: int | None = None) -> Counts:
        """How many culprits of a cause, or of all, something was decided of."""
        with self._alone:
            self._look()
            causes = range(len(self._members)) if cause is None else [cause]
            every = [self._counted(each) for each in causes]
        return Counts(*(sum(each) for each in zip(*every, strict=True))) if every else Counts(0, 0, 0)

    def _counted(self, cause: int) -> Counts:
        """Those of a cause: only what was said of single ones is looked at one by one."""
        total = len(self._members[cause])
        repaired = sum(self._cause_of[number] == cause for number in self._repaired)
        own = [on for number, on in self._by_one.items() if self._cause_of[number] == cause and number not in self._repaired]
        skipped = sum(own) + (total - repaired - len(own) if self._by_cause.get(cause, self._all) else 0)
        return Counts(skipped, repaired, total - skipped - repaired)

    def arguments(self) -> dict[str, Any]:
        """``skip`` and ``repair``, as ``run.resume`` takes them. Raises ReplayError if of some culprits nothing was decided."""
        with self._alone:
            known, decided = self.culprits.known, [self.of(number) for number in range(self._looked())]
            if left := decided.count(OPEN):
                raise ReplayError(
                    f"Of {counted(left)} that crashed nothing was decided, and the job would crash on {'it' if left == 1 else 'them'} as before",
                    remedy="Skip or repair what is open, or skip all.",
                )
            skip = True if self._all else [known[number] for number, what in enumerate(decided) if what == SKIP]
            repair = {known[number]: each.record for number, each in sorted(self._repaired.items())}
        if skip is True or skip:
            return {"skip": skip} | ({"repair": repair} if repair else {})
        return {"repair": repair}

    def _looked(self) -> int:
        self._look()
        return len(self._cause_of)


def _single(culprit: CrashCulprit) -> CrashCulprit:
    """The culprit, if another record can stand in its place."""
    if culprit.again:
        raise ReplayError(
            f"{shown(culprit.record)} came in the place of a record that had crashed", remedy="Resume the run that crashed first, with something else for that record.",
        )
    if culprit.place is None:
        raise ReplayError(
            f"{culprit.operator} crashed on no single record that another one could stand for, or in a session that was saved",
            remedy="Repair it in the input: culprit.sources tells which records these are.",
        )
    return culprit
