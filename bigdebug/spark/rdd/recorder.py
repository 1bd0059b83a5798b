"""The recorder: what bigdebug keeps for one SparkContext. It sees definitions and actions, and makes runs of actions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from bigdebug.errors import IncompleteLineageError, NotCapturedError
from bigdebug.graph import Form, Kind, Operator
from bigdebug.spark.callers import caller
from bigdebug.spark.executors import StoreReach, check_agents
from bigdebug.spark.rdd.acting import Acting
from bigdebug.spark.rdd.compiler import Compiler
from bigdebug.spark.rdd.definition import UNKNOWN, Definition, Lowering
from bigdebug.spark.streams import Streams
from bigdebug.store.directory import LineageStore
from bigdebug.store.remote import Remote
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

    from bigdebug.spark.rdd.questions import Questions
    from bigdebug.spark.rdd.recorded import Recorded as Captured


class Recorder(Acting):
    """Definitions, actions and runs of one SparkContext. Thread-safe: what is in progress is kept by thread."""

    def __init__(self, sc: SparkContext, store: LineageStore) -> None:
        super().__init__(sc, store)
        self.store = store
        self.progress = True
        self.crossing: Any = None
        """Knows where DataFrames begin and end; put there by whoever knows both."""
        self.streams = Streams(sc)
        self._reach = StoreReach()
        self._looked = False
        self._incapable: tuple[str, str] | None = None
        """Why tasks cannot run agents, and what helps; None if they can. Known when somebody has looked."""
        self._ids = itertools.count(1)
        self._stage_ids = itertools.count(1)
        self._questions: dict[str, Questions] = {}
        self.compiler = Compiler(self)

    # ---- definitions ------------------------------------------------------------------------------------------

    def captured(self, rdd: Any) -> Captured:
        """``rdd`` if it is captured here; else a captured twin of it that stands as a source."""
        from bigdebug.spark.rdd.recorded import Recorded
        from bigdebug.spark.rdd.sources import outside

        return rdd if isinstance(rdd, Recorded) and rdd._recorder is self else outside(self, rdd)

    def operator(
        self, name: str, kind: Kind, form: Form, parents: Sequence[Captured],
        dataset: str | None = None, detail: dict[str, Any] | None = None,
    ) -> Operator:
        site, method = caller()
        known = dict(detail or {})
        if self.current is not None:
            known["internal"] = True
            method = self.current.name
        if self.thread.skips:
            known["skipped"] = True
        return Operator(
            id=next(self._ids), name=name if method in (name, "<module>") else f"{method}.{name}", kind=kind, form=form,
            parents=tuple(p._definition.operator.id for p in parents), partitions=UNKNOWN,
            call_site=site, dataset=dataset, detail=known,
        )

    def adopt(
        self, rdd: RDD[Any], operator: Operator, parents: Sequence[Captured], lowering: Lowering,
        again: Callable[[Sequence[RDD[Any]]], RDD[Any]],
    ) -> Captured:
        """Make ``rdd``, as PySpark built it, a captured RDD: the same object, with a memory of its operator."""
        from bigdebug.spark.rdd.captured import into_captured

        fused = tuple(not (p.is_cached or p.is_checkpointed or p.has_resource_profile) for p in parents)
        captured: Captured = into_captured(rdd, self, Definition(operator, tuple(parents), lowering, again, fused))
        return captured

    def check_agents(self) -> None:
        """Raise IncompleteLineageError where tasks cannot run agents; looked at once."""
        if not self._looked:
            with self.plain():
                try:
                    check_agents(self.sc)
                except IncompleteLineageError as problem:
                    self._incapable = problem.what, problem.remedy
                self._looked = True
        if self._incapable is not None:
            what, remedy = self._incapable
            raise IncompleteLineageError(what, remedy=remedy)
        with self.plain():
            self.unreached = self._reach.refused(self.sc, self.store)

    @property
    def blocks_at(self) -> str | Remote:
        """Where tasks write their blocks; nowhere, if they do not reach the store. ``check_agents`` has looked."""
        return "" if self.unreached else self.store.address

    def next_stage_id(self) -> str:
        return f"s{next(self._stage_ids)}"

    def questions(self, run: Run) -> Questions:
        """What Spark can still answer about ``run``. Raises NotCapturedError if it was forgotten."""
        from bigdebug.spark.rdd.questions import Questions

        if run not in self.runs:
            _forgotten(run)
        if run.id not in self._questions:
            found = self._questions[run.id] = Questions(self, run)
            run.lineage.derive, run.lineage.count = found.derive, found.sizes
        return self._questions[run.id]

    def forget(self, *runs: Run) -> None:
        """Let go of runs: of their lineage, their questions, and of what they hold in Spark. Raises NotCapturedError for those of others, and StoreError as the store does."""
        for run in runs:
            if run.store is not self.store:
                raise NotCapturedError("This run is of another session", value=run.name, remedy="Forget it in the debug session that captured it.")
        for run in runs:
            self._questions.pop(run.id, None)
            self.policies.pop(run.id, None)
            run.lineage.derive = run.lineage.count = partial(_forgotten, run)
        self.runs.forget(*runs, compiled=self.compiler.has)


def _forgotten(run: Run, *_: Any) -> NoReturn:
    raise NotCapturedError("This run has been forgotten", value=run.name, remedy="Run the job again under capture.")
