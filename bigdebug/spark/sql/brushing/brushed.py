"""Brushed queries: the rows of a result as marks, and which records of an input each was made of, all at once.

Where a result is one group-by over rows that are each made of one record of the input, or is such rows itself, links are these rows: a brush then shows what the query
itself would give on the records that are brushed. Elsewhere (``composed.py``) links say only which records a mark has in its lineage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bigdebug.errors import ViewError
from bigdebug.spark.sql.brushing.composed import composed
from bigdebug.spark.sql.brushing.grouping import Groups, extended, group_by, groups_of, measured, rids_of, with_links
from bigdebug.spark.sql.brushing.result import Result
from bigdebug.spark.sql.joins import kind_of_join
from bigdebug.spark.sql.levels import BOUNDARIES
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.misses import sides_missing
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.crossfilter.outputs import Outputs


def outputs_of(traces: Sequence[LineageFrame], sources: Sequence[frozenset[int]]) -> list[Outputs]:
    """The rows of whole results, and the records of an input, of whose occurrences each has some among its ``sources``, that each was made of.

    A job for each result; one for the links of all that group the same rows; several where marks are only lit. Raises ViewError where rows would appear because records
    are not there, TooLargeError for more than a million rows of a result, and what any trace raises.
    """
    made = [_outputs(trace, occurrences) for trace, occurrences in zip(traces, sources, strict=True)]
    links = iter(with_links([each for each in made if isinstance(each, Groups)]))
    return [next(links) if isinstance(each, Groups) else each for each in made]


def _outputs(trace: LineageFrame, sources: frozenset[int]) -> Outputs | Groups:
    if trace.standing != {trace.run.subject: None}:  # which checks, too, that the query gives what it gave
        raise ViewError("Linked views show whole results, and this trace names some rows of one", value=repr(trace), remedy="Give the DataFrame, or its run.")
    steps = trace.run.questions.steps()
    group, above = group_by(steps.root)
    _check(steps.root, sources)
    indirect = dict.fromkeys(_indirect(steps.root if group is None else group.inputs[0], sources))
    if indirect:
        return _lit(steps, sources, " and ".join(indirect), group, above)
    return _rows(steps, sources) if group is None else groups_of(steps, group, above, sources)


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


def _lit(steps: Steps, sources: frozenset[int], through: str, group: PlanOperator | None, above: Sequence[PlanOperator]) -> Outputs:
    """Marks that are lit by their lineage, and follow no brush otherwise."""
    plan, name = steps.rows(steps.root.id, None)
    result = Result(steps)
    columns, found = result.read(plan, {"name": name})
    kept = frozenset() if group is None else frozenset(measured(steps.catalyst, group, above, result))
    codes, rids = composed(steps, found["name"], sources)
    note = f"Marks are only lit, by their lineage: they are made through {through}, which of some of the records need not give what it gave of all."
    return Outputs(columns, len(found["name"]), codes, [rids], notes=(note,), kept=kept)


def _rows(steps: Steps, sources: frozenset[int]) -> Outputs:
    """Each row of the result is made of one record of each occurrence, and is there if they are: nothing in it is computed anew."""
    root, takes = extended(steps, steps.root, sources)
    columns, found = Result(steps).read(root.plan, takes)
    rids = [rids_of(found[take]) for take in takes]
    return Outputs(columns, len(rids[0]), np.arange(len(rids[0])), rids)
