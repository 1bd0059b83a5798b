"""Trials: a program run again and again in one task, each time on some of the records that it was given, as the driver asks for it.

The task stays while the driver searches, for a job takes longer than thousands of records (DESIGN 4.4). Both speak over a sealed connection.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from bigdebug.agents.entered import Entered, OfKeys, Positions
from bigdebug.agents.evaluate import Evaluation
from bigdebug.agents.folds import Folds, folds
from bigdebug.agents.judges import Judge, Judging, Verdict
from bigdebug.agents.operations import Declined, Exchanged
from bigdebug.agents.runs import Runs, numbers_of, runs_of
from bigdebug.agents.watches.sealed import Refused, Sealed, Secret
from bigdebug.model import Outcome

PATIENCE = 10.0
"""Seconds in which the driver is to be reached."""


@dataclass(frozen=True)
class Tried:
    """A wrong output: the numbers of its candidates, ascending, as bytes of int64, the pickled keys that it is known by, if it is, and who judges it.

    ``moving`` says that keys are made of several records: on fewer of these, what is wrong may be found under another key.
    """

    candidates: bytes
    keys: bytes | None
    judge: Judging
    moving: bool = False


class Subject:
    """A wrong output of ``evaluation``, on sets of its candidates; these are named by their places, and written by roaring."""

    def __init__(self, evaluation: Evaluation, tried: Tried) -> None:
        self._evaluation, self._judge = evaluation, tried.judge
        self._candidates = np.frombuffer(tried.candidates, dtype=np.int64)
        self._keys = None if tried.keys is None else pickle.loads(tried.keys)
        self._moving = isinstance(tried.judge, Judge) and not tried.judge.whole and self._keys is not None and tried.moving

    def verdicts(self, sets: Sequence[bytes], order: int, folded: bool) -> list[Verdict]:
        """What the judge says of sets. In an ``order`` of the records of each partition, and of what partitions send (agents/orders.py). ``folded``: as ``folds`` has it, if there is one."""
        outputs = self._run if not folded or self.folds is None else self.folds.outputs
        said = [(runs, self._judge.verdict(outputs(runs, order))) for runs in map(runs_of, sets)]
        moving = self._moving and not order  # in another order, sums of others come out a little otherwise
        return [verdict._replace(outcome=Outcome.UNRESOLVED) if moving and self._has_moved(verdict, runs) else verdict for runs, verdict in said]

    @cached_property
    def folds(self) -> Folds | None:
        """The program by what each candidate adds to the output's key; None where that cannot be said."""
        if self._keys is None or len(self._keys) != 1:
            return None
        self._enter(self._candidates, 0)
        return folds(self._evaluation, self._keys[0], self._candidates)

    def _run(self, runs: Runs, order: int) -> Iterator[Any]:
        """What the program gives on a set; whatever is raised is the judge's to hear."""
        self._enter(self._candidates[numbers_of(runs)], order)
        yield from chain.from_iterable(self._evaluation.result())

    def _has_moved(self, verdict: Verdict, runs: Runs) -> bool:
        """Whether an output is right only because what was wrong in it is in another one now: then nobody knows that anything was repaired."""
        if verdict.outcome is not Outcome.PASS or verdict.gone:
            return False
        wrong = self._wrong(self._candidates[numbers_of(runs)])
        return wrong is None or not wrong <= (self._wrong_at_first or frozenset())

    @cached_property
    def _wrong_at_first(self) -> frozenset[bytes | str] | None:
        return self._wrong(self._candidates)

    def _wrong(self, chosen: Positions) -> frozenset[bytes | str] | None:
        """The outputs of all keys that are wrong on some candidates, as they are written; None if something raises."""
        assert isinstance(self._judge, Judge)
        keys, self._keys = self._keys, None
        try:
            self._enter(chosen, 0)
            return frozenset(written(each) for each in chain.from_iterable(self._evaluation.result()) if self._judge.wrong(each))
        except Exception:  # of the user's functions
            return None
        finally:
            self._keys = keys

    def _enter(self, chosen: Positions, order: int) -> None:
        for node in self._evaluation.nodes:
            operation = node.operation
            if isinstance(operation, Entered):
                operation.chosen, operation.order = chosen, order
            elif isinstance(operation, OfKeys):
                operation.keys = self._keys
                operation = operation.operation
            if isinstance(operation, Exchanged):
                operation.order = order


def written(output: Any) -> bytes | str:
    """Bytes that tell an output from others; what it is shown as, if it cannot be pickled."""
    try:
        return pickle.dumps(output)
    except Exception:  # of the user's classes
        return repr(output)


@dataclass(frozen=True)
class Trials:
    """The task; it gives what kept it from the driver, if anything did. Tells ("ready",), and ("tried", verdicts, whether folded) for each ("try", subject, sets, order, folded) it is told, or ("declined", why) where only Spark can know."""

    evaluation: Evaluation
    subjects: tuple[Tried, ...]
    address: tuple[str, int]
    secret: Secret

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterable[Any]:
        for _ in incoming:
            pass
        try:
            sealed = Sealed.connected(self.address, self.secret, PATIENCE)
        except (OSError, Refused) as problem:
            return [f"{type(problem).__name__}: {problem}"]
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
        subjects = [Subject(self.evaluation, tried) for tried in self.subjects]
        sealed.send(pickle.dumps([("ready",)]))
        while (message := sealed.receive()) is not None:
            for asked in pickle.loads(message):
                if asked[0] == "try":
                    try:
                        told: tuple[Any, ...] = self._tried(subjects[asked[1]], *asked[2:])
                    except Declined as declined:
                        told = ("declined", str(declined))
                    sealed.send(pickle.dumps([told]))

    def _tried(self, subject: Subject, sets: Sequence[bytes], order: int, folded: bool) -> tuple[Any, ...]:
        return "tried", subject.verdicts(sets, order, folded), folded and subject.folds is not None
