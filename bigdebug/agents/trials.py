"""Trials: a program run again and again in one task, each time on some of the records that it was given, as the driver asks for it.

The task stays while the driver searches, for a job takes longer than thousands of records (DESIGN 4.4). Both speak over a sealed connection.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from bigdebug.agents.entered import Entered, OfKeys, Positions
from bigdebug.agents.evaluate import Evaluation
from bigdebug.agents.judges import Judging, Verdict
from bigdebug.agents.operations import Declined
from bigdebug.agents.watches.sealed import Sealed, Secret

PATIENCE = 10.0
"""Seconds in which the driver is to be reached."""


@dataclass(frozen=True)
class Tried:
    """A wrong output: the numbers of its candidates, ascending, as bytes of int64, the pickled keys that it is known by, if it is, and who judges it."""

    candidates: bytes
    keys: bytes | None
    judge: Judging


Chosen = tuple[bool, bytes]
"""A set of candidates of a subject by their places, as bytes of uint32; if the first is true, all others."""


@dataclass(frozen=True)
class Trials:
    """The task. Tells ("ready",), and ("tried", verdicts) for each ("try", subject, sets, backwards) it is told, or ("declined", why) where only Spark can know."""

    evaluation: Evaluation
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
        return [subject.judge.verdict(self._outputs(candidates, keys, chosen, backwards)) for chosen in sets]

    def _outputs(self, candidates: Positions, keys: list[Any] | None, chosen: Chosen, backwards: bool) -> Iterator[Any]:
        """What the program gives on a set; whatever is raised is the judge's to hear."""
        others, places = chosen[0], np.frombuffer(chosen[1], dtype=np.uint32)
        wanted = np.delete(candidates, places) if others else candidates[places]
        for node in self.evaluation.nodes:
            operation = node.operation
            if isinstance(operation, Entered):
                operation.chosen, operation.backwards = wanted, backwards
            elif isinstance(operation, OfKeys):
                operation.keys = keys
        yield from chain.from_iterable(self.evaluation.result())
