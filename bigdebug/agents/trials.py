"""Trials: a program run again and again in one task, each time on some of the records that it was given, as the driver asks for it.

The task stays while the driver searches, for a job takes longer than thousands of records (DESIGN 4.4). Both speak over a sealed connection.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.agents.evaluate import Evaluation
from bigdebug.agents.guards.held import is_plain
from bigdebug.agents.judges import Judge, Verdict
from bigdebug.agents.operations import NOTHING, Declined, Frames, Operation, Partitions, Wire
from bigdebug.agents.watches.sealed import Sealed, Secret

PATIENCE = 10.0
"""Seconds in which the driver is to be reached."""

Positions = npt.NDArray[np.int64]


@dataclass
class Entered:
    """Records that the program is entered with, as frames by partition; a trial is given the chosen ones.

    ``begins`` is the number of the first of them among all candidates, which are numbered in the order of operators, partitions and positions.
    """

    frames: tuple[Frames, ...]
    sizes: tuple[int, ...]
    begins: int
    crossing: bool = False
    chosen: Positions = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    backwards: bool = False
    _held: dict[int, list[Any]] = field(default_factory=dict)

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions:
        ends = self.begins + np.cumsum((0, *self.sizes))
        cuts = np.searchsorted(self.chosen, ends)
        return [
            self._records(split, self.chosen[cuts[split]: cuts[split + 1]] - ends[split], wire) if cuts[split] < cuts[split + 1] else NOTHING
            for split in range(len(self.frames))
        ]

    def _records(self, split: int, places: Positions, wire: Wire) -> Iterable[Any]:
        held = self._held.get(split)
        if held is None:
            held = list(wire.records(self.frames[split]))
            if all(map(is_plain, held)):  # others are read anew for each trial, which may change them
                self._held[split] = held
        wanted = places.tolist()
        return iter([held[place] for place in (reversed(wanted) if self.backwards else wanted)])


@dataclass
class OfKeys:
    """An operation that gives pairs, of which a trial sees those with the keys of its output; all of them if ``keys`` is None."""

    operation: Operation
    keys: list[Any] | None = None

    @property
    def crossing(self) -> bool:
        return self.operation.crossing

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions:
        found = self.operation.run(parents, wire)
        return found if self.keys is None else [part if part is NOTHING else self._those(part) for part in found]

    def _those(self, pairs: Iterable[Any]) -> Iterator[Any]:
        return (pair for pair in pairs if of_keys(pair, self.keys or ()))


def of_keys(pair: Any, keys: Sequence[Any]) -> bool:
    """Whether a pair has one of some keys; NaN is the key that NaN is."""
    return any(pair[0] == key or (pair[0] != pair[0] and key != key) for key in keys)


@dataclass(frozen=True)
class Tried:
    """A wrong output: the numbers of its candidates, ascending, as bytes of int64, and the pickled keys that it is known by, if it is."""

    candidates: bytes
    keys: bytes | None


Chosen = tuple[bool, bytes]
"""A set of candidates of a subject by their places, as bytes of uint32; if the first is true, all others."""


@dataclass(frozen=True)
class Trials:
    """The task. Tells ("ready",), and ("tried", verdicts) for each ("try", subject, sets, backwards) it is told, or ("declined", why) where only Spark can know."""

    evaluation: Evaluation
    judge: Judge
    subjects: tuple[Tried, ...]
    address: tuple[str, int]
    secret: Secret

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterable[Any]:
        for _ in incoming:
            pass
        sealed = Sealed.connected(self.address, self.secret, PATIENCE)
        sealed.wire.settimeout(None)
        try:
            with self.evaluation.outside():
                self._converse(sealed)
        except (ConnectionError, TimeoutError):
            pass  # the driver has heard enough
        finally:
            sealed.close()
        return []

    def _converse(self, sealed: Sealed) -> None:
        sealed.send(pickle.dumps([("ready",)]))
        while (message := sealed.receive()) is not None:
            for order in pickle.loads(message):
                if order[0] == "try":
                    try:
                        told: tuple[Any, ...] = ("tried", self._tried(*order[1:]))
                    except Declined as declined:
                        told = ("declined", str(declined))
                    sealed.send(pickle.dumps([told]))

    def _tried(self, number: int, sets: Sequence[Chosen], backwards: bool) -> list[Verdict]:
        subject = self.subjects[number]
        candidates = np.frombuffer(subject.candidates, dtype=np.int64)
        keys = None if subject.keys is None else pickle.loads(subject.keys)
        return [self._verdict(candidates, keys, chosen, backwards) for chosen in sets]

    def _verdict(self, candidates: Positions, keys: list[Any] | None, chosen: Chosen, backwards: bool) -> Verdict:
        others, places = chosen[0], np.frombuffer(chosen[1], dtype=np.uint32)
        wanted = np.delete(candidates, places) if others else candidates[places]
        for node in self.evaluation.nodes:
            operation = node.operation
            if isinstance(operation, Entered):
                operation.chosen, operation.backwards = wanted, backwards
            elif isinstance(operation, OfKeys):
                operation.keys = keys
        return self.judge.verdict(self._outputs())

    def _outputs(self) -> Iterator[Any]:
        yield from chain.from_iterable(self.evaluation.result())  # whatever is raised is the judge's to hear
