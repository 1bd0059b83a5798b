"""Questions about one query: its operators, its sources, and the steps between them; read from the plan when first asked."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import cached_property
from typing import Any, TypeVar, overload

from pyspark.sql import DataFrame

from bigdebug.errors import UnknownOperatorError, UntraceableError
from bigdebug.graph import OperatorGraph
from bigdebug.spark.interruption import planning
from bigdebug.spark.process import answering
from bigdebug.spark.sql.absences import Absences
from bigdebug.spark.sql.conditions import Conditions, unnamed_stamps_of
from bigdebug.spark.sql.declared import Declared
from bigdebug.spark.sql.indexes import Built, build
from bigdebug.spark.sql.kept import holding
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.leaves import leaves_of
from bigdebug.spark.sql.levels import OPAQUE
from bigdebug.spark.sql.listings import cached_listings_of, listings_of
from bigdebug.spark.sql.malformed import check_malformed
from bigdebug.spark.sql.misses import with_misses
from bigdebug.spark.sql.pinned import pinned, pinned_query
from bigdebug.spark.sql.plans.arrivals import Unsettled, inexact
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.determinism import check_expressions
from bigdebug.spark.sql.plans.executions import reads_cache
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.reading import PlanOperator, graph_of, read
from bigdebug.spark.sql.plans.tablefunctions import check_rowwise
from bigdebug.spark.sql.quiet import quiet
from bigdebug.spark.sql.records import Found
from bigdebug.spark.sql.steps import Steps
from bigdebug.spark.sql.walks import traced, walk
from bigdebug.trace.names import NOTHING, Names
from bigdebug.trace.origins import Stamp

_T = TypeVar("_T")


class _Once(cached_property[_T]):
    """Found by one thread, though think time and the user may ask for it at the same time: names of two readings do not match."""

    @overload
    def __get__(self, questions: None, owner: type[Any] | None = None) -> _Once[_T]: ...
    @overload
    def __get__(self, questions: object, owner: type[Any] | None = None) -> _T: ...
    def __get__(self, questions: Any, owner: type[Any] | None = None) -> Any:
        if questions is None:
            return self
        with questions.reading, planning():
            return super().__get__(questions, owner)


class Questions:
    """What can be asked about the query of one run, under the conditions under which it ran."""

    def __init__(
        self, spark: Any, frame: DataFrame, conditions: Future[Conditions], given: Collection[int], root: PlanOperator | None = None,
    ) -> None:
        """``given`` are the JVM's numbers of rows that the program gave as they are. ``root`` is the query as it was executed, if that is
        not the frame's own.
        """
        self._spark = spark
        self._frame = frame
        self._given = given
        self._analyzed = Catalyst.plan(frame)
        self._executed = root
        self._conditions = conditions
        self._steps: dict[frozenset[int], Steps] = {}
        self._completing: dict[frozenset[int], Absences] = {}
        self._settled: set[int] = set()
        self._alike: dict[int, int] = {}
        self._shown: dict[int, tuple[Node, list[Expr]]] = {}
        self.reading = threading.RLock()
        self.declared: Declared | None = None
        self._built_for: Declared | None = None
        self.built: list[Built] = []

    @property
    def stamps(self) -> Mapping[str, Stamp]:
        """The files that the query read, as they were then, by their paths as Hadoop writes them."""
        return self._conditions.result().stamps

    @cached_property
    def unnamed(self) -> Mapping[str, Stamp]:
        """Files that the query read by data sources of version 2, none of whose records has a name, in the same way."""
        return unnamed_stamps_of(self.catalyst, self._analyzed)

    @cached_property
    def catalyst(self) -> Catalyst:
        """Plans in the session of then."""
        return Catalyst(self._spark, self._conditions.result().jsession)

    @cached_property
    def users(self) -> Catalyst:
        """Plans in the user's own session: for DataFrames that are given away."""
        return Catalyst(self._spark)

    def replayed(self, root: PlanOperator, leaves: dict[int, Leaf]) -> Questions:
        """Questions about the same query over other records, under the same conditions: ``leaves`` are what ``root`` reads."""
        made = Questions(self._spark, self._frame, self._conditions, self._given)
        vars(made).update(root=root, leaves=leaves)
        return made

    @planning()
    def check(self) -> None:
        """Raise SourceChangedError if a file is not what it was when the query read it, IncompleteLineageError without Spark."""
        answering(self._spark.sparkContext)
        self._conditions.result().check(self.catalyst, self._listings, self._read)

    def _read(self) -> list[Any]:
        """The listings that questions read, and those of which they would be given what Spark has cached."""
        return [*listings_of(self.catalyst, self._plan), *cached_listings_of(self.catalyst, self._plan)]

    @property
    def moved(self) -> bool:
        """Whether Spark lists files for the DataFrame by now that the query did not read."""
        return bool(self._conditions.result().added(self.catalyst, self._listings))

    @property
    def query(self) -> DataFrame:
        """The query over the files that it read: the DataFrame itself, if these are what Spark lists for it."""
        made: DataFrame = self.users.frame(self._plan) if self.moved else self._frame
        return made

    def indexed(self) -> Steps | None:
        """The steps whose levels are all indexed by now, both ways; None if some are not. Costs nothing.

        Nor where the result is a source itself: no index says which records a source has.
        """
        steps = self._steps.get(frozenset())
        if steps is None or self.declared is not None or not (steps.levels - steps.sources) | {self.root.id} <= steps.indexes.keys():
            return None
        return steps if all(index.answers(None, ahead=True) and index.whole for index in steps.indexes.values()) else None

    @cached_property
    def _listings(self) -> list[Any]:
        return listings_of(self.catalyst, self._analyzed)

    @_Once
    def _plan(self) -> Node:
        """The plan over the files that the query read: Spark sees an INSERT in that of the DataFrame."""
        return pinned(self.catalyst, self._analyzed, self.stamps)

    @_Once
    def root(self) -> PlanOperator:
        executed = self._executed and pinned_query(self.catalyst, self._executed, self.stamps)
        return with_misses(self.catalyst, quiet(self.catalyst, executed or read(self.catalyst, self._plan)))

    @_Once
    def _held(self) -> PlanOperator:
        """The query as it is asked: what functions make of many rows stays as it is from one job to the next."""
        return holding(self.catalyst, self.users, self.root, self._given, lambda: self.leaves)

    @cached_property
    def operators(self) -> dict[int, PlanOperator]:
        return {operator.id: operator for operator in self.root}

    def occurrences(self, given: Any) -> frozenset[int]:
        """The id of an operator, given as an operator of the graph or as its id; of a DataFrame, those of all places where it stands."""
        if isinstance(given, DataFrame):
            if found := self._operators_of(given):
                self._alike.update(dict.fromkeys(found, min(found)))
                return frozenset(found)
            raise UnknownOperatorError(
                "The query was not made of this DataFrame", value=given,
                remedy="Give one that it was made of, or for forward_to() one that was made of it; or an operator of run.graph. Behind a "
                "checkpoint, hold the DataFrame that it was taken of.",
            )
        number = getattr(given, "id", given)
        if isinstance(number, bool) or not isinstance(number, int):
            raise UnknownOperatorError(
                "This is not an operator", value=given, remedy="Give a DataFrame that the query was made of, or an operator of run.graph.",
            )
        return frozenset([self.graph[number].id])

    def made_of(self, frame: DataFrame) -> bool:
        """Whether the query was made of a DataFrame."""
        return bool(self._operators_of(frame))

    def _operators_of(self, frame: DataFrame) -> list[int]:
        """Of operators that give the same rows one after the other, the last."""
        plan = quiet(self.catalyst, read(self.catalyst, pinned(self.catalyst, Catalyst.plan(frame), self.stamps))).node
        found = [operator for operator in self.root if operator.node.sameResult(plan)]
        return [operator.id for operator in found if not any(operator in above.parents for above in found)]

    def bottom(self, operator: int) -> int:
        """Of operators that give the same rows one after the other, the first on the way to one."""
        here = self.operators[operator]
        while len(here.inputs) == 1 and here.inputs[0].node.sameResult(here.node):
            [here] = here.inputs
        return here.id

    def one_of(self, operator: int) -> Any:
        """What stands for all places of a source, or of a DataFrame, in the query."""
        leaf = self.leaves.get(operator)
        return self._alike.get(operator, operator) if leaf is None else leaf.dataset

    @_Once
    def leaves(self) -> dict[int, Leaf]:
        """The sources, by operator."""
        return leaves_of(self.catalyst, self.root)

    def shown(self, operator: int) -> tuple[Node, list[Expr]]:
        """All rows of an operator, in the columns that they have to the user, and these columns."""
        if operator not in self._shown:
            leaf = self.leaves.get(operator)
            plan = self.operators[operator].node if leaf is None else leaf.rows(self.catalyst)
            self._shown[operator] = plan, self.catalyst.items(plan.output())
        return self._shown[operator]

    @_Once
    def graph(self) -> OperatorGraph:
        try:
            names = {i: leaf.dataset for i, leaf in self.leaves.items()}
        except UntraceableError:  # what there is to see of it is seen
            names = {o.id: o.dataset or o.name for o in self.root if not o.inputs}
        return graph_of(self.root, names)

    @_Once
    def unsettled(self) -> Unsettled:
        """The columns that depend on the order in which rows arrive.

        Raises NondeterminismError for worse, and UntraceableError for functions of which nobody knows what made their rows.
        """
        check_malformed(self.catalyst, self.root)
        for operator in self.root:
            check_rowwise(self.catalyst, operator)
        return check_expressions(self.catalyst, self.root)

    @cached_property
    def _varying(self) -> Collection[int]:
        """The ids of the columns by whose values rows are not found again: the unsettled ones, and those of which the last digits are."""
        return self.unsettled.columns | inexact(self.catalyst, self.root)

    @property
    def loose(self) -> Collection[int]:
        """The ids of all columns that another execution may give otherwise, also those of which only the order of elements, or the letters of equal texts."""
        return frozenset(self._varying) | self.unsettled.orders | self.unsettled.alike

    @cached_property
    def settled_by_plan(self) -> bool:
        """Whether the plan alone says that each execution gives the same.

        No function of a user's, no order of rows, nothing that was read before the query ran.
        """
        if self.catalyst.runs_code(self.root.node) or reads_cache(self.users, self._frame):
            return False
        return not any(o.name in ("Window", *OPAQUE) or (o.name == "LogicalRDD" and not self._is_still(o.node.rdd())) for o in self.root)

    def _is_still(self, rdd: Any) -> bool:
        """Whether an RDD of the JVM gives the same each time, whatever functions it was made with."""
        return rdd.id() in self._given or bool(rdd.isCheckpointed())

    def steps(self, others: Iterable[int] = ()) -> Steps:
        """The steps that stop at boundaries and at ``others``.

        Raises SourceChangedError or NondeterminismError if the query would not give what it gave; whether a limit at its
        end is settled, ``settle`` finds out.
        """
        self.check()
        stops = frozenset(others)
        with self.reading:
            if stops not in self._steps:
                _ = self.unsettled  # raises, where the query is not the same each time
                steps = Steps(self.catalyst, self._held, self.leaves, sorted(stops), lambda: self._varying)
                for operator in self._held:
                    if operator.name != "Limit" or operator.id != self.root.id:
                        self._settle(steps, operator)
                self._steps[stops] = steps
            return self._steps[stops]

    def index(self, records: Names | None) -> Sequence[Built]:
        """Index what will be asked, everything if nobody declared it; ``records`` are the names of the result's rows, if known.

        What was indexed before something else was declared is let go.
        """
        steps = self.steps()
        if self._built_for is not self.declared:
            steps.indexes.clear()
            self.built.clear()
            self._built_for = self.declared
        if self.declared is None:
            self.built.extend(build(steps, self.root.id, records, self.leaves))
            self._absences(frozenset()).close()
        else:
            self.built.extend(self.declared.build(steps, self.root.id, records, self.leaves))
        return self.built

    def sources(self, start: Found, others: frozenset[int], goals: frozenset[int]) -> Found:
        """The records of the sources ``goals`` that records of some levels were made of, and what these need besides to come out again:
        that is found for all sources at once, and given.
        """
        steps, absences = self.steps(others), self._absences(others)
        if not absences.possible:
            return walk(steps, start, goals, ahead=False)
        visited, found = traced(steps, start)
        completed = absences.completed(visited, found)
        return {at: completed.get(at, NOTHING) for at in self.leaves}

    @cached_property
    def by_steps(self) -> bool:
        """Whether steps alone find all that a result needs."""
        return self.goes_by_steps(frozenset())

    def goes_by_steps(self, others: frozenset[int]) -> bool:
        """The same of steps that stop at ``others`` besides."""
        return not self._absences(others).possible

    def _absences(self, others: frozenset[int]) -> Absences:
        if others not in self._completing:
            self._completing[others] = Absences(self.catalyst, self._held, self.leaves, self.steps(others))
        return self._completing[others]

    def settle(self) -> None:
        """Raise NondeterminismError if the query ends in a limit that may keep other rows each time."""
        if self.root.name == "Limit":
            self._settle(self.steps(), self._held)

    def _settle(self, steps: Steps, operator: PlanOperator) -> None:
        if operator.id not in self._settled and not operator.draws:
            steps.check(operator)
            self._settled.add(operator.id)
