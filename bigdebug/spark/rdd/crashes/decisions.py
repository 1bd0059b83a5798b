"""Decisions: what is to become of the culprits of a run that is resumed, as a policy that tasks know."""

from __future__ import annotations

import inspect
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from bigdebug.agents.guards.crash import Place
from bigdebug.agents.guards.flight import ENDED
from bigdebug.agents.guards.policy import Choice, Chosen, Policy
from bigdebug.agents.segments import Filter, FlatMap, Map, Step
from bigdebug.errors import ReplayError
from bigdebug.graph import Operator
from bigdebug.shown import shown
from bigdebug.spark.policies import function_of_one
from bigdebug.spark.rdd.crashes.blamed import Told
from bigdebug.spark.rdd.crashes.fixing import not_written, of_one, put, written
from bigdebug.spark.rdd.definition import Narrow
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.operators import operator_of
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorder import Recorder

MOST = 10_000
"""Culprits of a task that are kept in full, as many as are looked for."""

Repair = Mapping[CrashCulprit, Any] | Callable[[Any], Any]


class Decisions:
    """What is decided of the culprits of one run. Where it had a policy, that still says what becomes of those that nothing is said of."""

    def __init__(self, recorder: Recorder, run: Run, before: str | None) -> None:
        self._recorder = recorder
        self._run = run
        self._before = None if before is None else Policy.unpacked(before)

    def policy(self, skip: Any, repair: Repair | None, fix: Mapping[Any, Callable[[Any], Any]]) -> Policy:
        if not (skip or repair or fix):
            raise ReplayError(
                "There is nothing to go on with: the same records would crash", remedy="run.resume(skip=True) leaves out all that crash, skip=[...] "
                "some culprits; repair={culprit: record} or repair=function puts others in their place; fix={operator: function} calls another function.",
            )
        culprits = self._run.culprits
        # What ends a worker cannot be caught where it crashes, and a function over an iterator would begin anew there: all are known before.
        deque(culprits, maxlen=0)
        for culprit in culprits.known:
            _check_here(culprit)
        instead: dict[Place, bytes | None] = {_place(c): None for c in culprits.chosen(() if isinstance(skip, bool) else skip or ())}
        every = None
        if isinstance(repair, Mapping):
            instead |= {_place(culprit): self.instead(culprit, repair[culprit]) for culprit in culprits.chosen(repair)}
        elif repair is not None:
            every = function_of_one(repair, "repair")
        fixes: dict[int, Choice] = {}
        for what, function in fix.items():
            operator = operator_of(self._run, what)
            called = of_one(self._step(operator))
            if called is None:
                raise _of_several(operator, "fixed")
            if written(called) is None:
                raise not_written(operator)
            fixes[operator.id] = Choice(fix=function_of_one(function, f"the fix of {operator}", "It is called as the function that you wrote there.", partial(put, called)))
        policy = self._said(Choice(skip is True, every), fixes)
        chosen = {c.place: choice for c in culprits.known if (choice := self._chosen(c, policy, instead)) is not None}
        policy = replace(policy, known={**policy.known, **chosen})
        return replace(policy, known={**policy.known, **self._equal_ones(policy)})

    def _said(self, every: Choice, fixes: Mapping[int, Choice]) -> Policy:
        """What is said of all that crash; if nothing is, what the run's policy said."""
        said, before = Policy(every, {}, fixes, MOST, dumps=cloudpickle.dumps), self._before
        if before is None:
            return said
        if every.goes_on:
            return replace(said, moved=before.moved or before.puts_others)
        return replace(said, otherwise=before.otherwise, by={**before.by, **fixes}, known=before.known, moved=before.moved)

    def defined(self, operator: int) -> Callable[[Any], Any] | None:
        """The function of an operator over single records as the notebook defines it by now; None if it is not of the notebook.

        Workers have functions of modules as these were when they first imported them.
        """
        lowering = self._recorder.questions(self._run).rdd(operator)._definition.lowering
        called = of_one(lowering.step) if isinstance(lowering, Narrow) else None
        function = None if called is None else written(called)
        if not inspect.isfunction(function) or function.__module__ != "__main__":
            return None
        latest = vars(sys.modules["__main__"]).get(function.__qualname__)
        return latest if inspect.isfunction(latest) else function

    def instead(self, culprit: CrashCulprit, record: Any) -> bytes:
        """The pickle of a record that comes in the place of a culprit's. Raises ReplayError if none can, or not this one."""
        _check_here(culprit)
        _place(culprit)
        if self._step(culprit.operator) is None:
            raise _of_several(culprit.operator, "repaired")
        return _pickled(record, culprit)

    def _chosen(self, culprit: CrashCulprit, policy: Policy, instead: Mapping[Place, bytes | None]) -> Chosen | None:
        """What a task has to know of a culprit, if it is to do anything else than what is said of all.

        A function is not called again where that ends the worker, where it would have given something before it crashes, and where it would begin anew.
        """
        chosen = culprit.place in instead
        if culprit.again or culprit.place.position is None or not (chosen or policy.goes_on(culprit.operator.id)):
            return None
        told = culprit.told
        assert isinstance(told, Told)
        raised = told.raised
        spared = raised.exception == ENDED or isinstance(self._step(culprit.operator), FlatMap) or self._begins_anew(culprit.operator)
        if not (chosen or spared):
            return None
        return Chosen(*told.as_given, raised if spared else None, (instead[culprit.place],) if chosen else ())

    def _equal_ones(self, policy: Policy) -> dict[Place, Chosen]:
        """The culprits whose records equal one of those that something was chosen for, which are told apart by their order alone."""
        wanted = {_by_record(place, chosen) for place, chosen in policy.known.items()}
        found = {}
        for culprit in self._run.culprits.known:
            told = culprit.told
            if not isinstance(told, Told) or culprit.again or culprit.place in policy.known or not policy.moves(*culprit.place[:2]):
                continue
            chosen = Chosen(*told.as_given)
            if _by_record(culprit.place, chosen) in wanted:
                found[culprit.place] = chosen
        return found

    def begun_anew(self, run: Run, policy: Policy) -> dict[Place, Chosen]:
        """The crashes of a resumed run behind which a function over an iterator was called anew, for they were not known: what it keeps was lost there.

        With these, they are known.
        """
        first = renamed(run.graph, self._run.graph)

        def name(place: Place, chosen: Chosen) -> Any:
            return _by_record(place, chosen) if policy.moves(*place[:2]) else place

        known = Counter(name(place, chosen) for place, chosen in policy.known.items())
        found = {}
        for number, culprit in enumerate(run.culprits.known):
            told = culprit.told
            if culprit.place.position is None or not isinstance(told, Told) or not self._begins_anew(culprit.operator, run):
                continue
            chosen = Chosen(*told.as_given, told.raised)
            place = culprit.place._replace(operator=first.get(culprit.operator.id, culprit.operator.id))
            if not known[name(place, chosen)]:
                found[place._replace(nth=MOST + number) if culprit.again else place] = chosen
            known[name(place, chosen)] -= 1
        return found

    def _begins_anew(self, operator: Operator, run: Run | None = None) -> bool:
        """Whether an operator calls a function over an iterator."""
        return not isinstance(self._step(operator, run), Map | Filter | FlatMap | None)

    def _step(self, operator: Operator, run: Run | None = None) -> Step | None:
        """What an operator does with the records of a partition; None if it moves them to others."""
        lowering = self._recorder.questions(run or self._run).definition(operator.id).lowering
        return lowering.step if isinstance(lowering, Narrow) else None


def _by_record(place: Place, chosen: Chosen) -> tuple[Any, ...]:
    """What tells a crash from others where positions do not."""
    return place.operator, place.partition, place.side, chosen.record, chosen.text


def renamed(before: Iterable[Operator], now: Iterable[Operator]) -> dict[int, int]:
    """The ids of operators that an action made for itself, when it was called once more, by those that it made the first time."""
    then, here = ({operator.id: operator for operator in operators} for operators in (before, now))
    gone, fresh = ([operators[i] for i in sorted(operators.keys() - others.keys())] for operators, others in ((then, here), (here, then)))
    return {old.id: new.id for old, new in zip(gone, fresh, strict=False) if old.name == new.name}


def _of_several(operator: Operator, done: str) -> ReplayError:
    return ReplayError(
        f"{operator} takes more than a record at a time, so a record in it cannot be {done}",
        remedy="Leave it out with skip=, or repair it at an operator before: trace.replay(exclude=True, edit=...).",
    )


def _check_here(culprit: CrashCulprit) -> None:
    if not isinstance(culprit.place, Place):
        raise ReplayError(
            f"{culprit.operator} crashed in the query of a DataFrame, below this program",
            remedy="Filter the rows out of the DataFrame: culprit.sources tells where they come from.",
        )


def _place(culprit: CrashCulprit) -> Place:
    place: Place = culprit.place
    if culprit.again:
        raise ReplayError(
            f"{shown(culprit.record)} came in the place of a record that had crashed",
            remedy="Resume the run that crashed first once more, with something else for that record.",
        )
    if place.position is None:
        raise ReplayError(
            f"{culprit.operator} crashed before it had read a record, or on no single one: there is none to leave out or to repair",
            remedy="Change the program and run it.",
        )
    return place


def _pickled(record: Any, culprit: CrashCulprit) -> bytes:
    try:
        found: bytes = cloudpickle.dumps(record)  # type: ignore[no-untyped-call]
        return found
    except Exception as problem:
        raise ReplayError(f"What is to stand for {shown(culprit.record)} cannot be pickled: {problem}") from problem
