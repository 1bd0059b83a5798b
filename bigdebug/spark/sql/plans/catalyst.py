"""Catalyst: Spark's plans over the gateway. With its expressions (``expressions.py``, ``windows.py``), and what is in both
(``trees.py``), the one place that knows its classes and their versions.

What it executed, ``finished.py`` knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, reduce
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.pandas.conversion import PandasConversionMixin

from bigdebug.errors import TooLargeError
from bigdebug.spark.bars import counted
from bigdebug.spark.sql.plans.arrowable import arrowable
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.trees import Trees
from bigdebug.spark.sql.plans.windows import Windows

_SCAN = "org.apache.spark.sql.execution.FileSourceScanExec"

_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"


class Catalyst(Trees, Windows):
    """Reads and makes plans for one SparkSession. A call of the JVM takes 0.1 to 0.3 ms; plans are small."""

    def __init__(self, spark: Any, jsession: Any = None) -> None:
        """``jsession`` is the session in the JVM in which plans run; that of ``spark`` if None."""
        super().__init__(spark)
        self.jsession = spark._jsparkSession if jsession is None else jsession
        catalyst = self.jvm.org.apache.spark.sql.catalyst
        self._plans = catalyst.plans.logical
        self._optimizer = catalyst.optimizer

    @property
    def minds_case(self) -> bool:
        """Whether names that differ in case are different names."""
        return bool(self.jsession.sessionState().conf().caseSensitiveAnalysis())

    @contextmanager
    def active(self) -> Iterator[None]:
        """Within: the session is the active one of this thread of the JVM, so that what is computed there has its settings."""
        sessions = self.jvm.org.apache.spark.sql.classic.SparkSession
        before = sessions.getActiveSession()
        sessions.setActiveSession(self.jsession)
        try:
            yield
        finally:  # others may be given this thread
            sessions.setActiveSession(before.get()) if before.isDefined() else sessions.clearActiveSession()

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Within: tasks have the session's settings, which Spark hands to those of its own actions alone. Expressions that are computed as objects ask for them there."""
        sc = self.spark.sparkContext._jsc.sc()
        before = sc.getLocalProperties()
        properties = before.clone()
        properties.putAll(self.jvm.scala.jdk.javaapi.CollectionConverters.asJava(self.jsession.sessionState().conf().getAllConfs()))
        sc.setLocalProperties(properties)
        try:
            yield
        finally:
            sc.setLocalProperties(before)

    @staticmethod
    def plan(frame: Any) -> Node:
        """The analyzed plan of a DataFrame."""
        return frame._jdf.queryExecution().analyzed()

    def frame(self, plan: Node) -> Any:
        """The DataFrame of a plan; its columns are those of the plan, with their ids."""
        return DataFrame(self.jvm.org.apache.spark.sql.classic.Dataset.ofRows(self.jsession, plan), self.spark)

    def table(self, plan: Node, columns: Mapping[str, Expr]) -> pa.Table:
        """Columns of a plan, computed now. No action of the user's: it is not captured.

        Raises TooLargeError if they are more than Spark lets the driver take.
        """
        asked = {name: self.lenient(column) for name, column in columns.items()}
        frame = self.frame(self.project([self.alias(column, name) for name, column in asked.items()], plan))
        kinds = [(field.dataType, arrowable(field.dataType)) for field in frame.schema.fields]
        if any(now is not kind for kind, now in kinds):
            taken = [column if now is kind else self.as_type(column, now.json()) for column, (kind, now) in zip(asked.values(), kinds)]
            frame = self.frame(self.project([self.alias(column, name) for name, column in zip(asked, taken)], plan))
        with bounded(), counted(self.spark.sparkContext, "following lineage"):
            return PandasConversionMixin.toArrow(frame)

    def leaves(self, plan: Node) -> list[Node]:
        """The sources of a plan, and of the subqueries in it."""
        plans = [plan, *self.items(plan.subqueriesAll())]
        return [leaf for each in plans for leaf in self.items(each.collectLeaves())]

    def files(self, listing: Any) -> list[str]:
        """The URIs of the files in a listing of Spark's, in one call."""
        joined = self.jvm.org.apache.hadoop.util.StringUtils.join("\n", listing.inputFiles())
        return joined.split("\n") if joined else []

    def splits(self, leaf: Node) -> list[tuple[str, int]]:
        """The file, and the first byte in it, that each partition of a relation of files reads; each reads one."""
        return [part for [part] in self.scanned(self.frame(leaf))]

    def scanned(self, frame: Any) -> list[list[tuple[str, int]]]:
        """For each partition of files that a query without shuffles reads, the files, and the first byte in each."""
        scans = [s for s in self.items(frame._jdf.queryExecution().executedPlan().collectLeaves()) if self.is_a(s, _SCAN)]
        parts = [part for scan in scans for part in self.items(scan.inputRDDs().head().filePartitions())]
        return [[(file.urlEncodedPath(), file.start()) for file in part.files()] for part in parts]

    def with_children(self, node: Node, children: Sequence[Node]) -> Node:
        return node.withNewChildren(self.seq(children))

    def project(self, columns: Iterable[Expr], child: Node) -> Node:
        return self._plans.Project(self.seq(columns), child)

    def extended(self, child: Node, columns: Iterable[Expr]) -> Node:
        """All columns of ``child``, and more."""
        return self.project([*self.items(child.output()), *columns], child)

    def carrying(self, projection: Node, child: Node, column: Expr) -> Node:
        """A projection over another plan with the same columns and one more, which goes along."""
        return self._plans.Project(projection.projectList().appended(column), child)

    def generated(self, generator: Expr, columns: Sequence[Expr], child: Node) -> Node:
        """All columns of ``child``, with those that a generator gives."""
        return self._plans.Generate(generator, self.seq([]), False, self._nothing, self.seq(columns), child)

    def filter(self, condition: Expr, child: Node) -> Node:
        return self._plans.Filter(condition, child)

    def join(self, left: Node, right: Node, kind: str, condition: Any, hint: Any) -> Node:
        """``condition`` and ``hint`` as another join has them."""
        joins = self.jvm.org.apache.spark.sql.catalyst.plans.JoinType
        return self._plans.Join(left, right, joins.apply(kind), condition, hint)

    def inner(self, left: Node, right: Node, conditions: Sequence[Expr]) -> Node:
        """The pairs of rows for which all conditions hold; all pairs if there are none."""
        return self.joined("inner", left, right, conditions)

    def joined(self, kind: str, left: Node, right: Node, conditions: Sequence[Expr]) -> Node:
        """A join of some kind on all conditions."""
        hints = getattr(getattr(self._plans, "JoinHint$"), "MODULE$")
        return self.join(left, right, kind, self.some(self.all_hold(conditions) if conditions else None), hints.NONE())

    def local(self, like: Node, rows: Any) -> Node:
        """A plan of rows that the JVM holds, as a Scala Seq, with the columns of another one."""
        return self._plans.LocalRelation(like.output(), rows, False, self._nothing)

    def of_rdd(self, rdd: Any, schema: Any) -> Any:
        """The DataFrame of the rows of an RDD of the JVM's."""
        return DataFrame(self.jsession.internalCreateDataFrame(rdd, schema, False), self.spark)

    def held(self, frame: Any) -> Any:
        """The rows of a DataFrame as the JVM has them, in a Scala Seq."""
        plan = frame._jdf.queryExecution().executedPlan()
        with self.settled():
            rows = plan.executeCollect()
        return getattr(getattr(self.jvm.scala.collection.immutable, "ArraySeq$"), "MODULE$").unsafeWrapArray(rows)

    def first_of(self, row: Any, plan: Node) -> Expr:
        """The first value of a row of a plan that the JVM holds: on its way through Python it would change its type."""
        return self.field(self._expressions.Literal(row, plan.schema()), 0)

    def bound(self, expression: Expr, columns: Sequence[Expr]) -> Expr:
        """The expression, to be computed on rows with these columns that the JVM holds."""
        return self._object("BindReferences").bindReference(expression, getattr(self._expressions, "package$AttributeSeq")(self.seq(columns)), False)

    def projection(self, some: Sequence[Expr], columns: Sequence[Expr]) -> Any:
        """What gives some of the columns of rows that the JVM holds, the same object each time."""
        return self._object("UnsafeProjection").create(self.seq([self.bound(column, columns) for column in some]))

    def aggregated(self, node: Node, columns: Sequence[Expr]) -> Node:
        """An aggregate with other columns of the same groups."""
        return self.changed(node, {1: self.seq(columns)})

    def union(self, plans: Sequence[Node]) -> Node:
        """All rows of all plans; columns by position, with the ids of the first plan's."""
        return self.plan(reduce(lambda one, other: one.unionAll(other), [self.frame(plan) for plan in plans]))

    def rule(self, name: str) -> Any:
        """A rule of Spark's optimizer, which is an object."""
        return getattr(getattr(self._optimizer, f"{name}$"), "MODULE$")

    def becomes_join(self, expression: Expr) -> bool:
        """Whether Spark makes joins of the subqueries of an expression that say whether there are rows."""
        return bool(self._expressions.SubqueryExpression.hasInOrCorrelatedExistsSubquery(expression))

    @property
    def exists_has_condition(self) -> bool:
        """Whether the rule that makes a join of an EXISTS asks for its condition: up to 4.1 it does, also where there is none."""
        return str(self.spark.version).startswith(("4.0.", "4.1."))

    @cached_property
    def inline_ctes(self) -> Any:
        """The rule that puts the plan of a CTE in the place of each reference."""
        rule = self._optimizer.InlineCTE
        takes = len(self.jvm.java.lang.Class.forName(f"{_OPTIMIZER}.InlineCTE").getConstructors()[0].getParameterTypes())
        return rule(*(True, False, False)[:takes])  # always; the others keep references, and differ between versions


@contextmanager
def bounded() -> Iterator[None]:
    """Within: what is more than Spark lets the driver take is a TooLargeError."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as problem:
        if "spark.driver.maxResultSize" not in str(problem):
            raise
        raise TooLargeError(
            "This answer is larger than the driver takes",
            remedy="Ask about fewer rows, count() or toDF() them, or set spark.driver.maxResultSize higher.",
        ) from problem


def same_query(one: Any, other: Any) -> bool:
    """Whether two DataFrames are one query."""
    return one is other or bool(one._jdf.queryExecution().equals(other._jdf.queryExecution()))
