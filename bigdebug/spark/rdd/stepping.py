"""Stepping: a record through one operator after the other, in this process, also under a debugger (BigDebug 4.1)."""

from __future__ import annotations

import pdb
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bigdebug.agents.copies import UncopiedError, copied, copied_or_same
from bigdebug.agents.guards.crash import raised_as
from bigdebug.agents.guards.flight import ENDED
from bigdebug.agents.guards.inflight import crashes
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
        self._check_ends(operator)
        outputs: list[Any] = []
        given, note = _for_itself(record)
        try:
            self._run_on(step, given, outputs)
        except crashes() as problem:
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

    def _check_ends(self, operator: Operator) -> None:
        """The process of a notebook has all that its user has made: what ends a worker would end that."""
        ended = next((c for c in self._run.culprits.known if c.operator.id == operator.id and c.exception_type == ENDED), None)
        if ended is not None and not self._debug:
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


def _for_itself(value: Any) -> tuple[Any, str]:
    """A copy, which others may change or take from; itself where there is none, and a note of it."""
    try:
        return copied(value), ""
    except UncopiedError as why:
        return value, f"{why.what}. So it is given itself, and may be another one when it is stepped again."


def step(recorder: Recorder, what: Any, debug: bool) -> list[Stepped]:
    """A culprit through the operator that it crashed; the records of a trace through the operators that read them."""
    if isinstance(what, LineageRDD):
        stepping, operator = Stepping(recorder, what.run, debug), what.run.graph[what._only("step")]
        return [stepped for record in what.collect() for stepped in stepping.beyond(operator, record)]
    if isinstance(what, CrashCulprit):
        for run in recorder.runs:
            if what in run.culprits.known:
                return [Stepping(recorder, run, debug).into(what.operator, what.record)]
    raise TypeError(f"step() takes a culprit of an RDD's run of this session, or a trace over RDDs, not {shown(what)}")
