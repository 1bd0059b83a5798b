"""The uplink: a thread of a task that tells the driver what there is to tell, and hears of it which guards to call."""

from __future__ import annotations

import pickle
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bigdebug.agents.watches.hangs import Hangs
from bigdebug.agents.watches.outbox import Outbox
from bigdebug.agents.watches.sealed import Refused, Sealed, Secret
from bigdebug.agents.watches.tap import Tap

TICK = 0.05
"""Seconds between two looks at what there is to tell."""

CONNECTING, WAITING, ENDING = 3.0, 5.0, 2.0
"""Seconds that a task waits until the driver is reached; until it takes or gives what it has begun to; at the end of the task."""

AGAIN = 30.0
"""Seconds for which a worker process does not try once more to reach a driver that it did not reach."""

_unreached: dict[tuple[str, int], tuple[float, str]] = {}
"""A worker runs one task after the other, and each would wait: when it was tried, and what happened."""

Totals = Callable[[], Mapping[str, Any]]


class Uplink(threading.Thread):
    """The connection of one task. ``trouble`` says why it is none, or one no more: the task goes on without."""

    def __init__(
        self, address: tuple[str, int], secret: Secret, task: Mapping[str, Any], taps: Sequence[Tap], hangs: Sequence[Hangs], outbox: Outbox,
        totals: Totals,
    ) -> None:
        super().__init__(name="bigdebug watch", daemon=True)
        self._address, self._secret, self._task = address, secret, task
        self._taps, self._hangs, self._outbox, self._totals = taps, hangs, outbox, totals
        self._ready = threading.Event()
        self._ending = False
        self._told: Mapping[str, Any] = {}
        self._waking: tuple[socket.socket, socket.socket] | None = None
        self.trouble: str | None = None

    def open(self) -> None:
        """Connect. Where there are guards, wait until they are here: the first record is to meet them."""
        try:
            self._waking = socket.socketpair()
            self.start()
        except (OSError, RuntimeError) as problem:  # no more files, or threads, for this process
            self.trouble = f"the task could not begin to tell: {problem}"
            return
        if self._taps and not self._ready.wait(CONNECTING):
            self.trouble = f"the driver at {self._address[0]}:{self._address[1]} did not say in {CONNECTING:g} s what to watch for: first records passed unseen"

    def close(self) -> None:
        """Send what there is, and end."""
        self._ending = True
        if self._waking is None:
            return
        if self.ident is not None:
            self._waking[1].sendall(b"e")
            self.join(ENDING)
        if self.is_alive():  # it still needs its end
            self.trouble = self.trouble or f"the driver did not take in {ENDING:g} s what was there for it"
        else:
            for end in self._waking:
                end.close()

    def run(self) -> None:
        sealed = None
        try:
            sealed = self._connected()
            sealed.wire.settimeout(WAITING)
            self._serve(sealed)
        except (OSError, Refused) as problem:
            self.trouble = f"the driver at {self._address[0]}:{self._address[1]} was not reached: {problem}"
        except Exception as problem:  # whatever it is, the user's task goes on
            self.trouble = f"the task could not go on to tell: {type(problem).__name__}: {problem}"
        finally:
            self._outbox.open = False
            for tap in self._taps:
                tap.guard = None
            self._ready.set()
            if sealed is not None:
                sealed.close()

    def _connected(self) -> Sealed:
        tried, why = _unreached.get(self._address, (-AGAIN, ""))
        if time.monotonic() - tried < AGAIN:
            raise ConnectionError(why)
        try:
            sealed = Sealed.connected(self._address, self._secret, CONNECTING)
        except OSError as problem:
            _unreached[self._address] = time.monotonic(), str(problem)
            raise
        _unreached.pop(self._address, None)
        return sealed

    def _serve(self, sealed: Sealed) -> None:
        sealed.send(pickle.dumps([("task", self._task)]))
        assert self._waking is not None
        before = time.monotonic()
        waited: list[Any] = [sealed.wire, self._waking[0]]
        while True:
            ready, _, _ = select.select(waited, [], [], TICK)
            ending = self._ending
            if sealed.wire in ready:
                self._hear(sealed)
            now = time.monotonic()
            for tap in self._taps:
                tap.earn(now - before)
            for hangs in self._hangs:
                hangs.end(now) if ending else hangs.look(now)
            before = now
            self._tell(sealed)
            if ending:
                # The driver has heard all before the task ends, and with it the action.
                sealed.send(pickle.dumps([("end",)]))
                while not self._hear(sealed):
                    pass
                return

    def _hear(self, sealed: Sealed) -> bool:
        """Do as the driver says; True if it has no more to say."""
        message = sealed.receive()
        if message is None:
            raise ConnectionError("it hung up")
        for order in pickle.loads(message):
            match order:
                case ("guard", watch, generation, pickled):
                    for tap in self._taps:
                        if tap.watch == watch:
                            tap.order(generation, pickled)
                case ("stop", watch):
                    self._hangs = [hangs for hangs in self._hangs if hangs.watch != watch]
                case ("go",):
                    self._ready.set()
                case ("bye",):
                    return True
        return False

    def _tell(self, sealed: Sealed) -> None:
        for batch in self._outbox.batches():
            sealed.send(pickle.dumps(batch))
        totals = self._totals()
        if totals != self._told:
            sealed.send(pickle.dumps([("totals", totals)]))
            self._told = totals
