"""Stepping: a record through one operator after the other, in this process, also under a debugger (BigDebug 4.1)."""

from __future__ import annotations

import pdb
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bigdebug.agents.copies import copied_or_same, copied_or_why
from bigdebug.agents.guards.crash import raised_as
from bigdebug.agents.guards.flight import ENDED
from bigdebug.agents.guards.held import is_plain
from bigdebug.agents.guards.inflight import crashes_of_calls
from bigdebug.agents.segments import Filter, FlatMap, Map
from bigdebug.errors import ReplayError
from bigdebug.graph import Operator
from bigdebug.shown import shown
from bigdebug.spark.rdd.definition import Narrow
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.trace.culprit import CrashCulprit, Described
from bigdebug.trace.run import Run
from bigdebug.trace.stepped import Stepped

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorder import Recorder


class Stepping:
    """Steps records of one run. Functions are those that the run had; what they do besides giving values, they do here.

    They are given copies, and what they give is kept as it was then: so a record is stepped once more with the same answer.
    """

    def __init__(self, recorder: Recorder, run: Run, debug: bool) -> None:
        self._questions = recorder.questions(run)
        self._run = run
        self._debug = debug
        self._raised = False

    def into(self, operator: Operator, record: Any) -> Stepped:
        """A record through an operator. Raises ReplayError for one that takes more than a record at a time, or in which a worker ended."""
        step = self._step(operator)
        if step is None:
            raise ReplayError(
                f"{operator} takes more than a record at a time, so a record is not stepped through it",
                remedy="trace.replay() runs it on the records that you choose.",
            )
        if isinstance(record, Described):
            raise ReplayError(f"{record} could not leave its task, so it is not here to be stepped", remedy="Step a record that can be pickled.")
        self._check_ends(operator, record)
        outputs: list[Any] = []
        given, why = copied_or_why(record)
        note = f"{why}. So it is given itself, and may be another one when it is stepped again." if why else ""
        try:
            self._run_on(step, given, outputs)
        except crashes_of_calls() as problem:
            raised = raised_as(problem)
            text = f"{raised.exception}: {raised.message}\n{raised.traceback}" + "".join(f"      {name} = {value}\n" for name, value in raised.locals)
            return Stepped(operator, record, tuple(outputs), problem, text, self.beyond, note)
        return Stepped(operator, record, tuple(outputs), None, "", self.beyond, note)

    def beyond(self, operator: Operator, record: Any) -> list[Stepped]:
        """A record of an operator through each one that reads it, and takes a record at a time."""
        readers = [o for o in self._run.graph if operator.id in o.parents and self._step(o) is not None]
        return [self.into(reader, record) for reader in readers]

    def _step(self, operator: Operator) -> Map | Filter | FlatMap | None:
        lowering = self._questions.definition(operator.id).lowering
        step = lowering.step if isinstance(lowering, Narrow) else None
        return step if isinstance(step, Map | Filter | FlatMap) else None

    def into_culprit(self, culprit: CrashCulprit) -> Stepped:
        """A culprit through the operator that it crashed. Of one that raised it is known that it ends no process."""
        self._raised = culprit.exception_type != ENDED
        return self.into(culprit.operator, culprit.record)

    @cached_property
    def _endings(self) -> list[CrashCulprit]:
        """The culprits in which a worker ended: all are looked for where the run failed, for the exception waits two seconds alone."""
        culprits = self._run.culprits if self._run.status == "failed" else self._run.culprits.known
        return [culprit for culprit in culprits if culprit.exception_type == ENDED]

    def _check_ends(self, operator: Operator, record: Any) -> None:
        """The process of a notebook has all that its user has made: what ends a worker would end that."""
        if self._debug or self._raised:
            return
        for ended in self._endings:
            if ended.operator.id != operator.id or not _may_be(ended.record, record):
                continue
            raise ReplayError(
                f"A Python worker ended in {operator}, on {shown(ended.record)}, and this process would end as it did",
                remedy="culprit.user_line and culprit.traceback say where. With debug=True it is called here, under Python's debugger: quit before that line.",
            )

    def _run_on(self, step: Map | Filter | FlatMap, record: Any, outputs: list[Any]) -> None:
        given = self._called(step.function, record)
        # A function may give one object again and again, and change it in between.
        if isinstance(step, Map):
            outputs.append(copied_or_same(given))
        elif isinstance(step, FlatMap):
            outputs.extend(map(copied_or_same, given))
        elif given:
            outputs.append(copied_or_same(record))

    def _called(self, function: Callable[[Any], Any], record: Any) -> Any:
        return pdb.Pdb().runcall(function, record) if self._debug else function(record)


def _may_be(one: Any, other: Any) -> bool:
    """Whether two records may be the same. What a class says of that may be that none is."""
    return one == other if _is_compared(one) and _is_compared(other) else True


def _is_compared(record: Any) -> bool:
    if isinstance(record, dict):
        return all(is_plain(key) and is_plain(value) for key, value in record.items())
    return all(map(is_plain, record)) if isinstance(record, (list, set, frozenset)) else is_plain(record)


def step(recorder: Recorder, what: Any, debug: bool) -> list[Stepped]:
    """A culprit through the operator that it crashed; the records of a trace through the operators that read them."""
    if isinstance(what, LineageRDD):
        stepping, operator = Stepping(recorder, what.run, debug), what.run.graph[what._only("step")]
        return [stepped for record in what.collect() for stepped in stepping.beyond(operator, record)]
    if isinstance(what, CrashCulprit):
        for run in recorder.runs:
            if what in run.culprits.known:
                return [Stepping(recorder, run, debug).into_culprit(what)]
    raise TypeError(f"step() takes a culprit of an RDD's run of this session, or a trace over RDDs, not {shown(what)}")
