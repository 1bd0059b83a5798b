"""Sending: what is recorded, told to a collector by a thread of its own. A dead, slow or lying collector loses nothing, and delays nobody."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from bigdebug.datasets.collectors import Answer, Collector
from bigdebug.datasets.model import Process
from bigdebug.datasets.outbox import Outbox
from bigdebug.datasets.posting import DEADLINE, Post
from bigdebug.datasets.spool import Claim, Spool, Waiting
from bigdebug.errors import DatasetsError

log = logging.getLogger("bigdebug")

_AHEAD = 1_000
"""Of many processes, those that are laid down before those that wait are sent."""

_LEASE = 8
"""Deadlines for which a run is this process's to send."""

_LOOKS = 30.0
"""Seconds after which the spool is looked at without being told: other processes leave messages there when they end."""


@dataclass(frozen=True)
class Pace:
    """Seconds: the pause after the first failure, and the longest; each is twice the one before, less up to a half, so that many who wait do
    not come at once.
    """

    first: float = 0.5
    longest: float = 60.0

    def pause(self, failures: int, chance: random.Random) -> float:
        """How long to wait after so many failures in a row."""
        return min(self.longest, self.first * 2.0 ** min(failures - 1, 30)) * chance.uniform(0.5, 1.0)


@dataclass(frozen=True)
class Sending:
    """How it stands with a collector: messages that it took from this process, that wait on disk, that it refused; processes that neither went
    nor were laid down (``left_out``: they are in the store); what is wrong, if something is.
    """

    collector: str
    taken: int
    waiting: int
    refused: int
    left_out: int
    trouble: str

    def __str__(self) -> str:
        said = [f"{self.taken} sent to {self.collector}, {self.waiting} waiting"]
        said += [f"{self.refused} refused"] if self.refused else []
        said += [f"{self.left_out} left out: bigdebug datasets send tells of them"] if self.left_out else []
        return ", ".join(said) + (f"; {self.trouble}" if self.trouble else "")


class Sender:
    """Tells a collector of processes. Messages go to the spool at once and from there when the collector takes them: those of a run in order,
    each at least once; twice only if its answer was lost or late, or a process ended between an answer and its note.
    """

    def __init__(self, spool: Spool, collector: Collector, *, deadline: float = DEADLINE, pace: Pace | None = None) -> None:
        self._spool = spool
        self.collector = collector
        self._deadline = deadline
        self._pace = pace or Pace()
        self._chance = random.Random()
        self._outbox = Outbox(spool, collector, self._say)
        self._turn = threading.Condition()
        self._asked, self._answered, self._over = 0, -1, False
        self._taken = self._failures = 0
        self._rests_until = 0.0
        self._claim: Claim | None = None
        """What is being sent."""
        self._trouble = ""
        self._thread = threading.Thread(target=self._work, name="bigdebug-sending", daemon=True)
        self._thread.start()

    def send(self, process: Process) -> None:
        """Tell of a process, soon. Never raises, and never waits for the collector: takes what laying it down takes, some 0.3 ms of 16 columns."""
        self._outbox.hold(process)
        if not self._outbox.is_apart:
            self._outbox.lay_down()
        self._ask()

    def send_all(self, processes: Iterable[Process], seconds: float | None = None) -> Sending:
        """Tell of many, and how it stands then. With ``seconds`` it waits so long for the collector, in all, for the spool does not hold all that a store does;
        without, nobody waits, and what the spool does not hold is left out.
        """
        until = None if seconds is None else time.monotonic() + seconds
        for number, process in enumerate(processes):
            if until is not None and number % _AHEAD == 0:  # before the first, too: others may have filled it
                self.drained(until - time.monotonic())
            self.send(process)
        return self.status() if until is None else self.drained(until - time.monotonic())

    def status(self) -> Sending:
        """How it stands. Raises nothing: of a spool that cannot be read it says so."""
        try:
            waiting, trouble = self._spool.waiting(self.collector.queue), self._trouble
        except DatasetsError as wrong:
            waiting, trouble = Waiting(), wrong.what
        if not self._over and not self._thread.is_alive():
            trouble = "nothing is sent any more, for the thread that sends has ended"
        trouble = trouble or (f"of the last refused: {waiting.why}" if waiting.why else "")
        return Sending(self.collector.name, self._taken, waiting.messages + self._outbox.messages, waiting.refused, self._outbox.left_out, trouble)

    def again(self) -> None:
        """Send all that waits and all that was refused now: the collector was mended."""
        self._spool.again(self.collector.queue)
        self._failures, self._rests_until = 0, 0.0
        self._ask()

    def __repr__(self) -> str:
        return str(self.status())

    def flush(self, seconds: float) -> bool:
        """Wait until all is taken, or nothing more is tried for now; whether that was within the seconds."""
        with self._turn:
            asked = self._asked
            return self._turn.wait_for(lambda: self._answered >= asked, min(seconds, threading.TIMEOUT_MAX))

    def drained(self, seconds: float) -> Sending:
        """How it stands once all is taken or refused, also after several attempts, or else after the seconds."""
        until = time.monotonic() + seconds
        while self.status().waiting and (left := until - time.monotonic()) > 0:
            self.flush(left)
            time.sleep(min(left, 0.05))
        return self.status()

    def close(self, seconds: float = 2.0) -> None:
        """Send what the collector takes within the seconds; what is left waits on disk for the next session."""
        self._outbox.lay_down()
        self.flush(seconds)
        with self._turn:
            self._over = True
            self._turn.notify_all()
        self._thread.join(0.2)
        if (claim := self._claim) is not None:  # the collector does not answer: the next session need not wait until the claim ends
            try:
                self._spool.release(claim, time.time(), failed=True)
            except DatasetsError as trouble:
                self._say(trouble.what)

    def _ask(self) -> None:
        with self._turn:
            self._asked += 1
            self._turn.notify_all()

    def _work(self) -> None:
        post = Post(self.collector, self._deadline)
        try:
            while not self._over:
                asked = self._asked
                pause = self._step(post)
                if pause > 0:
                    with self._turn:
                        self._answered = asked
                        self._turn.notify_all()
                        self._turn.wait_for(lambda asked=asked: self._over or self._asked != asked, pause)  # type: ignore[misc]
        finally:
            post.close()

    def _step(self, post: Post) -> float:
        """Send what is due of one run; seconds to wait before the next."""
        self._outbox.lay_down()
        if (rest := self._rests_until - time.monotonic()) > 0:
            return rest
        try:
            now = time.time()
            claim = self._spool.claim(self.collector.queue, now, _LEASE * self._deadline)
            if claim is None:
                soonest = self._spool.soonest(self.collector.queue)
                return _LOOKS if soonest is None else min(_LOOKS, max(0.01, soonest - now))
            self._claim = claim
            self._send(post, claim)
            self._claim = None
        except DatasetsError as trouble:
            if self._over:  # the spool is closed with the session, and the collector has not answered before
                return 0.0
            self._say(trouble.what)
            self._failures += 1
            return self._pace.pause(self._failures, self._chance)
        return 0.0

    def _send(self, post: Post, claim: Claim) -> None:
        """Send what was claimed, up to the first message that is not taken, and not for longer than the lease."""
        failure: Answer | None = None
        for message in claim.messages:
            if self._over or time.time() + self._deadline > claim.until:
                break
            answer = post.send(message.body)
            if answer.taken:
                self._spool.taken(message)
                self._taken += 1
            elif answer.refused:
                self._spool.refused(message, answer.why)
                log.warning("bigdebug: %s %s to a message, which is kept on disk.", self.collector.name, answer.why)
            else:
                failure = answer
                break
        pause = max(failure.after, self._pace.pause(claim.tries + 1, self._chance)) if failure else 0.0
        self._spool.release(claim, time.time() + pause, failure is not None)
        self._rest(failure)

    def _rest(self, failure: Answer | None) -> None:
        """After a failure nothing is tried for a while, each time longer; after a success all goes on."""
        if failure is None:
            self._failures, self._rests_until, self._trouble = 0, 0.0, ""
            return
        self._failures += 1
        self._rests_until = time.monotonic() + max(failure.after, self._pace.pause(self._failures, self._chance))
        self._say(f"{self.collector.name}: {failure.why}; what it has not taken waits on disk")

    def _say(self, trouble: str) -> None:
        """Log what is wrong, once until it changes."""
        if trouble != self._trouble:
            log.warning("bigdebug: %s.", trouble)
        self._trouble = trouble
