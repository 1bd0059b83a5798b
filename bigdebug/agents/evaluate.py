"""The second evaluator of the operator graph: a whole program in one task, with the code that runs in the stages.

What it gives is what the stages would: records cross as pickles where they do in Spark and nowhere else, functions are
unpickled anew for every partition, and a chain of narrow operators pulls its records one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn

from bigdebug.agents.operations import Declined, Operation, Partitions, Wire


@dataclass(frozen=True)
class Node:
    operator: int
    parents: tuple[int, ...]
    operation: Operation


@dataclass(frozen=True)
class Evaluation:
    """A program as the function of one task: gives the records of the last of ``nodes``, or if ``counting`` their number.

    Parents stand before their children. ``outside`` holds while functions of the user run. Gives one Declined instead if
    only Spark can know; errors of user functions pass.
    """

    nodes: tuple[Node, ...]
    wire: Wire
    outside: Callable[[], AbstractContextManager[None]]
    counting: bool = False

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterable[Any]:
        for _ in incoming:
            pass
        try:
            with self.outside():
                return self._evaluated()
        except Declined as declined:
            return [declined]

    def _evaluated(self) -> Iterable[Any]:
        partitions = self.result()
        if self.counting:
            return [sum(1 for records in partitions for _ in records)]
        # Pickled as they come: a function may give the same object again and again, changed in between.
        frames = [list(self.wire.frames(records)) for records in partitions]
        return self.wire.records(chain.from_iterable(frames))

    def result(self) -> Partitions:
        """The partitions that the program gives, which are computed as they are read."""
        uses = [parent for node in self.nodes for parent in node.parents]
        done: dict[int, Callable[[], Partitions]] = {}
        for node in self.nodes:
            parents = [done[parent]() for parent in node.parents]
            if node.operation.crossing:
                parents = [[self.wire.records(self.wire.frames(records)) for records in parent] for parent in parents]
            found = node.operation.run(parents, self.wire)
            shared = uses.count(node.operator) > 1
            done[node.operator] = self._copies(found) if shared else _once(found)
        return done[self.nodes[-1].operator]()

    def _copies(self, partitions: Partitions) -> Callable[[], Partitions]:
        """For an operator with several consumers: each gets records of its own, as it would from Spark."""
        frames = [self.wire.copied(records) for records in partitions]
        return lambda: [self.wire.records(held) for held in frames]


def _once(partitions: Partitions) -> Callable[[], Partitions]:
    return lambda: partitions


class Unknown:
    """Stands for what only a task of Spark's has; whoever asks it anything makes the evaluation decline."""

    def __getattribute__(self, name: str) -> NoReturn:
        raise Declined(f"a function asks its task for {name}")


@dataclass(frozen=True)
class Shipped:
    """The records of a partition as frames, ready to enter an Evaluation; (split, None) if they cannot be pickled."""

    wire: Wire

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterable[Any]:
        try:
            return [(split, self.wire.copied(incoming))]
        except Declined:
            return [(split, None)]
