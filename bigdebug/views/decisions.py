"""Decisions: what is to become of the culprits of a run, as somebody says it of one, of a cause, or of all, until the run is resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bigdebug.errors import BigdebugError, ReplayError
from bigdebug.graph import Operator
from bigdebug.shown import counted, shown
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.resumed import Resuming
from bigdebug.views.causes import Causes
from bigdebug.views.repairing import repaired

OPEN, SKIP, REPAIR, FIX = "open", "skip", "repair", "fix"


Function = Callable[[Any], Any]


class Repaired(NamedTuple):
    """A record in the place of one that crashed, and what was edited: texts by the numbers of fields."""

    record: Any
    edits: Mapping[int, str | None]


class Counts(NamedTuple):
    """Culprits by what was decided of them."""

    skipped: int
    repaired: int
    fixed: int
    open: int


class Decisions:
    """What was decided of each of the known culprits. Thread-safe.

    What is said of one culprit counts more than what is said of its cause, that more than another function for its operator, and that more than what is said of all:
    that holds for culprits, too, that are found afterwards.
    """

    def __init__(self, culprits: Culprits, resuming: Resuming | None = None) -> None:
        """``resuming`` is asked whether a repair would do."""
        self.causes = Causes(culprits)
        self._resuming = resuming
        self._alone = self.causes.alone
        self._all = False
        self._by_cause: dict[int, bool] = {}
        self._by_one: dict[int, bool] = {}
        self._repaired: dict[int, Repaired] = {}
        self._fixes: dict[int, tuple[Operator, Function]] = {}
        self.said = 0
        """How often something was decided."""

    # ---- saying -----------------------------------------------------------------------------------------------

    def skip(self, number: int, on: bool) -> None:
        """Leave a culprit out, or not; its repair is forgotten."""
        with self._alone:
            self.causes.culprit(number)
            self._repaired.pop(number, None)
            self._by_one[number] = on
            self.said += 1

    def skip_cause(self, cause: int, on: bool) -> None:
        """Leave out those of a cause that are not repaired, or do not."""
        with self._alone:
            for number in self.causes.members(cause):
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
        culprit = _single(self.causes.culprit(number))
        made = Repaired(repaired(culprit.record, edits), dict(edits))
        if self._resuming is not None:
            self._resuming.check_repair(culprit, made.record)
        with self._alone:
            self._repaired[number] = made
            self.said += 1

    def restore(self, number: int) -> None:
        """Forget a repair."""
        with self._alone:
            self.causes.culprit(number)
            self._repaired.pop(number, None)
            self.said += 1

    def defined(self, number: int) -> Function | None:
        """The function that a culprit's operator would be fixed with now; None if there is none."""
        culprit = self.causes.culprit(number)
        if self._resuming is None or culprit.partition is None or not culprit.operator.form.record_wise:
            return None
        try:
            return self._resuming.defined(culprit.operator.id)
        except BigdebugError:  # its run was forgotten: the culprit can still be looked at
            return None

    def fix(self, number: int, on: bool) -> None:
        """Call the function of a culprit's operator as the notebook defines it now, on all that crashed there and nothing else is said of afterwards; or do not.

        Raises ReplayError for a function that is not the notebook's.
        """
        operator, function = self.causes.culprit(number).operator, self.defined(number) if on else None
        if on and function is None:
            raise ReplayError(f"{operator} has no function that this notebook defines for one record", remedy="In Python: run.resume(fix={operator: function}).")
        with self._alone:
            self._fixes.pop(operator.id, None)
            if function is not None:
                self._fixes[operator.id] = operator, function
                for cause in self.causes:
                    if self.causes.operator(cause).id == operator.id:
                        self._by_cause.pop(cause, None)
                        for each in self.causes.members(cause):
                            self._by_one.pop(each, None)
            self.said += 1

    # ---- what was said ----------------------------------------------------------------------------------------

    def repair_of(self, number: int) -> Repaired | None:
        with self._alone:
            return self._repaired.get(number)

    def replaced(self) -> list[CrashCulprit]:
        """The culprits in whose place another record comes, in the order in which they were found."""
        with self._alone:
            return [self.causes.culprit(number) for number in sorted(self._repaired)]

    def of(self, number: int) -> str:
        """What was decided of a culprit."""
        with self._alone:
            if number in self._repaired:
                return REPAIR
            cause = self.causes.of(number)
            return self._said(cause, self._by_one.get(number, self._by_cause.get(cause)))

    def fix_of(self, number: int) -> Function | None:
        """The function that a culprit's operator is fixed with."""
        with self._alone:
            found = self._fixes.get(self.causes.culprit(number).operator.id)
            return None if found is None else found[1]

    def _said(self, cause: int, skip: bool | None) -> str:
        """What becomes of culprits of a cause that are not repaired, by whether somebody said of them, or of their cause, that they are skipped."""
        if skip:
            return SKIP
        if self.causes.operator(cause).id in self._fixes:
            return FIX
        return SKIP if skip is None and self._all else OPEN

    @property
    def skips_all(self) -> bool:
        """Whether all are left out that nothing else was said of, also those that are not known yet."""
        with self._alone:
            return self._all

    def counts(self, cause: int | None = None) -> Counts:
        """How many culprits of a cause, or of all, something was decided of."""
        with self._alone:
            every = [self._counted(each) for each in (self.causes if cause is None else [cause])]
        return Counts(*(sum(each) for each in zip(*every, strict=True))) if every else Counts(0, 0, 0, 0)

    def _counted(self, cause: int) -> Counts:
        """Those of a cause: only what was said of single ones is looked at one by one."""
        total, repaired = self.causes.size(cause), len(self.causes.among(cause, self._repaired))
        own = [self._by_one[number] for number in self.causes.among(cause, self._by_one) if number not in self._repaired]
        found = Counter(self._said(cause, on) for on in own)
        found[self._said(cause, self._by_cause.get(cause))] += total - repaired - len(own)
        return Counts(found[SKIP], repaired, found[FIX], found[OPEN])

    def arguments(self) -> dict[str, Any]:
        """``skip``, ``repair`` and ``fix``, as ``run.resume`` takes them. Raises ReplayError if of some culprits nothing was decided."""
        with self._alone:
            known, decided = self.causes.culprit, [self.of(number) for number in range(self.causes.culprits)]
            if left := decided.count(OPEN):
                raise ReplayError(
                    f"Of {counted(left)} that crashed nothing was decided, and the job would crash on {'it' if left == 1 else 'them'} as before",
                    remedy="Skip or repair what is open, or skip all.",
                )
            left_out = [known(number) for number, what in enumerate(decided) if what == SKIP]
            # Of an operator that is fixed, run.resume(skip=True) leaves out none: those that are to be are named then.
            skip = True if self._all and not any(each.operator.id in self._fixes for each in left_out) else left_out
            repair = {known(number): each.record for number, each in sorted(self._repaired.items())}
            given = {"skip": skip, "repair": repair, "fix": dict(self._fixes.values())}
        return {name: what for name, what in given.items() if what} or {"repair": repair}


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
