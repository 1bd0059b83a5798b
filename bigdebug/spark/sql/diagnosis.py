"""Diagnosis of DataFrames: on which rows the expressions of a query that failed throw.

``IsNull(TryEval(IsNull(e)))`` holds exactly where ``e`` throws, so a pass over the rows of an operator finds all of its culprits
(DESIGN 4.3). The plan is the one that Spark optimized: what it pruned or filtered out before did not crash.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from functools import cached_property, partial
from linecache import getline
from typing import TYPE_CHECKING, Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import convert_exception

from bigdebug.graph import CallSite, Operator
from bigdebug.spark.gateway import raised_by
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.catalyst import Catalyst, Expr, Node
from bigdebug.spark.sql.failures import is_cancelled
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.rewriting import with_expressions
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.trials import Trial, clean, culpable, of_groups, tamed, trials
from bigdebug.trace.culprits import CrashCulprit

if TYPE_CHECKING:
    from bigdebug.spark.sql.recorder import FrameRecorder

_THROWABLE = "org.apache.spark.SparkThrowable"

MOST = 10_000
"""Culprits of one operator that are kept in full."""

_AT_ONCE = 200
"""Culprits that are told what they threw before others are asked for; each takes some ms."""


class Step(NamedTuple):
    """A node of a plan, and where its inputs stand among the nodes before it."""

    node: Node
    inputs: tuple[int, ...]


class Waiting(NamedTuple):
    """Rows that something throws on, as PySpark has them and as the JVM does, of which it is not known yet what that is."""

    operator: Operator
    trial: Trial
    rows: deque[Any]
    inside: deque[Any]


class FrameDiagnosis:
    """Finds the culprits of a run of a DataFrame, an operator at a time."""

    def __init__(self, recorder: FrameRecorder, run: FrameRun) -> None:
        self._recorder = recorder
        self._run = run
        self._waiting: deque[Waiting] = deque()
        self._clean: list[Node | None] = []
        """Nodes without the rows that something throws on, the sources first; None for those that were not looked at."""

    @cached_property
    def _catalyst(self) -> Catalyst:
        """As the run's, but for one thing: what several expressions share would be computed outside of all of them, and throw there."""
        session = self._run.questions.catalyst.jsession.cloneSession()
        session.conf().set("spark.sql.subexpressionElimination.enabled", "false")
        return Catalyst(self._recorder.spark, session)

    @cached_property
    def _exceptions(self) -> Exceptions:
        return Exceptions(self._catalyst)

    @cached_property
    def _steps(self) -> list[Step]:
        plan = self._catalyst.frame(Catalyst.plan(self._run.frame))._jdf.queryExecution().optimizedPlan()
        found: list[Step] = []

        def add(node: Node) -> int:
            inputs = tuple(add(child) for child in self._catalyst.children(node))
            found.append(Step(node, inputs))
            return len(found) - 1

        add(plan)
        return found

    def more(self) -> list[CrashCulprit] | None:
        """Some more culprits, of one operator after the other; None if there are none left."""
        if self._waiting:
            return self._told()
        if len(self._clean) == len(self._steps):
            return None
        step = self._steps[len(self._clean)]
        below = [self._clean[i] for i in step.inputs]
        if None in below or self._catalyst.runs_code(step.node):
            if None not in below:
                self._run.culprits.unknown.append(f"{self._operator(step.node)} runs Python code, and what crashes there or above it is not looked for yet.")
            self._clean.append(None)
            return []
        try:
            node, found = self._looked_at(step.node, below)
            self._waiting += found
        except (PySparkException, Py4JError) as trouble:
            if is_cancelled(self._catalyst, trouble):
                raise
            self._run.culprits.unknown.append(f"The rows of {self._operator(step.node)} could not be computed again: {_brief(trouble)}")
            node = None
        self._clean.append(node)
        return self._told()

    def _told(self) -> list[CrashCulprit]:
        """The culprits that come next of those that wait to be told what they threw."""
        if not self._waiting:
            return []
        operator, trial, rows, inside = self._waiting[0]
        bound = [self._catalyst.bound(expression, trial.rows) for expression in trial.expressions]
        told = [
            self._culprit(operator, trial, rows.popleft(), self._exceptions.thrown(bound, inside.popleft()))
            for _ in range(min(_AT_ONCE, len(rows)))
        ]
        if not rows:
            self._waiting.popleft()
        return told

    def _looked_at(self, node: Node, below: list[Node]) -> tuple[Node, list[Waiting]]:
        """A node over inputs on which nothing throws, without the rows that it throws on itself, and these."""
        c = self._catalyst
        found: list[Waiting] = []
        for trial in trials(c, c.with_children(node, below) if below else node):
            found += self._throwing(node, trial)
            if trial.input is not None:
                below[trial.input] = clean(c, trial)
        made = with_expressions(c, c.with_children(node, below), partial(tamed, c)) if below else node
        groups = of_groups(c, made) if made.nodeName() == "Aggregate" else None
        if groups is not None:
            found += self._throwing(node, groups[0])
            made = groups[1]
        return made, found

    def _throwing(self, node: Node, trial: Trial) -> list[Waiting]:
        c = self._catalyst
        inside = c.frame(culpable(c, trial)).limit(MOST)._jdf.queryExecution().executedPlan().executeCollect()
        if not len(inside):
            return []
        held = list(inside)
        rows = unheard(c.frame(c.local(trial.rows, held)), "collect")
        return [Waiting(self._operator(node), trial, deque(rows), deque(held))]

    def _culprit(self, operator: Operator, trial: Trial, row: Any, thrown: Thrown) -> CrashCulprit:
        return CrashCulprit(
            record=row, operator=operator, partition=None, exception_type=thrown.exception, message=thrown.message,
            user_line=thrown.line or operator.call_site, locals={}, traceback=thrown.place, finding=partial(self._trace, trial.rows, row),
        )

    def _trace(self, rows: Node, row: Any) -> LineageFrame:
        """The trace over what a row was made of."""
        run = self._recorder.aside(self._catalyst.frame(rows))
        return lineage_of(run).where(row).goBackAll()

    def _operator(self, node: Node) -> Operator:
        """The operator of the run that a node of the optimized plan is most of."""
        wanted = {a.exprId().id() for a in self._catalyst.items(node.output())}
        alike = [o for o in self._run.questions.root if o.name == node.nodeName()] or [self._run.questions.root]

        def shared(operator: Any) -> int:
            return len(wanted & {a.exprId().id() for a in self._catalyst.items(operator.node.output())})

        return self._run.graph[max(alike, key=shared).id]


def _brief(trouble: Exception) -> str:
    return (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]


class Thrown(NamedTuple):
    """What an expression throws: the name of the exception, its message, the user's line, and the piece of the query as Spark shows it."""

    exception: str
    message: str
    line: CallSite | None = None
    place: str = ""


UNREPEATED = Thrown("Exception", "it throws in this query, and not by itself")


class Exceptions:
    """Exceptions of the JVM as PySpark names them. To ask PySpark for each would take longer than the query."""

    def __init__(self, catalyst: Catalyst) -> None:
        self._catalyst = catalyst
        self._names: dict[str, str] = {}
        self._lines: dict[str, CallSite] = {}

    def thrown(self, bound: Sequence[Expr], row: Any) -> Thrown:
        """What the first of the expressions that throws on a row does throw."""
        for expression in bound:
            raised = raised_by(expression.eval, row)
            if raised is not None:
                return self._told(raised)
        return UNREPEATED

    def _told(self, raised: Any) -> Thrown:
        kind = raised.getClass().getName()
        if kind not in self._names:
            self._names[kind] = type(convert_exception(raised)).__name__
        name = kind.rpartition(".")[2] if self._names[kind] == "UnknownException" else self._names[kind]
        message = str(raised.getMessage()).split("\n== ")[0]
        contexts: Any = raised.getQueryContext() if self._catalyst.is_a(raised, _THROWABLE) else ()
        if not len(contexts):
            return Thrown(name, message)
        place = contexts[0].summary()
        if place not in self._lines:
            self._lines[place] = _line(contexts[0])
        return Thrown(name, message, self._lines[place], place.strip())


def _line(context: Any) -> CallSite:
    """Where a part of a query stands: the line of Python that made it, or the line within the SQL."""
    if context.contextType().toString() == "DataFrame":
        file, _, line = context.callSite().rpartition(":")
        return CallSite(file, int(line), getline(file, int(line)).strip())
    before = re.search(r"\(line (\d+)", context.summary())
    return CallSite("SQL", int(before[1]) if before else 1, context.fragment())
