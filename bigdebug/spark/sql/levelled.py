"""Levelled: the whole lineage of a query's run as numbers: the records of its levels, and which were made of which. For those who keep it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bigdebug.errors import NondeterminismError, UntraceableError
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.recognized import index, result_names
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.steps import Steps
from bigdebug.spark.sql.witnessed import witnessed
from bigdebug.trace.multiples import Multiples, paired
from bigdebug.trace.names import Names, matched
from bigdebug.trace.names import distinct as distinct_names
from bigdebug.trace.numbering import Numbering, whole
from bigdebug.trace.positions import Positions, distinct
from bigdebug.trace.saved.associated import Pairs

MOST_ASKED = 200
"""Rows of a result that are asked about one by one, where levels alone do not tell."""


@dataclass(frozen=True)
class Levelled:
    """``names`` of the result's rows, each once, and the numbers that these have; the records of all levels, and what they were made of."""

    names: Names
    multiples: Multiples
    levels: Mapping[int, Numbering]
    pairs: list[Pairs]
    in_order: bool = False
    """Whether the numbers of the result's rows count those that the run kept."""


def indexed_levels(run: FrameRun) -> Levelled | None:
    """From indexes that are there: of sources it has those records that took part. None if some are missing, or do not tell all. No job.

    Nor do they tell how many rows are equal and were made of the same, unless the run kept its rows and there are as many as names.
    """
    steps = run.questions.indexed()
    if steps is None or not run.questions.by_steps or any(_unlike(steps, level) for level in steps.indexes):
        return None
    found: dict[int, Names] = {level: known.records for level, known in steps.indexes.items()}
    for known in steps.indexes.values():
        for below, _, names in known.witnesses():
            if below in steps.sources:
                found[below] = distinct_names(names) if below not in found else distinct_names(pa.chunked_array([found[below], names]))
    made = [(level, below, above, names) for level, known in steps.indexes.items() for below, above, names in known.witnesses() if level != below]
    found |= {source: pa.array([], pa.int64()) for source in steps.sources - found.keys()}
    if any(steps.crowded(level) and (level != run.subject or run.rows is None or len(run.rows) != len(found[level])) for level in steps.indexes):
        return None
    order = _order(run, found[run.subject])
    pairs = [(level, below, above, matched(found[below], names)) for level, below, above, names in made]
    return _numbered(run, steps, found, {}, pairs, order)


def derived_levels(run: FrameRun) -> Levelled:
    """By jobs: one or two for each level, or one for each row of a small result where rows depend on more than what they were made of.

    Raises UntraceableError where there are more such rows than 200, and what a trace over all of the result raises.
    """
    _ = lineage_of(run).standing  # raises, where the query does not give what it gave
    questions = run.questions
    steps = questions.steps()
    why = "its rows are there because others are not, or need a group as a whole"
    if questions.by_steps:
        known = witnessed(steps)
        if not known.left_out:
            pairs = [(each.level, each.below, each.made, each.of) for each in known.between]
            return _numbered(run, steps, known.names, known.times, pairs, _order(run, known.names[run.subject]))
        level, why = next(iter(known.left_out.items()))
        why = f"of {run.graph[level]}, {why}"
    return _asked(run, steps, why)


def _unlike(steps: Steps, level: int) -> bool:
    """Whether records of a level depend on more than what its association says."""
    return (
        bool(steps.subqueries) or steps.peers(level) is not None or steps.broader(level)
        or (steps.crowded(level) and not steps.association(level).content)
    )


def _order(run: FrameRun, names: Names) -> Positions | None:
    """Where each row of the result that the run kept stands among the names; None if that is not known, or not of all."""
    known = result_names(run)
    if known is None or len(known) != len(names) or run.rows is None or len(run.rows) != len(names):
        return None
    order = matched(names, known)
    return order if len(order) and (np.sort(order) == np.arange(len(names))).all() else None


def _numbered(
    run: FrameRun, steps: Steps, names: Mapping[int, Names], times: Mapping[int, Positions], pairs: list[tuple[int, int, Positions, Positions]], order: Positions | None,
) -> Levelled:
    """By numbers: of sources in the order of rids, of the result in that of its rows if it is known."""
    numbers: dict[int, Multiples] = {}
    levels: dict[int, Numbering] = {}
    for level, known in names.items():
        if level in steps.sources:
            rids = known.to_numpy(zero_copy_only=False).astype(np.int64)
            by_rid = np.argsort(rids, kind="stable")
            numbers[level], levels[level] = Multiples(_inverse(by_rid)), Numbering.of_rids(rids[by_rid])
        else:
            by_row = order if level == run.subject and order is not None else np.arange(len(known))
            numbers[level] = Multiples.of(times[level]) if level in times else Multiples(_inverse(by_row))
            levels[level] = whole(numbers[level].count)
    found = [Pairs(level, below, 0, *paired(numbers[level], above, numbers[below], of)) for level, below, above, of in pairs]
    return Levelled(names[run.subject], numbers[run.subject], levels, found, order is not None)


def _inverse(order: Positions) -> Positions:
    made = np.empty(len(order), np.int64)
    made[order] = np.arange(len(order))
    return made


def _asked(run: FrameRun, steps: Steps, why: str) -> Levelled:
    """Row by row, as a trace answers it."""
    root = run.subject
    names, times = steps.counted(root)
    if isinstance(names, Far) or len(names) > MOST_ASKED:
        raise UntraceableError(
            f"The result of {run.name!r} has {len(names):,} rows, and {why}: such are asked about one by one, {MOST_ASKED} at most", remedy="Trace it while its Spark runs.",
        )
    index(run)
    order = _order(run, names)
    if order is not None:
        names = names.take(pa.array(order))
    sources = sorted(steps.sources)
    every = {source: np.sort(steps.every(source).to_numpy(zero_copy_only=False).astype(np.int64)) for source in sources}
    above: dict[int, list[Positions]] = {source: [] for source in sources}
    below: dict[int, list[Positions]] = {source: [] for source in sources}
    for row, found in enumerate(_each(run, names)):
        for source, rids in found.items():
            here = every[source] if rids is None else distinct(rids.to_numpy(zero_copy_only=False))
            above[source].append(np.full(len(here), row, np.int64))
            below[source].append(_places(every[source], here, run))
    multiples = Multiples(np.arange(len(names))) if times is None else Multiples.of(times)
    levels = {source: Numbering.of_rids(rids) for source, rids in every.items()} | {root: whole(multiples.count)}
    empty = [np.empty(0, np.int64)]
    pairs = [
        Pairs(root, source, 0, *paired(multiples, np.concatenate(above[source] or empty), Multiples(np.arange(len(every[source]))), np.concatenate(below[source] or empty)))
        for source in sources if source != root
    ]
    return Levelled(names, multiples, levels, pairs, order is not None)


def _each(run: FrameRun, names: Names) -> Iterator[Mapping[int, Names]]:
    trace = LineageFrame(run, [run.subject], lambda: {run.subject: names})
    for row in range(len(names)):
        yield trace.named(names.slice(row, 1)).goBackAll().standing


def _places(every: Positions, rids: Positions, run: FrameRun) -> Positions:
    at = np.searchsorted(every, rids)
    if (at >= len(every)).any() or (every[at] != rids).any():
        raise NondeterminismError(f"A source of {run.name!r} gives other records at each execution", remedy="Capture the action with strategy='inject'.")
    return at
