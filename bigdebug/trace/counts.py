"""Counts: how many records of an operator the run saw in each partition, and in which of them it saw all."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from typing import TYPE_CHECKING

from bigdebug.errors import IncompleteLineageError
from bigdebug.graph import Form, Operator, OperatorGraph, Stage
from bigdebug.store.blocks import Block

if TYPE_CHECKING:
    from bigdebug.trace.lineage import Lineage


_BY_A_JOB = "What no function in Python read is counted by a job: save the run with dbg.save(DIR, lineage=True), or ask the live session."


class _NobodyToldError(IncompleteLineageError):
    """No task told of an operator."""


def records(lineage: Lineage, operator: int) -> dict[int, int]:
    """How many records of ``operator`` the run saw, by partition."""
    subject = lineage.graph[operator]
    stages = list(lineage.stages.levels(operator))
    found = _most(lineage, [at for at in stages if not at[0].adopted])
    if subject.form.pieced:
        known = [records(lineage, parent) for parent in subject.parents]
        return {**_added(subject, pieces(lineage.graph, subject), known), **found}
    if found or not subject.partitions:
        return found
    adopted = [at for at in stages if at[0].adopted]
    if adopted or subject.form is Form.SOURCE:
        # Blocks of what was there already are of partitions that a trace asked for since: they do not tell of the others.
        derived = _most(lineage, adopted)
        unknown = [p for p in range(subject.partitions) if p not in derived]
        if not unknown:
            return derived
        if lineage.counting is not None:
            return {**derived, **lineage.counting(operator, unknown)}
    if subject.form.narrow and subject.form is not Form.SOURCE:
        stage, number = lineage.stages.ending_at(operator, {operator})
        partitions = lineage.readable(stage)
        lineage.need_partitions(stage, partitions, number)
        return {p: lineage.block(stage, p, tables=False).levels[number + 1] for p in partitions}
    if adopted or subject.form is Form.SOURCE:
        raise IncompleteLineageError(f"Nothing was noted of {subject} in this run", remedy=_BY_A_JOB)
    raise _NobodyToldError(
        f"Nothing was noted of {subject} in this run: no task came so far, or its blocks are gone", remedy="Ask from the sources on; run.culprits and run.incomplete say what was in the way.",
    )


def noted(lineage: Lineage, operator: int) -> dict[int, int]:
    """The same; none where no task told of any: those that failed may have read some."""
    try:
        return records(lineage, operator)
    except _NobodyToldError:
        return {}


def _most(lineage: Lineage, stages: Iterable[tuple[Stage, int]]) -> dict[int, int]:
    """The most records that the blocks of any of the stages know at their levels, by partition."""
    found: dict[int, int] = {}
    for stage, level in stages:
        for partition, block in _counted(lineage, stage):
            found[partition] = max(block.levels[level], found.get(partition, 0))
    return found


def sizes(lineage: Lineage, operator: int, partitions: Iterable[int]) -> dict[int, int]:
    """Records in partitions, whether or not the run read them to their end: counted by a job where it did not.

    An error of ours for a partition that cannot be counted here.
    """
    known = whole(lineage, operator)
    missing = [p for p in partitions if p not in known]
    if missing and lineage.counting is not None:
        known.update(lineage.counting(operator, missing))
    elif missing:
        if not _noted(lineage, operator):
            raise IncompleteLineageError(f"How many records partition {missing[0]} of {lineage.graph[operator]} has was not noted", remedy=_BY_A_JOB)
        raise IncompleteLineageError(
            f"The run did not read partition {missing[0]} of {lineage.graph[operator]} to its end",
            remedy="Run an action that reads all of it under capture.",
        )
    return known


def in_full(lineage: Lineage, operator: int, partitions: Collection[int]) -> dict[int, int]:
    """Records in partitions of which no task need have told: a task that failed read some on its way. What nobody counted is derived, as the run computed it.

    An error of ours for a partition that cannot be counted here, or that the run is known to have read in part alone.
    """
    found = {p: size for p, size in whole(lineage, operator).items() if p in partitions}
    missing = [p for p in partitions if p not in found]
    subject = lineage.graph[operator]
    stages = [at for at in lineage.stages.levels(operator) if not at[0].adopted]
    if missing and subject.form.pieced:
        found.update(_put_together(lineage, subject, set(missing)))
    elif missing and (subject.form is Form.SOURCE or not stages):
        found.update({p: size for p, size in sizes(lineage, operator, missing).items() if p in missing})
    elif missing:
        stage, level = stages[0]
        lineage.need_partitions(stage, missing, level - 1)
        for p in missing:
            block = lineage.block(stage, p, tables=False)
            if not block.ended:
                raise IncompleteLineageError(
                    f"The run did not read partition {p} of {subject} to its end", remedy="Run an action that reads all of it under capture.",
                )
            found[p] = block.levels[level]
    return found


def _put_together(lineage: Lineage, subject: Operator, partitions: Container[int]) -> dict[int, int]:
    """The same of partitions that are made of others."""
    parts = [piece for piece in pieces(lineage.graph, subject) if piece[0] in partitions]
    known = [
        in_full(lineage, parent, [part for _, of, part in parts if of == branch]) for branch, parent in enumerate(subject.parents)
    ]
    return {**dict.fromkeys((piece[0] for piece in parts), 0), **_added(subject, parts, known)}


def whole(lineage: Lineage, operator: int) -> dict[int, int]:
    """Records in those partitions of an operator that the run is known to have read to their end."""
    found = {
        partition: block.levels[level] for stage, level in lineage.stages.levels(operator)
        for partition, block in _counted(lineage, stage) if block.ended
    }
    subject = lineage.graph[operator]
    if not subject.form.pieced:
        return found
    known = [whole(lineage, parent) for parent in subject.parents]
    parts = list(pieces(lineage.graph, subject))
    broken = {partition for partition, branch, part in parts if part not in known[branch]}
    added = {partition: size for partition, size in _added(subject, parts, known).items() if partition not in broken}
    return {**added, **found}


def whole_by_a_job(lineage: Lineage, operator: int) -> dict[int, int]:
    """As ``whole``. Where no task of ours read the operator, and a job may count it, with all of its partitions: ``records`` of it had that job, too."""
    known = whole(lineage, operator)
    if lineage.counting is None or _noted(lineage, operator):
        return known
    missing = [p for p in range(lineage.graph[operator].partitions) if p not in known]
    return {**known, **lineage.counting(operator, missing)}


def _noted(lineage: Lineage, operator: int) -> bool:
    """Whether a task of ours read any of it: then what it did not read to its end stays unread."""
    return bool(_most(lineage, lineage.stages.levels(operator)))


def complete(lineage: Lineage, operator: int) -> bool:
    """Whether the action asked for all records of the operator that it was called on: take() does not."""
    subject = lineage.graph[operator]
    stages = [stage for stage, _ in lineage.stages.levels(operator)]
    if not stages and subject.form.pieced:
        return all(complete(lineage, parent) for parent in subject.parents)
    asked = {partition for stage in stages for partition, block in _counted(lineage, stage) if block.finished}
    return not stages or asked.issuperset(range(subject.partitions))


def _counted(lineage: Lineage, stage: Stage) -> Iterator[tuple[int, Block]]:
    """The blocks of a stage that tell how many records there were; none of a stage that did not run."""
    for partition in lineage.readable(stage):
        adopted = stage.adopted
        known = lineage.store.facts(lineage.runs, stage.id, partition) if adopted else lineage.block(stage, partition, tables=False)
        if known is not None:
            yield partition, known


def pieces(graph: OperatorGraph, operator: Operator) -> Iterator[tuple[int, int, int]]:
    """(partition, branch, the parent's partition): what a partition is made of, in the order of its records."""
    if operator.form is Form.UNION:
        first = 0
        for branch, parent in enumerate(operator.parents):
            width = graph[parent].partitions
            yield from ((first + p, branch, p) for p in range(width))
            first += width
    elif operator.form is Form.COALESCE:
        for partition, parents in enumerate(operator.detail["groups"]):
            yield from ((partition, 0, p) for p in parents)
    else:  # zip, aligned union: partition by partition
        # Spark aligns those that have partitions at all.
        branches = [branch for branch, parent in enumerate(operator.parents) if graph[parent].partitions]
        for partition in range(operator.partitions):
            yield from ((partition, branch, partition) for branch in branches)


def _added(operator: Operator, parts: Iterable[tuple[int, int, int]], known: list[dict[int, int]]) -> dict[int, int]:
    found: dict[int, int] = {}
    for partition, branch, part in parts:
        if part not in known[branch]:
            continue
        size = known[branch][part]
        found[partition] = size if operator.form is Form.ZIP else found.get(partition, 0) + size
    return found
