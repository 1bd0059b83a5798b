"""Trying: a program run on sets of the records that wrong outputs were made of, in one task that stays until the search has ended (DESIGN 4.4)."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from pyroaring import BitMap

from bigdebug.agents.evaluate import Evaluation
from bigdebug.agents.trials import Trials, Tried
from bigdebug.agents.watches.sealed import Secret
from bigdebug.errors import BigdebugError, LocalizeError, ReplayError
from bigdebug.localize.oracle import Answer, Budget
from bigdebug.spark.bars import telling
from bigdebug.spark.jobs import beside, tagged
from bigdebug.spark.listening import Line, Listener, Message

if TYPE_CHECKING:
    from bigdebug.spark.rdd.evaluate import Evaluator
    from bigdebug.spark.rdd.recorder import Recorder

_LOOK = 0.2
"""Seconds between two looks at whether the task is still there."""

_GRACE = 1.0
"""Seconds in which the task may end by itself."""

_AT_ONCE = 1 << 23
"""Bytes of sets that are told in one message."""


class OnlySpark(Exception):
    """The program does what one task cannot know; the message says what."""


class Conversation:
    """What the task is asked, and what it answers. ``check`` is called while that takes, and may raise: then nothing more is asked.

    ``unfolded`` are the outputs of which it was seen that what each record adds cannot be said.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self.unfolded: set[int] = set()
        self._check = check
        self._told: queue.SimpleQueue[tuple[Line, Message]] = queue.SimpleQueue()
        self._line: Line | None = None
        self._task: Future[list[Any]] | None = None
        self.address = ("", 0)

    def begin(self, task: Future[list[Any]], address: tuple[str, int]) -> None:
        """Listen to a task, which was told to connect to an address."""
        self._task, self.address = task, address

    def hear(self, line: Line, message: Message) -> None:
        """Called in the thread of the connection."""
        self._told.put((line, message))

    def ask(self, subject: int, sets: Sequence[BitMap], order: int = 0, folded: bool = False) -> list[Answer]:
        """What the judge says of an output on sets of its candidates; in an ``order`` of the records (agents/orders.py).

        ``folded``: as what each record adds has it (agents/folds.py), where the program is one of which that can be said; else as the program has it.
        """
        found: list[Answer] = []
        batch, held = list[bytes](), 0
        for each in sets:
            each.run_optimize()
            batch.append(each.serialize())
            held += len(batch[-1])
            if held > _AT_ONCE:
                found += self._tried(subject, batch, order, folded)
                batch, held = [], 0
        return found + (self._tried(subject, batch, order, folded) if batch else [])

    def _tried(self, subject: int, sets: list[bytes], order: int, folded: bool) -> list[Answer]:
        match self._answer(("try", subject, sets, order, folded)):
            case ("tried", verdicts, were):
                if folded and not were:
                    self.unfolded.add(subject)
                return [Answer(*verdict) for verdict in verdicts]
            case ("declined", why):
                raise OnlySpark(why)
            case other:
                raise ReplayError("A task that tries a program has said what nobody asked", value=other)

    def _answer(self, order: Message) -> Message:
        """What the task answers. Spark may run it again, where an executor is lost: then the new one is asked, and the old one no longer heard."""
        if self._line is not None:
            self._line.tell_or_hang_up([order])
        while True:
            line, message = self._next()
            if message == ("ready",):
                self._line = line
                line.tell_or_hang_up([order])
            elif line is self._line:
                return message

    def _next(self) -> tuple[Line, Message]:
        """What a task says next; what it raised, if it ended."""
        assert self._task is not None
        while True:
            try:
                line, message = self._told.get(timeout=_LOOK)
            except queue.Empty:
                pass
            else:
                if message != ("lost",):
                    return line, message
                if line.trouble is not None:
                    raise LocalizeError(f"What a task said of a trial cannot be read: {line.trouble}") from line.trouble
            self._check()
            if self._task.done():
                raise self._ended(self._task.result())

    def _ended(self, why: list[Any]) -> BigdebugError:
        """The error of a task that ended before its time."""
        if not why:
            return ReplayError("The task that tries the program has ended", remedy="Ask once more.")
        host, port = self.address
        return LocalizeError(
            f"The task that tries the program does not reach the driver at {host}, port {port}: {why[0]}",
            remedy="Set spark.driver.host to a name of the driver that executors know, and open ports to it: trials are told what to try over a connection.",
        )


@contextmanager
def trying(recorder: Recorder, evaluator: Evaluator, evaluation: Evaluation, subjects: Sequence[Tried], budget: Budget) -> Iterator[Conversation]:
    """Within: a task tries ``evaluation`` on what it is asked about. It takes one core, and is gone afterwards, as its listener is.

    A test that is not over when the ``budget`` is spent, or stopped, is not waited for.
    """
    sc, secret = recorder.sc, Secret()
    conversation = Conversation(budget.check)
    listener = Listener(sc, secret, conversation.hear, list)
    trials = Trials(evaluation, tuple(subjects), listener.address, secret)
    with tagged(sc) as tag:
        task = beside(partial(evaluator.in_one_task, trials, "localizing", shown=False))
        conversation.begin(task, listener.address)
        try:
            with telling("localizing", "tests", lambda: (budget.tests, f"{budget.left:,} candidates left"), recorder.progress and not budget.shown):
                yield conversation
        finally:
            listener.close()
            if not wait([task], _GRACE).done:  # it is in a function of the user's
                sc.cancelJobsWithTag(tag)
