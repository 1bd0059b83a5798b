"""Replay and ex-replay: the program of a run once more, on the records of a trace or on all others (Newt 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark import RDD

from bigdebug.agents.operations import Frames
from bigdebug.agents.picked import Without
from bigdebug.agents.segments import Partitionwise, Step
from bigdebug.agents.within import Within
from bigdebug.errors import ReplayError
from bigdebug.localize.comparison import Comparison, compared
from bigdebug.spark.asking import asking
from bigdebug.spark.predicate import EDIT, answering, told
from bigdebug.spark.rdd.entry import Entry
from bigdebug.spark.rdd.evaluate import Evaluator, evaluable, needed
from bigdebug.spark.rdd.positional import partitionwise
from bigdebug.trace.counts import complete
from bigdebug.trace.places import Places, count
from bigdebug.trace.trace import all_records

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD
    from bigdebug.spark.rdd.recorded import Recorded as Captured

Edit = Callable[[Any], Any]

IN_PROCESS = 20_000
"""Up to so many input records a replay runs in one task: a Spark job for each of its stages costs more."""


class Replay:
    """A program about to run again; made by ``trace.replay(...)``. Lazy: it runs when its records are asked for.

    Few records are computed in one task, many by the stages of the program: the answers are the same. ``rdd`` is the
    program on Spark, a captured RDD like the one that the user wrote, so that a replay can be captured and traced in its
    turn.

    The records that a replay begins with are checked to be those of the run. What follows is computed anew and not
    checked: a program that draws random numbers or asks the time may give something else than it gave in the run.
    ``compare()`` tells, for the side of the run is checked, or NondeterminismError says why it cannot be.
    Where other records decide about one, by its place (sample, zipWithIndex, zip ...) or by their absence (differences,
    outer joins), traced records keep what the run decided; without them, or with edited ones, it is decided anew. So
    it is for a trace that stands before such an operator. Without ``absent``, only what places decided is kept.
    """

    def __init__(self, trace: LineageRDD, exclude: bool, at: Any, edit: Edit | None, target: int | None = None, absent: bool = True) -> None:
        self._trace = trace
        self._exclude = exclude
        self._edit = None if edit is None else answering(edit)
        self._run = trace.run
        self._questions = trace._questions
        self._target = self._run.subject if target is None else target
        self._entry = Entry(trace, exclude, None if at is None else trace._operator(at), edit is not None, absent, self._target)

    # ---- results ----------------------------------------------------------------------------------------------

    @property
    def rdd(self) -> Any:
        """The program on Spark, with the records of the trace restricted, dropped or changed."""
        return self.made[self._target]

    @cached_property
    def made(self) -> dict[int, Any]:
        """The RDDs of the program on Spark, by the operator of the run that each stands for."""
        made: dict[int, Any] = {}
        for known in self.program:
            operator = known._definition.operator.id
            parents = [made[p._definition.operator.id] for p in known._definition.parents if operator not in self.cut]
            if operator in self.cut:
                made[operator] = self._changed(operator)
            elif operator in self._inhabited:
                made[operator] = self._restricted(known, parents[0])
            else:
                made[operator] = self._questions.definition(operator).again(parents)
        return made

    def collect(self) -> list[Any]:
        """The records that the program gives now."""
        with told(EDIT):
            here = self._in_one_task(counting=False)
        found: list[Any] = self._on_spark("collect") if here is None else here
        return found

    def count(self) -> int:
        with told(EDIT):
            here = self._in_one_task(counting=True)
        return int(self._on_spark("count") if here is None else here)

    def take(self, num: int) -> list[Any]:
        """The first records; the program runs no further than it has to, so it may be one that never ends."""
        found: list[Any] = self._on_spark("take", num)
        return found

    def _on_spark(self, action: str, *arguments: Any) -> Any:
        recorder = self._questions.recorder
        with told(EDIT), asking(recorder.sc, "replaying", recorder.progress):
            return getattr(self.rdd, action)(*arguments)

    def toPandas(self) -> Any:
        import pandas as pd

        return pd.DataFrame({"record": self.collect()})

    def compare(self) -> Comparison:
        """What is different from the run: for a replay of traced records, from the outputs that were traced.

        Raises ReplayError for a replay without records if the run's action did not ask for all of its result.
        """
        if self._exclude:
            if not complete(self._run.lineage, self._run.subject):
                raise ReplayError(
                    f"{self._run.action}() asked for a part of {self._run.graph[self._run.subject]} only, and a replay gives all of it",
                    remedy="Capture an action that asks for all, such as count(), and compare with that run.",
                )
            before = self._trace._to([self._run.subject], lambda: all_records(self._run, self._run.subject))
        else:
            before = self._trace if self._trace.operators == (self._run.subject,) else self._trace.goNextAll()
        return compared(before.collect(), self.collect())

    # ---- which records ----------------------------------------------------------------------------------------

    @property
    def cut(self) -> dict[int, Places]:
        """Where the program is entered, and with which records of the run."""
        return self._entry.cut

    @cached_property
    def program(self) -> list[Captured]:
        """What is computed, parents first, with what it is entered with."""
        return needed(self._questions.rdd(self._target), self.cut)

    # ---- functions over whole partitions ----------------------------------------------------------------------

    @cached_property
    def _passed(self) -> frozenset[int]:
        """Operators that are computed on the way to the traced records."""
        if self._entry.anew:
            return frozenset()
        on_the_way = {u for o in self._trace.operators for u in self._run.graph.upstream(o)}
        return frozenset(rdd._definition.operator.id for rdd in self.program).intersection(on_the_way).difference(self.cut)

    @cached_property
    def _inhabited(self) -> dict[int, frozenset[int]]:
        """By function over whole partitions, those that the trace has there: others would give what they give for nothing."""
        functions = [o.id for o in self._run.graph if o.id in self._passed and partitionwise(o)]
        standing = {o: self._trace.back_to(o).standing.get(o, {}) for o in functions}
        return {o: frozenset(p for p, at in places.items() if len(at)) for o, places in standing.items()}

    def within(self, operator: int, step: Step) -> Step:
        """The step of a narrow operator, for the partitions that the trace has there."""
        if operator not in self._inhabited:
            return step
        assert isinstance(step, Partitionwise)
        return Partitionwise(Within(step.function, self._inhabited[operator]))

    def _restricted(self, rdd: Captured, parent: Any) -> Any:
        """The operator on another parent, for the partitions that the trace has there."""
        operator = rdd._definition.operator
        lowering: Any = self._questions.definition(operator.id).lowering
        function = Within(lowering.step.function, self._inhabited[operator.id])
        with self._trace._recorder.composing_as(operator.form):
            return parent.mapPartitionsWithIndex(function, rdd.partitioner is not None)

    # ---- how --------------------------------------------------------------------------------------------------

    def _changed(self, operator: int) -> Any:
        """An RDD of what the program reads at ``operator`` instead."""
        rdd = self._questions.rdd(operator)
        places = self.cut[operator]
        made: RDD[Any]
        with self._trace._recorder.plain():
            if not self._exclude:
                made = self._questions.distributed(operator, places)
                made = made.map(self._edit) if self._edit is not None and self._entry.edits(operator) else made
            elif operator not in self._entry.aimed:
                return rdd
            else:
                chosen = Without(dict(self._entry.aimed[operator]), self._edit)
                made = self._questions.distributed(operator, self._entry.everything(operator), chosen)
        if self._edit is None:
            made.partitioner = rdd.partitioner  # they stand where they stood
        return self._trace._recorder.captured(made)

    def _in_one_task(self, counting: bool) -> Any | None:
        """The result if one task can compute it as Spark would, else None."""
        if sum(map(count, self.cut.values())) > IN_PROCESS:
            return None
        if not evaluable(self.program, self.cut, changed=self._entry.anew):
            return None
        evaluator = Evaluator(self._trace._recorder, self._questions)
        shipped = self.shipped(evaluator, self.cut)
        if shipped is None:
            return None
        given = {}
        for operator, frames in shipped.items():
            edited = self._entry.edited(operator)
            given[operator] = evaluator.given(
                frames, self._run.graph[operator].partitions, edited, self._edit if edited else None
            )
        return evaluator.run(evaluator.evaluation(self.program, self._questions.definition, given, self.within, counting))

    def shipped(self, evaluator: Evaluator, standing: Mapping[int, Places]) -> dict[int, dict[int, Frames]] | None:
        """Records at the operators that the program is entered at, as they leave a worker; None if some cannot leave it."""
        found: dict[int, dict[int, Frames]] = {}
        for rdd in self.program:
            operator = rdd._definition.operator.id
            if operator in self.cut:
                facts = self._run.sources.get(operator)
                frames = evaluator.shipped(operator, standing.get(operator, {}), facts is not None and facts.type == "text")
                if frames is None:
                    return None
                found[operator] = frames
        return found
