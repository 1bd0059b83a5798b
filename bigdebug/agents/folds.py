"""Folds: what a program gives for one key on sets of the records that it was made of, from what each of them adds (BigSift 4.2, test push-down).

A set is folded as PySpark would: values of a partition one after the other, then the combiners of the partitions. Where a partition adds MANY, stretches of
them are combined once, and merged for each set, as PySpark merges what did not fit into its memory: then a sum of floats may differ in its last digits.
Functions behind the exchange are unpickled once for all sets: that they keep nothing from one set to the next is taken for granted, as of those before it
(``contributions.py``), so what is told is asked of the program itself in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from bigdebug.agents.contributions import Part, never_changes, parts, ways
from bigdebug.agents.emit import in_place
from bigdebug.agents.entered import OfKeys, Positions
from bigdebug.agents.evaluate import Evaluation, Node
from bigdebug.agents.guards.held import is_plain
from bigdebug.agents.merge import Combine, Gather
from bigdebug.agents.operations import NOTHING, Exchanged, Fresh, Partitions, Stepped, Wire
from bigdebug.agents.orders import arranged
from bigdebug.agents.runs import Runs
from bigdebug.agents.segments import no_leak
from bigdebug.agents.stretches import Stretch, Stretches

MANY = 4_096
"""Of so many values in a partition, stretches are combined once and for all."""

FEW = 16
"""Of so many runs numpy would take longer to say which values are theirs."""


@dataclass
class Combining:
    """Combiners of some ``parts`` of a key, as the two sides of a combineByKey make them."""

    parts: Sequence[Part]
    create: Callable[[Any], Any]
    combine: Callable[[Any, Any], Any]
    after: Combine
    wire: Wire
    _known: dict[int, Any] = field(default_factory=dict)
    _stretched: dict[int, Stretches] = field(default_factory=dict)

    def records(self, key: Any, chosen: Sequence[Sequence[Stretch]], order: int) -> Iterable[Any]:
        """The only output of the operator, if any part has a chosen value."""
        with no_leak(self.wire.leaked):
            combiners = [self._combiner(number, stretches, order) for number, stretches in enumerate(chosen) if stretches]
            if not combiners:
                return ()
            combined = reduce(self.after.merge, _in_order(combiners, order))
            return ((key, combined if self.after.finish is None else self.after.finish(combined)),)

    def _combiner(self, number: int, chosen: Sequence[Stretch], order: int) -> Any:
        """Of some stretches of a part, as it arrives on the other side of the shuffle."""
        part = self.parts[number]
        if order:
            return self.given(self.held(self._folded(part.between(chosen, self.wire, order))))
        whole = len(chosen) == 1 and chosen[0] == (0, len(part.values))
        if whole and number in self._known:
            return self.given(self._known[number])
        if len(part.values) > MANY:
            found = self.held(reduce(self.after.merge, self._pieces(number, chosen)))
        else:
            found = self.held(self._folded(part.between(chosen, self.wire)))
        if whole:
            self._known[number] = found
        return self.given(found)

    def _pieces(self, number: int, chosen: Sequence[Stretch]) -> Iterator[Any]:
        part = self.parts[number]
        if number not in self._stretched:
            self._stretched[number] = Stretches(len(part.values), lambda stretch: self._folded(part.between([stretch], self.wire)), self.after.merge, self.held, self.given)
        return self._stretched[number].pieces(chosen, lambda stretches: self._folded(part.between(stretches, self.wire)))

    def _folded(self, values: Iterable[Any]) -> Any:
        source = iter(values)
        return reduce(self.combine, source, self.create(next(source)))

    def held(self, combiner: Any) -> Any:
        """A combiner to be given several times; its pickle, if it may change."""
        return combiner if never_changes(combiner) else _Pickled(self.wire.dumps(combiner))

    def given(self, held: Any) -> Any:
        return self.wire.loads(held.frame) if type(held) is _Pickled else held


@dataclass(frozen=True)
class _Pickled:
    frame: bytes


@dataclass
class Gathering:
    """Values of a key by branch, as a cogroup or a join gathers them."""

    parts: Sequence[Part]
    after: Gather
    wire: Wire

    def records(self, key: Any, chosen: Sequence[Sequence[Stretch]], order: int) -> Iterable[Any]:
        """The outputs of the operator for the key."""
        lists: tuple[list[Any], ...] = tuple([] for _ in range(self.after.branches))
        those = list(zip(self.parts, chosen))
        for part, stretches in _in_order(those, order):
            if stretches:
                lists[part.branch].extend(part.between(stretches, self.wire, order))
        return self.after.finish(key, lists) if any(lists) else ()


@dataclass
class _Folded:
    """Stands for the exchange: its outputs for the key, in the partition in which the key is."""

    width: int
    split: int
    found: Iterable[Any] = NOTHING
    crossing: bool = False

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions:
        return [self.found if split == self.split else NOTHING for split in range(self.width)]


class Folds:
    """A program on sets of the candidates of one output, which are named by their places."""

    def __init__(self, key: Any, folding: Combining | Gathering, folded: _Folded, rest: Evaluation) -> None:
        self._key, self._folding, self._folded, self._rest = key, folding, folded, rest

    def outputs(self, runs: Runs, order: int) -> Iterator[Any]:
        """What the program gives, which is computed as it is read."""
        few = runs.tolist() if len(runs) <= FEW else None
        chosen = [part.among(runs) if few is None or part.first is None else part.within(few) for part in self._folding.parts]
        self._folded.found = list(self._folding.records(self._key, chosen, order)) or NOTHING
        yield from chain.from_iterable(self._rest.result())


def _in_order(those: Sequence[Any], order: int) -> Iterable[Any]:
    return [those[place] for place in arranged(np.arange(len(those), dtype=np.int64), order).tolist()] if order else those


def folds(evaluation: Evaluation, key: Any, candidates: Positions) -> Folds | None:
    """The folds of the key of an output; None where more than each record alone decides what it adds, or a function raises."""
    nodes, wire = {node.operator: node for node in evaluation.nodes}, evaluation.wire
    keyed, exchange = next(((node, node.operation.operation) for node in evaluation.nodes if isinstance(node.operation, OfKeys)), (None, None))
    if keyed is None or not isinstance(exchange, Exchanged) or not is_plain(key) or key != wire.loads(wire.dumps(key)):
        return None
    try:
        found: list[Part] = []
        for branch, parent in enumerate(keyed.parents):
            pieces = ways(nodes, parent)
            those = None if pieces is None else parts(pieces, branch, key, candidates, wire)
            if those is None:
                return None
            found += those
        folding = _folding(exchange, found, wire)
        if folding is None or not found or (exchange.stays and len({part.split for part in found}) > 1):
            return None
        partition, _, _ = exchange.before.copy()
        folded = _Folded(exchange.targets, (found[0].split if exchange.stays or partition is in_place else partition(key)) % exchange.targets)
        behind = (_once(node, wire) for node in _behind(nodes, evaluation.nodes[-1].operator, keyed.operator))
        return Folds(key, folding, folded, replace(evaluation, nodes=(Node(keyed.operator, (), folded), *behind)))
    except Exception:  # of a function of the user's: what becomes of it, the program itself tells
        return None


def _folding(exchange: Exchanged, found: Sequence[Part], wire: Wire) -> Combining | Gathering | None:
    merge = None if exchange.merge is None else exchange.merge.copy()
    _, create, combine = exchange.before.copy()
    if isinstance(merge, Combine) and create is not None:
        return Combining(found, create, combine, merge, wire)
    return Gathering(found, merge, wire) if isinstance(merge, Gather) else None


def _behind(nodes: dict[int, Node], target: int, keyed: int) -> list[Node]:
    """The operators from ``keyed`` to ``target``, each of which reads the one before it alone."""
    found = []
    while target != keyed:
        found.append(nodes[target])
        (target,) = nodes[target].parents
    return found[::-1]


def _once(node: Node, wire: Wire) -> Node:
    """The operator with functions that are not unpickled anew for each set."""
    operation = node.operation
    if isinstance(operation, Stepped):
        return replace(node, operation=replace(operation, step=Fresh(operation.step.copy(), wire)))
    return node
