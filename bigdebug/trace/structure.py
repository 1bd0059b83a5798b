"""Operators that rearrange whole partitions in the JVM: union, coalesce, zip, cartesian. Nothing is stored for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from bigdebug.graph import Form, Operator
from bigdebug.model import NO_RIDS
from bigdebug.trace.counts import pieces, records
from bigdebug.trace.held import gathered
from bigdebug.trace.joins import Product
from bigdebug.trace.places import Places
from bigdebug.trace.positions import Positions

if TYPE_CHECKING:
    from bigdebug.trace.lineage import Hop, Lineage


def _spans(lineage: Lineage, operator: Operator) -> Iterator[tuple[int, int, int, int, int | None]]:
    """The pieces, each with its first position in the partition and its length (None: up to the end).

    The run need not have read all of a partition: the first piece of unknown length is where it stopped.
    """
    if operator.form in (Form.ZIP, Form.UNION):
        yield from ((*piece, 0, None) for piece in pieces(lineage.graph, operator))
        return
    known = [records(lineage, parent) for parent in operator.parents]
    first: dict[int, int] = {}
    stopped = set()
    for partition, branch, part in pieces(lineage.graph, operator):
        if partition not in stopped:
            size = known[branch].get(part)
            yield partition, branch, part, first.get(partition, 0), size
            first[partition] = first.get(partition, 0) + (size or 0)
            if size is None:
                stopped.add(partition)


def moved(lineage: Lineage, operator: Operator, hop: Hop, places: Places) -> Iterator[tuple[int, int, Positions, Positions]]:
    """(partition, the parent's, positions, positions there) of records that came from the parent on ``hop.branch``."""
    latest, at = -1, NO_RIDS  # the pieces of a partition follow one another
    for partition, branch, part, first, size in _spans(lineage, operator):
        if branch == hop.branch and partition in places:
            latest, at = partition, at if partition == latest else places[partition]
            inside = at[at >= first] if size is None else at[(at >= first) & (at < first + size)]
            yield partition, part, inside, inside - first


def back(lineage: Lineage, operator: Operator, hop: Hop, places: Places) -> Places:
    if operator.form is Form.CARTESIAN:
        return gathered(_product_back(lineage, operator, hop, places))
    return gathered((part, there) for _, part, _, there in moved(lineage, operator, hop, places))


def pairs(lineage: Lineage, operator: Operator, hop: Hop, places: Places) -> Iterator[tuple[int, int, Positions, Positions]]:
    """(partition, the parent's, which of ``places`` there, the position there) of records that came from the parent on ``hop.branch``."""
    if operator.form is not Form.CARTESIAN:
        for partition, part, inside, there in moved(lineage, operator, hop, places):
            yield partition, part, np.searchsorted(places[partition], inside), there
        return
    part_of = _part_of(lineage, operator, hop)
    for partition, at in places.items():
        yield partition, part_of(partition), np.arange(len(at), dtype=np.int64), _product(lineage, hop, partition).sides(at)[hop.branch]


def ahead(lineage: Lineage, operator: Operator, hop: Hop, places: Places) -> Places:
    if operator.form is Form.CARTESIAN:
        return gathered(_product_ahead(lineage, operator, hop, places))
    return gathered(
        (partition, places[part] + first) for partition, branch, part, first, _ in _spans(lineage, operator)
        if branch == hop.branch and part in places
    )


def _part_of(lineage: Lineage, operator: Operator, hop: Hop) -> Callable[[int], int]:
    """Which partition of the parent a cartesian one was made of."""
    width = lineage.graph[operator.parents[1]].partitions
    return (lambda partition: partition % width) if hop.branch else (lambda partition: partition // width)


def _product(lineage: Lineage, hop: Hop, partition: int) -> Product:
    assert hop.stage is not None
    block = lineage.read_block(hop.stage, partition)
    names = ("left_start", "left_count", "right_start", "right_count")
    starts_and_counts = (block.column(f"product.{name}").astype(np.int64) for name in names)
    return Product(block.levels[0], *starts_and_counts)


def _product_back(lineage: Lineage, operator: Operator, hop: Hop, places: Places) -> Iterator[tuple[int, Positions]]:
    part_of = _part_of(lineage, operator, hop)
    for partition in sorted(places, key=part_of):  # what is of one part is put together at once
        yield part_of(partition), _product(lineage, hop, partition).back(places[partition], bool(hop.branch))


def _product_ahead(lineage: Lineage, operator: Operator, hop: Hop, places: Places) -> Iterator[tuple[int, Positions]]:
    assert hop.stage is not None
    part_of = _part_of(lineage, operator, hop)
    for partition in lineage.read(hop.stage):
        part = part_of(partition)
        if part in places:
            yield partition, _product(lineage, hop, partition).ahead(places[part], bool(hop.branch))
