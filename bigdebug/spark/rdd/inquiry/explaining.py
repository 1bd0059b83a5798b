"""Explaining: what some source records of a run have in common against others of the same source. Reads a draw of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.localize.candidates import Candidates
from bigdebug.mining.predicates import Separation, separating
from bigdebug.trace.places import Places, count
from bigdebug.trace.trace import Standing, all_records

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD

CULPRITS, OTHERS = 5_000, 20_000
"""Records of a source that are read at most: one in five of those that ``separating`` would look at, for each takes a read."""

Names = Sequence[str] | str | None


def separations(trace: LineageRDD, culprits: Standing, others: Standing, names: Names = None) -> dict[str, Separation]:
    """By the name of a source, what holds of its ``culprits`` and of few of its ``others``; sources without culprits have none.

    ``trace`` is any of the run. Of more than CULPRITS and OTHERS records of a source a draw is read, the same each time. Two jobs for each source at most,
    none where local text is read.
    """
    found = {}
    for source, name in trace.run.input_names().items():
        if count(culprits.get(source, {})):
            bad, healthy = culprits[source], others.get(source, {})
            drawn = _drawn(trace, source, bad, CULPRITS), _drawn(trace, source, healthy, OTHERS)
            found[name] = noted(separating(drawn[0], drawn[1], names), count(bad), count(healthy))
    return found


def noted(separation: Separation, bad: int, healthy: int) -> Separation:
    """With a note that says of how many records it was a draw, if it was."""
    drawn = [
        f"{looked_at:,} of {every:,} {kind}" for kind, looked_at, every in (("bad", separation.bad, bad), ("healthy", separation.healthy, healthy))
        if looked_at < every
    ]
    return replace(separation, note=f"Looked at were {' and '.join(drawn)} records, drawn at random, the same each time.") if drawn else separation


def without(places: Places, others: Places) -> dict[int, Any]:
    """Records that are not among others."""
    return {p: np.setdiff1d(at, others[p], assume_unique=True) if p in others else at for p, at in places.items()}


def every_source(trace: LineageRDD) -> Standing:
    """All records of the sources that a trace can reach."""
    graph = trace.run.graph
    reachable = {u for operator in trace.operators for u in graph.upstream(operator)}
    return {source.id: all_records(trace.run, source.id)[source.id] for source in graph.sources if source.id in reachable}


def _drawn(trace: LineageRDD, source: int, places: Places, most: int) -> list[Any]:
    """The records, or a draw of them."""
    every = Candidates({source: places})
    if len(every) > most:
        chosen = np.random.default_rng(0).choice(len(every), most, replace=False)
        places = every.standing(chosen.tolist())[source]
    standing: Mapping[int, Places] = {source: places}
    records: list[Any] = trace._to([source], lambda: standing).collect()
    return records
