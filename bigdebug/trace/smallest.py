"""Smallest: which of many records were made of the fewest, told from counts of tables and not by a walk for each (BigSift 4.3, smallest traces first)."""

from __future__ import annotations

import numpy as np

from bigdebug.graph import OperatorGraph
from bigdebug.trace.lineage import Lineage
from bigdebug.trace.multiplicities import Counts, crossings
from bigdebug.trace.places import Places, places_of, rids_of


def smallest(lineage: Lineage, operator: int, places: Places, most: int) -> dict[int, Counts]:
    """``most`` of some records of an operator, those of which the last shuffle had brought together the fewest records; the first ones of equals.

    What a record was made of further back is not looked at. Cost: reads the tables from that shuffle on, and what left for it.
    """
    counts = _counts(lineage, operator)
    sizes = [counts[p][places[p]] if p in counts else np.ones(len(places[p]), dtype=np.int64) for p in sorted(places) if len(places[p])]
    if not sizes:
        return {}
    return places_of(rids_of(places)[np.argsort(np.concatenate(sizes), kind="stable")[:most]])


def _counts(lineage: Lineage, operator: int) -> dict[int, Counts]:
    """By partition, of how many records each record of an operator was made since the last shuffle; no partition where the JVM moves them."""
    known: dict[tuple[int, int], Counts] = {}
    for crossing in crossings(lineage, _since_a_shuffle(lineage.graph, operator)):
        if crossing.reads is None:
            found = crossing.inputs_of
        else:
            below = known.get((crossing.reads, crossing.partition), np.ones(crossing.inputs, dtype=np.int64))
            found = crossing.made_of(below[: crossing.inputs])
        known[crossing.operators[-1], crossing.partition] = found
    return {partition: counts for (made, partition), counts in known.items() if made == operator}


def _since_a_shuffle(graph: OperatorGraph, operator: int) -> set[int]:
    """The operator and those before it in its stage, the one that merges what was shuffled included."""
    found = {operator}
    while graph[operator].form.narrow:
        (operator,) = graph[operator].parents
        found.add(operator)
    return found
