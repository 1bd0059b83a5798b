"""Replay and ex-replay of queries: the query of a run once more, on the rows of a trace or on all others (Newt 3.4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.types import StructType

from bigdebug.errors import ReplayError
from bigdebug.localize.comparison import Comparison, compared
from bigdebug.shown import plain
from bigdebug.spark.interruption import planning
from bigdebug.spark.predicate import EDIT, answering, told
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.far import together
from bigdebug.spark.sql.fitting import fitting
from bigdebug.spark.sql.plans.catalyst import bounded
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.replayed import run_of, with_name, without_name
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.substituting import substituted
from bigdebug.trace.given import number
from bigdebug.trace.names import NOTHING, Names

if TYPE_CHECKING:
    from bigdebug.spark.sql.lineage_frame import LineageFrame

Edit = Callable[[Row], Any]

MOST_EDITED = 20_000
"""Rows that are edited, at most: they come to the driver for it."""


class FrameReplay:
    """A query about to run again; made by ``trace.replay(...)``. Lazy: ``df`` is the query as a DataFrame of the user's session.

    It reads the records that the run read, restricted to those of the trace, or without them, or with others in their place. What follows
    is computed anew: a query that draws random numbers or asks the time may give something else than in the run. Rows that the run did not give may come
    where others decide about them by being there (anti joins, EXCEPT, windows, limits): on fewer records, they are not there.
    ``df`` can be captured and traced in its turn, if its sources are not rows in memory in several partitions.
    """

    def __init__(self, trace: LineageFrame, exclude: bool, at: Any, edit: Edit | None) -> None:
        self._trace, self._exclude, self._at, self._edit = trace, exclude, at, edit
        self._questions = trace.run.questions

    # ---- results ----------------------------------------------------------------------------------------------

    @cached_property
    @planning()
    def df(self) -> DataFrame:
        """The query with the rows of the trace restricted, dropped or changed. Raises ReplayError for one that cannot run on other rows."""
        made: DataFrame = self._questions.users.frame(self._root.plan(self._questions.users))
        return made

    @cached_property
    def run(self) -> FrameRun:
        """A run of no action, for questions about ``df``: its source records have the names, and the origins, that they have in the run that is replayed."""
        return run_of(self._trace.run, self.df, self._root, self._entered)

    @cached_property
    def _root(self) -> PlanOperator:
        c = self._questions.users
        given = {operator: without_name(c, plan) for operator, plan in self._entered.items()}
        return substituted(c, self._chosen._steps.root, given)

    @cached_property
    def _entered(self) -> dict[int, Node]:
        """By operator what the query reads there instead, with the names that the rows have in the run as the last column."""
        return {operator: self._given(operator, names) for operator, names in self._chosen.standing.items()}

    def collect(self) -> list[Row]:
        """The rows that the query gives now. Raises TooLargeError if they are more than Spark lets the driver take."""
        with bounded():
            found: list[Row] = unheard(self.df, "collect")
        return found

    def count(self) -> int:
        return int(unheard(self.df, "count"))

    def take(self, num: int) -> list[Row]:
        found: list[Row] = unheard(self.df, "take", number(num, "rows to take"))
        return found

    def toPandas(self) -> Any:
        with bounded():
            return unheard(self.df, "toPandas")

    def show(self, n: int = 20, truncate: int | bool = 20) -> None:
        """Print the first ``n`` rows, as PySpark does."""
        self.df.limit(number(n, "rows to show")).show(n, truncate)

    def compare(self) -> Comparison:
        """What is different from the query as it is: for a replay of traced rows, from the rows of the result that were traced."""
        run, trace = self._trace.run, self._trace
        if self._exclude:
            with bounded():
                return compared(unheard(run.questions.query, "collect"), self.collect())
        before = trace if trace.operators == (run.subject,) else trace.goNextAll()
        return compared(before.collect(), self.collect())

    def __repr__(self) -> str:
        where = ", ".join(str(self._trace.run.graph[o]) for o in self._aimed.operators)
        return plain(f"<replay of run {self._trace.run.name!r} {'without' if self._exclude and not self._edit else 'on'} records at {where}>")

    @property
    def _anew(self) -> bool:
        """Whether other rows than the traced ones run, or changed ones: then nothing that the run drew is kept."""
        return self._exclude or self._edit is not None

    # ---- which rows -------------------------------------------------------------------------------------------

    @cached_property
    def _aimed(self) -> LineageFrame:
        """The traced rows where they are restricted, dropped or changed."""
        trace = self._trace
        if self._at is None:
            leaves = frozenset(self._questions.leaves)
            drawn = frozenset() if self._anew else frozenset(operator.id for operator in self._questions.root if operator.draws)
            return trace if leaves.issuperset(trace.operators) else trace.back_to_any(leaves | drawn)
        goals = self._questions.occurrences(self._at)
        graph = trace.run.graph
        behind = any(goal in graph.upstream(operator) for goal in goals for operator in trace.operators)
        aimed: LineageFrame = trace.back_to(self._at) if behind else trace.forward_to(self._at)
        return aimed

    @cached_property
    def _chosen(self) -> LineageFrame:
        """The traced rows at all operators at which the query is entered; a source that it reads several times has them at each place."""
        aimed, leaves = self._aimed, self._questions.leaves
        found: dict[int, Names] = dict(aimed.standing)
        if not self._exclude and self._at is None:
            found = dict.fromkeys(leaves, NOTHING) | found
        elif not self._exclude:
            behind = self._trace.goBackAll().standing
            graph = self._trace.run.graph
            below = {u for operator in found for u in graph.upstream(operator)}
            found |= {leaf: behind.get(leaf, NOTHING) for leaf in leaves if leaf not in below}
        for dataset in {leaves[o].dataset for o in found if o in leaves}:
            places = [o for o in leaves if leaves[o].dataset == dataset and (self._at is None or o in found)]
            names = together([found[o] for o in places if o in found])
            found |= dict.fromkeys(places, names)
        return aimed.standing_at(found)

    def _given(self, operator: int, names: Names) -> Node:
        c, steps = self._questions.users, self._chosen._steps
        node = steps.operator(operator).node
        if self._exclude:
            rest = with_name(c, node, *steps.other_rows(operator, names))
            return rest if self._edit is None else c.union([rest, self._edited(operator, names)])
        chosen = with_name(c, node, *steps.rows(operator, names))
        if self._edit is not None and operator in self._aimed.standing:
            return c.local(chosen, c.held(c.frame(self._edited(operator, names))))
        return chosen

    def _edited(self, operator: int, names: Names) -> Node:
        """The rows with these names, each as it was edited, and its name."""
        assert self._edit is not None
        c, steps = self._questions.users, self._chosen._steps
        rows = c.frame(with_name(c, steps.operator(operator).node, *steps.rows(operator, names)))
        known: list[Row] = unheard(rows, "take", MOST_EDITED + 1)
        if len(known) > MOST_EDITED:
            raise ReplayError(f"Up to {MOST_EDITED:,} rows are edited, and these are more", remedy="Edit the DataFrame itself: df.withColumn(...), and compare with it.")
        schema, row_of = StructType(rows.schema.fields[:-1]), Row(*rows.columns[:-1])
        with told(EDIT):
            given = list(map(answering(self._edit), (row_of(*row[:-1]) for row in known)))
        edited = [(*fitting(each, schema), row[-1]) for each, row in zip(given, known)]
        return c.plan(c.spark.createDataFrame(edited, rows.schema))
