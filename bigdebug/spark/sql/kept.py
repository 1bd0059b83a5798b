"""Kept rows: what an operator gave in the run, where another execution would give something else (Smoke's Inject, 3.2).

The action then runs on what was kept, in the place of the operator: so what it returns and what is traced are of one execution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bigdebug.errors import UntraceableError
from bigdebug.spark.sql.catalyst import Catalyst, Node
from bigdebug.spark.sql.determinism import drawing
from bigdebug.spark.sql.leaves import leaves_of
from bigdebug.spark.sql.procedures import Procedures, levels_of
from bigdebug.spark.sql.reading import Kept, PlanOperator
from bigdebug.spark.sql.tablefunctions import check_rowwise

KEEPABLE = {"Project", "Filter", "Sample", "Limit", "Aggregate", "Generate"}
"""Operators whose rows can be kept: what they draw decides nothing about the rows that each of theirs was made of."""

_STILL = {"Project", "Filter", "Sample", "Generate", "Union", "Expand", "Limit"}
"""Operators that leave rows in the partitions of the sources: seeds draw the same there, with names riding along or without."""


def keeping(catalyst: Catalyst, root: PlanOperator, anyway: bool) -> PlanOperator:
    """The query with the rows of operators that draw kept, by jobs that run now; ``root`` itself if there are none.

    Unless ``anyway``, nothing is kept where keeping might change what a seed draws: behind a shuffle, or over files that Spark
    would split otherwise.
    """
    operators = drawing(catalyst, root, limits=anyway)
    if not operators or not (anyway or all(map(_undisturbed, operators))):
        return root
    for operator in operators:
        check_rowwise(catalyst, operator)
        if operator.name not in KEEPABLE:
            raise UntraceableError(f"What {operator} draws cannot be kept", value=operator.node.simpleString(5))
    kept: dict[int, Kept] = {}
    for operator in operators:  # from the sources on: what a later one draws, it draws over what was kept
        root = with_kept(catalyst, root, kept)
        here = next(o for o in root if o.id == operator.id)
        procedures = Procedures(catalyst, leaves_of(catalyst, root), levels_of(root, [operator.id]))
        plan, name = procedures.exposed(here)
        stored = catalyst.plan(catalyst.frame(catalyst.project([*catalyst.items(here.node.output()), name], plan)).localCheckpoint())
        kept[operator.id] = Kept(stored, stored.output().last())
    return with_kept(catalyst, root, kept)


def with_kept(catalyst: Catalyst, root: PlanOperator, kept: Mapping[int, Kept]) -> PlanOperator:
    """The same operators over plans that read what was kept."""
    made = root.over(catalyst, tuple(with_kept(catalyst, child, kept) for child in root.inputs))
    return replace(made, kept=kept[root.id]) if root.id in kept else made


def _undisturbed(operator: PlanOperator) -> bool:
    below = list(operator)[:-1]
    return operator.name in _STILL and all(
        o.name in _STILL if o.inputs else o.name in ("Range", "LogicalRDD") or _is_parquet(o) for o in below
    )


def _is_parquet(operator: PlanOperator) -> bool:
    relation = operator.node.relation() if operator.name == "Relation" else None
    return relation is not None and relation.getClass().getSimpleName() == "HadoopFsRelation" and (
        relation.fileFormat().getClass().getSimpleName() == "ParquetFileFormat"
    )
