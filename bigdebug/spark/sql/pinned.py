"""Pinned: a query over the files that it read, whatever Spark lists for its sources by now. Spark sees an INSERT in all DataFrames of a table, also in those that ran before."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from bigdebug.spark.sql.formats import reader_of
from bigdebug.spark.sql.listings import is_in_memory, itself, listed
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.plans.rewriting import from_below, with_expressions, with_inputs

_MARK = "bigdebug.pinned"
"""An option of a relation while it is put into plans: to Spark one over another listing of the same folders is equal, and would not be taken in the other's place."""


def pinned(catalyst: Catalyst, plan: Node, known: Collection[str]) -> Node:
    """The plan over those files of its sources that are ``known``, by paths as Hadoop writes them; its columns have the same ids.

    A source whose listing cannot be put in another's place stays as it is. No job, some ms for each source.
    """
    if not any(reader_of(leaf) is not None for leaf in catalyst.leaves(plan)):
        return plan
    marked = _Putting(catalyst, _Pinning(catalyst, known).leaf).plan(plan)
    return _Putting(catalyst, partial(_unmarked, catalyst)).plan(marked)


def pinned_query(catalyst: Catalyst, root: PlanOperator, known: Collection[str]) -> PlanOperator:
    """The same of a query that has been read."""
    marked = _Putting(catalyst, _Pinning(catalyst, known).leaf).query(root)
    return _Putting(catalyst, partial(_unmarked, catalyst)).query(marked)


class _Putting:
    """Puts leaves in the place of others, in subqueries, too."""

    def __init__(self, catalyst: Catalyst, change: Callable[[Node], Node]) -> None:
        self._catalyst = catalyst
        self._change = change

    def plan(self, plan: Node) -> Node:
        return self._itself(with_inputs(self._catalyst, plan, self.plan))

    def query(self, root: PlanOperator) -> PlanOperator:
        inputs, subqueries = (tuple(map(self.query, below)) for below in (root.inputs, root.subqueries))
        made = root.over(self._catalyst, inputs)
        return replace(made, node=self._itself(made.node), subqueries=subqueries, view=tuple(map(self._itself, made.view)))

    def _itself(self, node: Node) -> Node:
        """A node that is a leaf, or with those of the subqueries in its own expressions."""
        if reader_of(node) is not None:
            return self._change(node)
        return node if node.subqueries().isEmpty() else with_expressions(self._catalyst, node, self._within)

    def _within(self, expression: Expr) -> Expr:
        return from_below(self._catalyst, expression, self._asking) if self._catalyst.asks_plan(expression) else expression

    def _asking(self, part: Expr) -> Expr:
        return part.withNewPlan(self.plan(part.plan())) if self._catalyst.is_subquery(part) else part


class _Pinning:
    """Makes leaves over listings of their own, marked."""

    def __init__(self, catalyst: Catalyst, known: Collection[str]) -> None:
        self._catalyst = catalyst
        self._known = known

    def leaf(self, node: Node) -> Node:
        reader = reader_of(node)
        made = self._listing(reader)
        return node if made is None else _over(self._catalyst, node, made, reader.options().updated(_MARK, "true"))

    def _listing(self, reader: Any) -> Any:
        """A listing of the files that are known, of which Spark lists none again; None where it does not take one."""
        c, listing = self._catalyst, reader.location()
        whole, roots = itself(c, listing), c.items(listing.rootPaths())
        if not roots or not is_in_memory(c, whole):
            return None
        found, statuses = list(listed(c, whole)), whole.allFiles()
        if len(found) != statuses.size():  # one that is read twice is refused
            return None
        added = [statuses.apply(number) for number, path in enumerate(found) if path not in self._known]
        kept = statuses.diff(c.seq(added)) if added else statuses
        # Spark looks for files in a cache of its own first: what is there for the first folder is all that it finds.
        datasources, kind = c.jvm.org.apache.spark.sql.execution.datasources, self._status
        cache = datasources.FileStatusCache.getOrCreate(c.jsession)
        try:
            for root, files in zip(roots, (kept, *(c.seq([]) for _ in roots[1:]))):
                cache.putLeafFiles(root, files.toArray(kind))
            if not all(cache.getLeafFiles(root).isDefined() for root in roots):  # it is switched off, or too small
                return None
            spec = None if whole is listing else whole.partitionSpec()  # the catalog's: no names of folders need tell it
            return datasources.InMemoryFileIndex(
                c.jsession, listing.rootPaths(), reader.options(), c.some(reader.partitionSchema()), cache, c.some(spec), c.some(None),
            )
        finally:
            cache.invalidateAll()

    @cached_property
    def _status(self) -> Any:
        """What a file is in a listing, as Scala's arrays want to know it."""
        tags = getattr(getattr(self._catalyst.jvm.scala.reflect, "ClassTag$"), "MODULE$")
        return tags.apply(self._catalyst.jvm.java.lang.Class.forName("org.apache.hadoop.fs.FileStatus"))


def _unmarked(catalyst: Catalyst, node: Node) -> Node:
    reader = reader_of(node)
    options = reader.options()
    return _over(catalyst, node, reader.location(), options.removed(_MARK)) if options.contains(_MARK) else node


def _over(catalyst: Catalyst, node: Node, listing: Any, options: Any) -> Node:
    """The leaf with another listing, and other options."""
    reader = reader_of(node)
    return catalyst.changed(node, {0: reader.copy(
        listing, reader.partitionSchema(), reader.dataSchema(), reader.bucketSpec(), reader.fileFormat(), options, reader.sparkSession(),
    )})
