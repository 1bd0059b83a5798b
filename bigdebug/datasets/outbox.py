"""The outbox: what a collector is to be told of processes, on its way into the spool."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from bigdebug.datasets.collectors import Collector, Message
from bigdebug.datasets.model import Process
from bigdebug.datasets.spool import Spool
from bigdebug.errors import DatasetsError

log = logging.getLogger("bigdebug")

_HELD = 1_000
"""Processes that are held in memory while the spool cannot be written."""

_FIRST = "START"
"""The sort of message that tells of a beginning."""


class Outbox:
    """Messages for one collector that the spool does not have yet; ``say`` is told what is wrong. Thread-safe."""

    def __init__(self, spool: Spool, collector: Collector, say: Callable[[str], None]) -> None:
        self._spool, self._collector, self._say = spool, collector, say
        self._held: deque[tuple[str, list[Message]]] = deque()
        self._running: dict[str, dict[str, int]] = {}
        """What was told of processes that have not ended: a hash for each sort of message."""
        self._telling, self._laying = threading.Lock(), threading.Lock()
        self.is_apart = False
        """Whether the spool could not be written last: then the thread that sends tries it, and nobody else waits for it."""
        self.left_out = 0
        """Processes that were not laid down."""

    @property
    def messages(self) -> int:
        """How many are held."""
        return sum(len(messages) for _, messages in list(self._held))

    def hold(self, process: Process) -> None:
        """Take what there is to tell of a process. Raises nothing."""
        with self._telling:
            try:
                self._held.append((process.id, self._new(process)))
            except Exception as trouble:  # what is recorded must not fail for what is told of it
                self.left_out += 1
                log.warning("bigdebug cannot tell %s of a process: %s", self._collector.name, type(trouble).__name__)

    def lay_down(self) -> None:
        """Put what is held into the spool, in order. What there is no place for is left out, and said once."""
        with self._laying:
            try:
                while self._held:
                    run, messages = self._held[0]
                    if messages and not self._spool.put(self._collector.queue, run, messages):
                        self.left_out += 1
                        self._say(f"{self._collector.name} has not taken so much that the spool {self._spool.path} takes no more for it")
                    self._held.popleft()
                self.is_apart = False
            except DatasetsError as trouble:
                self.is_apart = True
                self._say(trouble.what)
                while len(self._held) > _HELD:
                    self._held.popleft()
                    self.left_out += 1

    def _new(self, process: Process) -> list[Message]:
        """What has not been told of the process while it was running: that it began is told once, the rest when it is something else."""
        told = self._running.pop(process.id, {})
        messages = list(self._collector.tell(process))
        if process.status == "running":
            self._running[process.id] = told | {sort: hash(body) for sort, body in messages}
        return [(sort, body) for sort, body in messages if sort not in told or (sort != _FIRST and told[sort] != hash(body))]
