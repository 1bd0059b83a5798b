"""Kept rows: what an operator gave in the run, where another execution would give something else (Smoke's Inject, 3.2).

The action then runs on what was kept, in the place of the operator: so what it returns and what is traced are of one execution.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bigdebug.errors import UntraceableError
from bigdebug.spark.bars import counted
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.formats import PARQUET, format_of, reader_of
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.leaves import leaves_of, unreadable
from bigdebug.spark.sql.levels import OPAQUE, levels_of
from bigdebug.spark.sql.limits import cut_of, parted, placed
from bigdebug.spark.sql.naming import Naming
from bigdebug.spark.sql.partitions import PARTITIONED, check_partitions, check_settled
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.determinism import arriving, drawing
from bigdebug.spark.sql.plans.domains import DOMAIN
from bigdebug.spark.sql.plans.executions import observes, reads_cache, shares, shuffles
from bigdebug.spark.sql.plans.reading import Kept, PlanOperator
from bigdebug.spark.sql.plans.tablefunctions import check_rowwise

KEEPABLE = {"Project", "Filter", "Sample", "Limit", "Aggregate", "Window", "Generate"}
"""Operators whose rows can be kept: what they draw decides nothing about the rows that each of theirs was made of."""

_STILL = {"Project", "Filter", "Sample", "Generate", "Union", "Expand", "Limit"}
"""Operators that leave rows in the partitions of the sources: seeds draw the same there, with names riding along or without."""


def keeping(catalyst: Catalyst, users: Catalyst, frame: Any, root: PlanOperator, anyway: bool) -> PlanOperator:
    """The query of ``frame`` with the rows of operators that draw kept, by jobs that run now; ``root`` itself if there are none.

    Unless ``anyway``, nothing is kept where keeping might change what a seed draws: behind a shuffle, or over files that Spark
    would split otherwise; nor below a limit, where it would compute what the query does not.
    """
    operators = drawing(catalyst, root, limits=anyway)
    if anyway:
        operators = [*operators, *(operator for operator in arriving(catalyst, root) if operator not in operators)]
    elif not all(map(_undisturbed, operators)) or _cut_short(root, [operator.id for operator in operators]):
        return root
    asked = {o.id for operator in root for subquery in operator.subqueries for o in subquery}
    for operator in operators:
        if operator.id in asked:
            raise UntraceableError(
                f"{operator} draws within a subquery, and what it draws cannot be kept", value=operator.node.simpleString(5),
                remedy="Make the subquery a DataFrame of its own, with localCheckpoint().",
            )
        check_rowwise(catalyst, operator)
        if operator.name not in KEEPABLE:
            raise UntraceableError(f"What {operator} draws cannot be kept", value=operator.node.simpleString(5))
    drawn = {operator.id for operator in operators}
    # Which rows share a partition, and what a function makes of many rows, is a matter of the run too.
    also = {operator.id for operator in _held(root) if anyway}
    passing = anyway and any(unreadable(catalyst, operator) for operator in root)
    if not drawn and not also and not passing:
        return root
    _check_replaceable(users, frame, operators)
    if passing and any(operator.name == DOMAIN for operator in root):
        raise UntraceableError(
            "A subquery is computed for values of a source that cannot be read again", remedy="Put df.localCheckpoint() in the source's place.",
        )
    root = _with_snapshots(catalyst, root) if passing else root
    operators = [o for o in root if o.id in drawn or o.id in also]
    return _stored(catalyst, users, root, operators, drawn)


def _check_replaceable(users: Catalyst, frame: Any, drawing: Sequence[PlanOperator]) -> None:
    """Raise UntraceableError if the query on kept rows would be another one for the user."""
    plan = Catalyst.plan(frame)
    if reads_cache(users, frame):
        raise UntraceableError(
            "This query reads cached rows, and what they were made of cannot be kept any more",
            remedy="Put df.localCheckpoint() in the place of df.cache(): a trace ends there.",
        )
    if observes(plan):
        raise UntraceableError("observe() counts the rows of the query itself", remedy="Capture the query without observe().")
    if drawing and shares(plan):
        raise UntraceableError(
            "A WITH is read several times, and what is drawn in it is drawn once", remedy="Make it a DataFrame, with localCheckpoint().",
        )


def holding(
    catalyst: Catalyst, users: Catalyst, root: PlanOperator, given: Collection[int], leaves: Callable[[], Mapping[int, Leaf]],
) -> PlanOperator:
    """The query with what functions over many rows take and give held, so that each job of a question reads the same; and the rows
    of RDDs behind a shuffle, which come in another order each time. ``given`` are RDDs of rows that were in the driver, ``leaves`` gives the sources.

    A function over partitions gets those of the user's session; NondeterminismError if they cannot be had again.
    """
    opaque = _held(root)
    held = [
        o for o in root if o.kept is None
        and (o in opaque or (o.name == "LogicalRDD" and o.node.rdd().id() not in given and shuffles(catalyst, o.node.rdd())))
    ]
    for function in _over_partitions(root):
        check_settled(function, function.inputs[0])
    return _stored(catalyst, users, root, held, frozenset(), leaves)


def _with_snapshots(catalyst: Catalyst, root: PlanOperator) -> PlanOperator:
    """The query with what its sources give now in their place, where they need not give the same again."""
    made = root.over(catalyst, tuple(_with_snapshots(catalyst, child) for child in root.inputs))
    if not unreadable(catalyst, made):
        return made
    with counted(catalyst.spark.sparkContext, "keeping a source"):
        stored = catalyst.plan(unheard(catalyst.frame(made.node), "localCheckpoint"))
    version_2 = made.node.getClass().getSimpleName().startswith("DataSourceV2")
    dataset = made.dataset or (made.node.table().name() if version_2 else made.name)
    return replace(made, name=stored.nodeName(), node=stored, dataset=dataset)


def _held(root: PlanOperator) -> list[PlanOperator]:
    """Functions over many rows, and the inputs of those over partitions."""
    sides = [function.inputs[0] for function in _over_partitions(root)]
    return [operator for operator in root if operator in sides or operator.name in OPAQUE]


def _over_partitions(root: PlanOperator) -> list[PlanOperator]:
    """The functions over partitions."""
    return [operator for operator in root if operator.name in PARTITIONED]


def _stored(
    catalyst: Catalyst, users: Catalyst, root: PlanOperator, operators: Sequence[PlanOperator], drawn: Collection[int],
    leaves: Callable[[], Mapping[int, Leaf]] | None = None,
) -> PlanOperator:
    """The query with the rows of some operators stored, from the sources on: what stands above one reads what was stored.

    ``drawn`` are those of which another execution would give other rows, ``leaves`` gives the sources, if they are not those that the plan reads.
    """
    kept: dict[int, Kept] = {}
    functions = {function.inputs[0].id: function for function in _over_partitions(root)}
    for operator in operators:
        root = with_kept(catalyst, root, kept)
        here = next(o for o in root if o.id == operator.id)
        known = leaves_of(catalyst, root) if leaves is None else leaves()
        cut = cut_of(here)  # what an offset skips is a matter of the run as well
        plan, name = Naming(catalyst, known, levels_of(root, known, [operator.id])).exposed(here, limited=not cut.skip)
        rows = (users if here.id in functions else catalyst).frame(catalyst.project([*catalyst.items(here.node.output()), name], plan))
        rows = placed(rows, cut.end) if cut.skip else rows
        with counted(catalyst.spark.sparkContext, "following lineage"):
            if here.id in functions:
                check_partitions(users, functions[here.id], here, rows)
            stored = catalyst.plan(unheard(rows, "localCheckpoint"))
        stored, skipped = parted(catalyst, stored, cut.skip) if cut.skip else (stored, None)
        kept[operator.id] = Kept(stored, stored.output().last(), operator.id in drawn, skipped)
    return with_kept(catalyst, root, kept)


def with_kept(catalyst: Catalyst, root: PlanOperator, kept: Mapping[int, Kept]) -> PlanOperator:
    """The same operators over plans that read what was kept."""
    made = root.over(catalyst, tuple(with_kept(catalyst, child, kept) for child in root.inputs))
    # An expression asks its subquery as it is written: what draws in there cannot be replaced, and is refused.
    still = {operator: rows for operator, rows in kept.items() if not rows.drawn}
    if still and made.subqueries:
        made = replace(made, subqueries=tuple(with_kept(catalyst, subquery, still) for subquery in made.subqueries))
    return replace(made, kept=kept[root.id]) if root.id in kept else made


def _undisturbed(operator: PlanOperator) -> bool:
    below = list(operator)[:-1]
    return operator.name in _STILL and all(
        o.name in _STILL if o.inputs else o.name in ("Range", "LogicalRDD") or _splits_alike(o) for o in below
    )


def _cut_short(operator: PlanOperator, drawing: Collection[int], limited: bool = False) -> bool:
    """Whether a limit may end the query before one of the operators has given all its rows."""
    if limited and operator.id in drawing:
        return True
    limited = operator.name == "Limit" or (limited and not _reads_all(operator))
    return any(_cut_short(child, drawing, limited) for child in operator.inputs)


def _reads_all(operator: PlanOperator) -> bool:
    """Whether an operator has read all rows before it gives one."""
    return operator.name in ("Aggregate", "Window") or (operator.name == "Sort" and getattr(operator.node, "global")())


def _splits_alike(operator: PlanOperator) -> bool:
    """Whether Spark splits the files of a source alike whatever rides along; by buckets it does only where the query gains by it."""
    reader = reader_of(operator.node)
    return reader is not None and format_of(reader) == PARQUET and reader.bucketSpec().isEmpty()
