"""Diagnosis of DataFrames: on which rows the expressions of a query that failed throw.

``IsNull(TryEval(IsNull(e)))`` holds exactly where ``e`` throws, so a pass over the rows of an operator finds all of its culprits
(DESIGN 4.3). The plan is the one that Spark optimized: what it pruned or filtered out before did not crash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.spark.crashes import ended
from bigdebug.spark.sql.blamed import Blamed, Input
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.code import Guarding
from bigdebug.spark.sql.crashing import as_written, crashing, functions_of
from bigdebug.spark.sql.expressions import Node
from bigdebug.spark.sql.failures import brief, is_cancelled
from bigdebug.spark.sql.folding import planned
from bigdebug.spark.sql.grouped import apart, of_values
from bigdebug.spark.sql.pickles import unread
from bigdebug.spark.sql.rewriting import with_expressions
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.scalars import subqueries, with_values
from bigdebug.spark.sql.sessions import SHARING
from bigdebug.spark.sql.sizes import Sizes
from bigdebug.spark.sql.spoiled import spoiled
from bigdebug.spark.sql.trials import clean, of_pairs, tamed, trials
from bigdebug.trace.culprits import CrashCulprit, Culprits

if TYPE_CHECKING:
    from bigdebug.spark.sql.recorder import FrameRecorder

_STOPPING = ("head", "first", "take", "show", "isEmpty", "tail", "toLocalIterator")
"""Actions that may not compute all rows."""

_LIMITS = ("GlobalLimit", "LocalLimit", "Offset", "Tail")


class Step(NamedTuple):
    """A node of a plan, and where its inputs, and the subqueries in its expressions, stand among the nodes before it."""

    node: Node
    inputs: tuple[int, ...]
    written: Node
    """The node that it is a part of in Spark's plan, if not itself."""
    asked: tuple[int, ...] = ()


class FrameDiagnosis:
    """Finds the culprits of a run of a DataFrame, an operator at a time; with ``besides``, more rows in the inputs of some."""

    def __init__(
        self, recorder: FrameRecorder, run: FrameRun, culprits: Culprits | None = None, besides: Mapping[Input, Sequence[Any]] | None = None,
    ) -> None:
        self._recorder = recorder
        self._run = run
        self._culprits = run.culprits if culprits is None else culprits
        self._besides = besides or {}
        self._clean: list[Node | None] = []
        """Nodes without the rows that something throws on, the sources first; None for those that were not looked at."""
        self._how = Guarding()
        self._looks = 0
        """How often all was looked at: what functions give comes second, whether Spark can read that third, for both take longer."""

    @cached_property
    def _catalyst(self) -> Catalyst:
        """As the run's, but for one thing: what several expressions share would be computed outside of all of them, and throw there."""
        session = self._run.questions.catalyst.jsession.cloneSession()
        session.conf().set(SHARING, "false")
        session.conf().set("spark.sql.limit.initialNumPartitions", str(max(1, self._recorder.spark.sparkContext.defaultParallelism)))
        return Catalyst(self._recorder.spark, session)

    @cached_property
    def _blamed(self) -> Blamed:
        return Blamed(self._recorder, self._run, self._catalyst, self._culprits, self._sizes)

    @cached_property
    def _sizes(self) -> Sizes:
        return Sizes(self._catalyst, [step.node for step in self._steps])

    @property
    def truncated(self) -> bool:
        """Whether more rows crash in an operator than are told."""
        return self._blamed.truncated

    @property
    def _counts(self) -> bool:
        """Whether only the number of rows was asked for: what makes the columns of rows, Spark leaves away."""
        return self._run.action == "count"

    @cached_property
    def _asked(self) -> Any:
        """The query that the action made."""
        return self._run.frame.groupBy().count() if self._counts else self._run.frame

    @cached_property
    def _steps(self) -> list[Step]:
        found: list[Step] = []
        try:
            plan = planned(self._catalyst, Catalyst.plan(self._asked))
        except (PySparkException, Py4JError) as trouble:
            if is_cancelled(self._catalyst, trouble):
                raise
            self._culprits.unknown.append(f"Spark could not plan the query once more: {brief(trouble)}")
            return found

        def add(node: Node) -> int:
            node = written = as_written(self._catalyst, node)
            if node.nodeName() == "Aggregate" and functions_of(self._catalyst, node):
                node = apart(self._catalyst, node) or node
            inputs = tuple(add(child) for child in self._catalyst.children(node))
            found.append(Step(node, inputs, written, tuple(map(add, subqueries(self._catalyst, node))) if asks else ()))
            return len(found) - 1

        asks = self._catalyst.asks_plan(plan)
        add(plan)
        return found

    def more(self) -> list[CrashCulprit] | None:
        """Some more culprits, of one operator after the other; None if there are none left."""
        if len(self._clean) == len(self._steps):
            return self._once_more()
        step = self._steps[len(self._clean)]
        below = [self._fed(Input(len(self._clean), number), self._clean[i]) for number, i in enumerate(step.inputs)]
        if None in below:
            self._clean.append(None)
            return []
        try:
            asked = with_values(self._catalyst, step.node, (self._clean[i] for i in step.asked)) if step.asked else step.node
            if asked is None:
                self._culprits.unknown.append(f"{self._blamed.operator(step.written)} asks a subquery whose one value is not known, so its own rows were not looked at.")
            node, found = (None, []) if asked is None else self._looked_at(asked, below, step.written)
        except (PySparkException, Py4JError) as trouble:
            if is_cancelled(self._catalyst, trouble):
                raise
            if ended(trouble) and not self._how.confined:
                self._how = self._how._replace(confined=True)
                return []
            self._culprits.unknown.append(f"The rows of {self._blamed.operator(step.written)} could not be computed again: {brief(trouble)}")
            node, found = None, []
        self._clean.append(node)
        return found

    @property
    def frame(self) -> Any:
        """The query without the rows that crash, once all of them are known; None if something of it could not be looked at."""
        if not self._clean or len(self._clean) != len(self._steps):
            return None
        counted = self._counts and self._steps[-1].node.nodeName() == "Aggregate"
        root = self._clean[self._steps[-1].inputs[0] if counted else -1]
        return None if root is None else self._recorder.apart(self._catalyst.frame(root))

    def _fed(self, where: Input, node: Node | None) -> Node | None:
        rows = self._besides.get(where)
        if node is None or not rows:
            return node
        schema = self._catalyst.frame(node).schema
        return self._catalyst.union([node, self._catalyst.plan(self._catalyst.spark.createDataFrame(list(rows), schema))])

    def _once_more(self) -> list[CrashCulprit] | None:
        """Where no function crashed, what some give may not fit their types, or be nothing that Spark can read."""
        culprits = self._culprits
        if culprits.known and (self._run.action in _STOPPING or any(step.node.nodeName() in _LIMITS for step in self._steps)):
            culprits.unknown.append("A limit stops when it has enough: some of these rows the action may not have come to.")
        if culprits.known or culprits.unknown:
            return None
        if self._looks == 2 or not any(functions_of(self._catalyst, step.node) for step in self._steps):
            culprits.unknown.append("No row crashed by itself when the query was run again, an operator after the other.")
            return None
        self._looks, self._how, self._clean = self._looks + 1, self._how._replace(strict=True), []
        return []

    def _looked_at(self, node: Node, below: list[Node], written: Node) -> tuple[Node | None, list[CrashCulprit]]:
        """A node over inputs on which nothing throws, without the rows that it throws on itself, and these."""
        c = self._catalyst
        found: list[CrashCulprit] = []
        if not below:
            source = spoiled(self._recorder, self._blamed, self._asked, node, len(self._clean), self._culprits.unknown)
            if source is not None:
                return source
        asked = self._sizes.asked(node)
        for trial in trials(c, c.with_children(node, below) if below else node):
            sized = [each for each in asked if not c.runs_code(each) and not c.asks_plan(each)]
            found += self._blamed.throwing(len(self._clean), written, trial._replace(sized=sized))
            if trial.input is not None:
                below[trial.input] = clean(c, trial)
        made = c.with_children(node, below) if below else node
        if made.nodeName() == "Join":
            pairs, made = of_pairs(c, made)
            found += [] if pairs is None else self._blamed.throwing(len(self._clean), written, pairs)
        elif below:
            made = with_expressions(c, made, partial(tamed, c))
        if functions := functions_of(c, made):
            if self._looks == 2:
                unreadable = unread(c, made, functions)
                if unreadable is not None and unreadable.clean is None:
                    self._culprits.unknown.append(f"What is computed of what {self._blamed.operator(written)} gives was not looked at, for not all of it can be read.")
                return (made, found) if unreadable is None else (unreadable.clean, [*found, *self._blamed.crashed(len(self._clean), written, unreadable.found)])
            code = crashing(c, made, functions, self._how._replace(sized=tuple(asked)))
            if code is None:
                self._culprits.unknown.append(f"{self._blamed.operator(written)} runs Python code that cannot be run under guard, nor what is above it.")
                return None, found
            self._sizes.saw(code.small)
            return code.clean, [*found, *self._blamed.crashed(len(self._clean), written, code.found)]
        values = of_values(c, made, self._sizes.small)
        if values is not None:
            trial, made = values
            found += self._blamed.throwing(len(self._clean), written, trial)
        return made, found
