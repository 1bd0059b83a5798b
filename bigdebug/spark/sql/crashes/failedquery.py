"""The query that an action failed of, planned once more: its steps, and what is known of them before anything is looked at."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.spark.cancelled import is_cancelled
from bigdebug.spark.sql.crashes.finished import Finished
from bigdebug.spark.sql.crashes.folding import call_once, planned
from bigdebug.spark.sql.crashes.sizes import Sizes
from bigdebug.spark.sql.crashes.stopping import may_stop
from bigdebug.spark.sql.crashes.unfinished import Failure, Unfinished
from bigdebug.spark.sql.crashes.unlooked import recursion
from bigdebug.spark.sql.crashes.walk import Step, steps_of
from bigdebug.spark.sql.crashes.waves import Asking
from bigdebug.spark.sql.failures import brief
from bigdebug.spark.sql.plans.calls import functions_of, minds_partition
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.sessions import SHARING


class FailedQuery:
    """What the action of a run asked; ``fed``, where it is looked at over more rows than it read.

    ``unknown`` are told why there are no steps, where there are none.
    """

    def __init__(self, spark: Any, run: FrameRun, failure: Failure, unknown: list[str], fed: bool) -> None:
        self._spark = spark
        self._run = run
        self._failure = failure
        self._unknown = unknown
        self._fed = fed

    @cached_property
    def catalyst(self) -> Catalyst:
        """As the run's, but for one thing: what several expressions share would be computed outside of all of them, and throw there."""
        session = self._run.questions.catalyst.jsession.cloneSession()
        session.conf().set(SHARING, "false")
        return Catalyst(self._spark, session)

    @cached_property
    def sizes(self) -> Sizes:
        """How large what is asked may be: of other rows than it read, nothing is known."""
        return Sizes(self.catalyst, [] if self._fed else self.steps)

    @cached_property
    def asking(self) -> Asking:
        """How rows of it are asked for."""
        minding = any(minds_partition(self.catalyst, step.node) for step in self.steps)
        return Asking(self.catalyst, minding, meanwhile=lambda: self._run.questions.leaves)  # the operators, of which each culprit names one

    @cached_property
    def unfinished(self) -> Unfinished:
        """The partitions that the action had not finished."""
        return Unfinished(self.catalyst, self._run, self._failure, *self.finished.unfinished)

    @cached_property
    def finished(self) -> Finished:
        """The steps that it had."""
        return Finished(self.catalyst, self._failure.executed, self.steps)

    @property
    def stops(self) -> bool:
        """Whether the action may not have come to all rows."""
        return may_stop(self._run.action, self.steps)

    @cached_property
    def calls(self) -> bool:
        """Whether functions of the user's are called."""
        return any(functions_of(self.catalyst, step.node) for step in self.steps)

    @property
    def counts(self) -> bool:
        """Whether only the number of rows was asked for: what makes the columns of rows, Spark leaves away."""
        return self._run.action == "count"

    @cached_property
    def asked(self) -> Any:
        """The query that the action made."""
        query = self._run.questions.query
        return query.groupBy().count() if self.counts else query

    @cached_property
    def steps(self) -> list[Step]:
        """Those of the plan that Spark optimized, the sources first."""
        try:
            steps = steps_of(self.catalyst, *planned(self.catalyst, Catalyst.plan(self.asked)))
        except (PySparkException, Py4JError) as trouble:
            if is_cancelled(trouble):
                raise
            self._unknown.append(f"Spark could not plan the query once more: {brief(trouble)}")
            return []
        if (why := recursion(steps)) is not None:
            self._unknown.append(why)
            return []
        if any(self.catalyst.runs_code(step.node) for step in steps):
            call_once(self.catalyst)
        return steps
