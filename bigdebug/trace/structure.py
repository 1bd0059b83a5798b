"""Operators that rearrange whole partitions in the JVM: union, coalesce, zip, cartesian. Nothing is stored for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from bigdebug.graph import Form, Operator
from bigdebug.model import NO_RIDS
from bigdebug.trace.counts import in_full, noted, pieces
from bigdebug.trace.held import gathered
from bigdebug.trace.joins import Product
from bigdebug.trace.places import Places
from bigdebug.trace.positions import Positions

if TYPE_CHECKING:
    from bigdebug.trace.lineage import Hop, Lineage


Beyond = Callable[[int, int, int], bool]
"""(partition, number of a piece, how many records there are with it and the pieces before): whether what is asked for lies behind these."""


def _spans(lineage: Lineage, operator: Operator, beyond: Beyond) -> Iterator[tuple[int, int, int, int, int | None]]:
    """The pieces, each with its first position in the partition and its length (None: up to the end).

    The run need not have read all of a partition. Where a task told how far it read, the first piece of unknown length is where it stopped.
    Where none did (it failed, or is at work), what it read did not tell either: there pieces are counted, as far as something lies ``beyond`` them.
    """
    if operator.form in (Form.ZIP, Form.UNION):
        yield from ((*piece, 0, None) for piece in pieces(lineage.graph, operator))
        return
    known = [noted(lineage, parent) for parent in operator.parents]
    told = _told(lineage, operator)
    groups: dict[int, list[tuple[int, int]]] = {}
    for partition, branch, part in pieces(lineage.graph, operator):
        groups.setdefault(partition, []).append((branch, part))
    for partition, group in groups.items():
        counted: dict[tuple[int, int], int] = {}
        first = 0
        for number, (branch, part) in enumerate(group):
            size = known[branch].get(part)
            if partition not in told:
                if number == len(group) - 1:
                    size = None
                elif beyond(partition, number, first + (size or 0)):
                    if (branch, part) not in counted:
                        counted = _counted(lineage, operator, group[number:-1][:max(1, 4 * len(counted))])
                    size = counted[branch, part]
            yield partition, branch, part, first, size
            if size is None:
                break
            first += size


def _told(lineage: Lineage, operator: Operator) -> set[int]:
    """Partitions of which a task told how far it read them: it told of those that they are made of as well."""
    graph = lineage.graph
    found = {p for stage, _ in lineage.stages.levels(operator.id) for p in lineage.computed.get(stage.id, ())}
    for child in graph.children(operator.id):
        if child.form.pieced:
            told = _told(lineage, child)
            found.update(
                part for partition, branch, part in pieces(graph, child) if partition in told and child.parents[branch] == operator.id
            )
    return found


def _counted(lineage: Lineage, operator: Operator, group: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """How many records pieces have, by branch and partition there."""
    parts: dict[int, list[int]] = {}
    for branch, part in group:
        parts.setdefault(branch, []).append(part)
    return {
        (branch, part): size for branch, asked in parts.items()
        for part, size in in_full(lineage, operator.parents[branch], asked).items()
    }


def moved(lineage: Lineage, operator: Operator, hop: Hop, places: Places) -> Iterator[tuple[int, int, Positions, Positions]]:
    """(partition, the parent's, positions, positions there) of records that came from the parent on ``hop.branch``."""

    def beyond(partition: int, number: int, records: int) -> bool:
        return partition in places and int(places[partition].max(initial=-1)) >= records

    latest, at = -1, NO_RIDS  # the pieces of a partition follow one another
    for partition, branch, part, first, size in _spans(lineage, operator, beyond):
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
    last: dict[int, int] = {}
    numbers: Counter[int] = Counter()
    for partition, branch, part in pieces(lineage.graph, operator):
        if branch == hop.branch and part in places:
            last[partition] = numbers[partition]
        numbers[partition] += 1
    seen = noted(lineage, operator.id)  # of others nothing leads ahead
    return gathered(
        (partition, places[part] + first)
        for partition, branch, part, first, _ in _spans(lineage, operator, lambda partition, number, _: partition in seen and number < last.get(partition, 0))
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
