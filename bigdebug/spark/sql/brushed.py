"""Brushed queries: the rows of a result as marks, and which records of an input each was made of, all at once.

Where a result is one group-by over rows that are each made of one record of the input, or is such rows itself, links are these rows: a brush then shows what the query
itself would give on the records that are brushed. Elsewhere (``composed.py``) links say only which records a mark has in its lineage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import functions as F

from bigdebug.errors import ViewError
from bigdebug.model import Rids
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.comparing import group_of
from bigdebug.spark.sql.composed import composed
from bigdebug.spark.sql.expressions import Expr, Node
from bigdebug.spark.sql.extended import Extended
from bigdebug.spark.sql.joins import kind_of_join
from bigdebug.spark.sql.keys import all_of, frame_of
from bigdebug.spark.sql.levels import BOUNDARIES
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.misses import sides_missing
from bigdebug.spark.sql.reading import PlanOperator
from bigdebug.spark.sql.recomputed import Recomputed, recomputed
from bigdebug.spark.sql.result import Result
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.crossfilter.aggregates import Aggregate
from bigdebug.trace.crossfilter.outputs import NO_RECORD, Followed, Outputs
from bigdebug.trace.names import array_of

_ABOVE = {"Project", "Sort", "Filter", "Limit", "ResolvedHint", "Repartition", "RepartitionByExpression", "RebalancePartitions"}
"""Operators above a group-by of which each row is one of its groups."""

_CHOOSING = {"Filter": "HAVING", "Limit": "LIMIT"}
"""Those of them that leave groups out for what is in them."""

_CODE = "__bigdebug_code"


class _Grouped(NamedTuple):
    """A group-by that a result is, and the operators above it, the highest first."""

    group: PlanOperator
    above: tuple[PlanOperator, ...]

    @classmethod
    def of(cls, root: PlanOperator) -> _Grouped | None:
        above, operator = [], root
        while operator.name in _ABOVE and operator.kept is None:
            above.append(operator)
            [operator] = operator.inputs
        return cls(operator, tuple(above)) if operator.name == "Aggregate" and operator.kept is None else None


def outputs_of(trace: LineageFrame, sources: frozenset[int]) -> Outputs:
    """The rows of a whole result, and the records of ``sources``, the occurrences of one input, that each was made of.

    A job for the result and one for the links; several where marks are only lit. Raises ViewError where rows would appear because records are not there,
    TooLargeError for more than a million rows, and what any trace raises.
    """
    if trace.standing != {trace.run.subject: None}:  # which checks, too, that the query gives what it gave
        raise ViewError("Linked views show whole results, and this trace names some rows of one", value=repr(trace), remedy="Give the DataFrame, or its run.")
    steps = trace.run.questions.steps()
    grouped = _Grouped.of(steps.root)
    _check(steps.root, sources)
    indirect = dict.fromkeys(_indirect(steps.root if grouped is None else grouped.group.inputs[0], sources))
    if indirect:
        return _lit(steps, sources, " and ".join(indirect))
    return _rows(steps, sources) if grouped is None else _groups(steps, grouped, sources)


def _check(operator: PlanOperator, sources: frozenset[int]) -> None:
    """Raise ViewError where a record that is not there would make rows appear, or all of them others."""
    missing = [side.id for side in sides_missing(operator)]
    for child in operator.inputs:
        if _reads(child, sources):
            if child.id in missing:
                raise ViewError(
                    f"{operator} gives rows, or other ones, because records of the brushed input are not there, and linked views do not show what appears",
                    remedy="Brush over an input that outer joins keep (over=...), or make it an inner join.",
                )
            _check(child, sources)
    if any(_reads(subquery, sources) for subquery in operator.subqueries):
        raise ViewError(
            f"{operator} asks the brushed input in a subquery, so all its rows hang on all records of that",
            remedy="Brush over another input (over=...), or write the value that the subquery gives into the query.",
        )


def _reads(operator: PlanOperator, sources: frozenset[int]) -> bool:
    return any(other.id in sources for other in operator)


def _indirect(operator: PlanOperator, sources: frozenset[int]) -> Iterator[str]:
    """The operators on the way to the sources whose rows are not there for one record of each alone."""
    if operator.id in sources or not _reads(operator, sources):
        return
    matching = kind_of_join(operator).name == "LeftSemi" and _reads(operator.inputs[1], sources)
    if matching or operator.name in BOUNDARIES or operator.name == "Sample" or operator.kept is not None:
        yield str(operator)
    for child in operator.inputs:
        yield from _indirect(child, sources)


# ---- rows -----------------------------------------------------------------------------------------------------------


def _lit(steps: Steps, sources: frozenset[int], through: str) -> Outputs:
    """Marks that are lit by their lineage, and follow no brush otherwise."""
    plan, name = steps.rows(steps.root.id, None)
    columns, found = Result(steps).read(plan, {"name": name})
    codes, rids = composed(steps, found["name"], sources)
    note = f"Marks are only lit, by their lineage: they are made through {through}, which of some of the records need not give what it gave of all."
    return Outputs(columns, len(found["name"]), codes, [rids], notes=(note,))


def _rows(steps: Steps, sources: frozenset[int]) -> Outputs:
    """Each row of the result is made of one record of each occurrence, and is there if they are: nothing in it is computed anew."""
    root, takes = _extended(steps, steps.root, sources)
    columns, found = Result(steps).read(root.plan, takes)
    rids = [_rids(found[take]) for take in takes]
    return Outputs(columns, len(rids[0]), np.arange(len(rids[0])), rids)


def _extended(steps: Steps, operator: PlanOperator, sources: frozenset[int]) -> tuple[Extended, dict[str, Expr]]:
    """The rows of an operator as they are, and the columns that name records of the sources in them."""
    naming = steps.naming
    extended = naming.extend(operator, witnesses=False) if operator.id in sources else naming.within(operator, witnesses=False)
    return extended, {f"r{name.level}": name.column for name in extended.names if name.level in sources}


def _rids(names: pa.Array) -> Rids:
    """The records that a column names; -1 for none."""
    rids: Rids = names.fill_null(NO_RECORD).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return rids


# ---- groups ---------------------------------------------------------------------------------------------------------


def _groups(steps: Steps, grouped: _Grouped, sources: frozenset[int]) -> Outputs:
    """Marks are groups, and links the rows that are grouped, with what is added up of each."""
    result = Result(steps)
    follows, notes = _follows(steps.catalyst, grouped, result)
    columns, keys = _marks(steps, grouped, result)
    codes, takes, values = _links(steps, grouped, sources, keys, follows)
    followed: dict[str, Followed | Aggregate] = {}
    for label, each in follows.items():
        found = values.get(label)
        if found is not None and not each.fits(found):
            notes.append(f"{label} stays as it is: Spark might not have room for its sum.")
        else:
            followed[label] = each.counted() if found is None else Followed(each.aggregate, found)
    if not grouped.group.node.groupingExpressions().length():
        notes.append("There is one row also of no records: it is there when its mark is not lit.")
    return Outputs(columns, len(keys[0]), codes, takes, followed, tuple(notes))


def _follows(catalyst: Catalyst, grouped: _Grouped, result: Result) -> tuple[dict[str, Recomputed], list[str]]:
    """The columns that are computed anew, and why others are not."""
    chosen = dict.fromkeys(_CHOOSING[operator.name] for operator in grouped.above if operator.name in _CHOOSING)
    if chosen:
        return {}, [f"Marks are only lit: {' and '.join(chosen)} would choose others of some of the records."]
    follows, notes = {}, []
    for label, column in zip(result.labels, result.outputs):
        how = recomputed(catalyst, grouped.above, grouped.group, column)
        if isinstance(how, Recomputed):
            follows[label] = how
        elif how.why:
            notes.append(f"{label} stays as it is: {how.why}.")
    return follows, notes


def _marks(steps: Steps, grouped: _Grouped, result: Result) -> tuple[dict[str, pa.Array], list[pa.Array]]:
    """The columns of the result, and the parts of the names of its groups."""
    c = steps.catalyst
    plan, name = steps.rows(steps.root.id, None)
    for operator in grouped.above:
        if operator.id in steps.levels:  # whose names are those of the level below, in a struct
            name = c.field(name, 0)
    columns, keys = result.read(plan, {f"k{i}": c.field(name, i) for i in range(len(group_of(c, grouped.group)))})
    return columns, list(keys.values())


def _links(
    steps: Steps, grouped: _Grouped, sources: frozenset[int], keys: Sequence[pa.Array], follows: Mapping[str, Recomputed],
) -> tuple[npt.NDArray[Any], list[Rids], dict[str, pa.Array]]:
    """The mark of each row that is grouped, the records that it was made of, and by column the values that are added up of it."""
    c = steps.catalyst
    rows, takes = _extended(steps, grouped.group.inputs[0], sources)
    wanted = {label: each.argument for label, each in follows.items() if each.argument is not None}
    arguments = _once(wanted)
    plan, code = _coded(c, rows.plan, group_of(c, grouped.group), keys)
    table = c.table(plan, takes | {f"v{i}": argument for i, argument in enumerate(arguments)} | {"code": code}).combine_chunks()
    values = [array_of(table[f"v{i}"]) for i in range(len(arguments))]
    codes = array_of(table["code"]).to_numpy(zero_copy_only=False)
    return codes, [_rids(array_of(table[take])) for take in takes], {
        label: next(value for value, known in zip(values, arguments) if known.semanticEquals(argument)) for label, argument in wanted.items()
    }


def _once(wanted: Mapping[str, Expr]) -> list[Expr]:
    """The arguments of all columns, each once."""
    found: list[Expr] = []
    for argument in wanted.values():
        if not any(known.semanticEquals(argument) for known in found):
            found.append(argument)
    return found


def _coded(catalyst: Catalyst, plan: Node, parts: Sequence[Expr], keys: Sequence[pa.Array]) -> tuple[Node, Expr]:
    """The rows of a plan that are in a group with one of ``keys``, and the number of that in as few bytes as it fits."""
    count = len(keys[0])
    kind, code = next((kind, code) for kind, code, most in _CODES if count <= most)
    kinds = [part.dataType().sql() for part in parts]
    names = [f"__bigdebug_key_{i}" for i in range(len(parts))]
    known = frame_of(catalyst, [*keys, pa.array(range(count), code)], [*names, _CODE], [*kinds, kind])
    same = all_of([catalyst.column(part).eqNullSafe(known[name]) for part, name in zip(parts, names)])
    joined = catalyst.plan(catalyst.frame(plan).join(F.broadcast(known), same, "inner"))
    return joined, joined.output().last()


_CODES = (("TINYINT", pa.int8(), 1 << 7), ("SMALLINT", pa.int16(), 1 << 15), ("INT", pa.int32(), 1 << 31))
"""Types of codes, and how many marks each has numbers for."""
