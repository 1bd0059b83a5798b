"""Listening: the driver's end of the connections of tasks. Who does not know the session's secret is not listened to."""

from __future__ import annotations

import logging
import pickle
import selectors
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pyspark import SparkContext

from bigdebug.agents.watches.sealed import Refused, Sealed, Secret
from bigdebug.spark.process import alive, is_one_process

log = logging.getLogger("bigdebug")

PATIENCE = 5.0
"""Seconds that a peer has to show that it knows the secret, or to take what it is told."""

AT_ONCE = 256
"""Peers that may be showing it at the same time."""

Message = tuple[Any, ...]


class Line:
    """The connection of a task. ``trouble`` is what kept the driver from hearing it any longer, if that was not the connection."""

    def __init__(self, sealed: Sealed) -> None:
        self._sealed = sealed
        self.trouble: Exception | None = None
        self._telling = threading.Lock()

    def tell(self, orders: list[Message]) -> None:
        with self._telling:
            self._sealed.send(pickle.dumps(orders))

    def tell_or_hang_up(self, orders: list[Message]) -> None:
        """Tell a task that may have ended, or take nothing: its own thread hears of that."""
        try:
            self.tell(orders)
        except OSError:
            self.hang_up()

    def messages(self) -> list[Message] | None:
        """What it says next; None if it has hung up."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._sealed.wire, selectors.EVENT_READ)
            waiting.select()
        message = self._sealed.receive()
        return None if message is None else pickle.loads(message)

    def hang_up(self) -> None:
        with suppress(OSError):  # the peer was faster
            self._sealed.wire.shutdown(socket.SHUT_RDWR)


class Listener:
    """Listens at an address that executors reach. ``heard(line, message)`` is called for each message, in the thread of its connection,
    and at last with ("lost",); ``greeting()`` is what a task is told first, and ``ended()`` is called soon after Spark has been stopped.
    """

    def __init__(
        self, sc: SparkContext, secret: Secret, heard: Callable[[Line, Message], None], greeting: Callable[[], list[Message]],
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._sc = sc
        self._secret, self._heard, self._greeting, self._ended = secret, heard, greeting, ended
        here, host = _addresses(sc)
        family = socket.getaddrinfo(here, 0, type=socket.SOCK_STREAM)[0][0]
        self._socket = socket.create_server((here, 0), family=family, backlog=1024)
        self._socket.settimeout(0.5)
        self.address: tuple[str, int] = (host, self._socket.getsockname()[1])
        self._lines: set[Line] = set()
        self._alone = threading.Lock()
        self._unknown = threading.Semaphore(AT_ONCE)
        self._open = True
        self.refused = 0
        threading.Thread(target=self._accept, name="bigdebug listening", daemon=True).start()

    def tell(self, order: Message) -> None:
        """Tell all tasks that are connected."""
        with self._alone:
            lines = list(self._lines)
        for line in lines:
            line.tell_or_hang_up([order])

    def close(self) -> None:
        """Listen no more."""
        self._open = False
        with self._alone:
            lines = list(self._lines)
        for line in lines:
            line.hang_up()

    def _accept(self) -> None:
        with self._socket:
            while self._open and alive(self._sc):
                try:
                    wire, _ = self._socket.accept()
                except TimeoutError:
                    continue
                except OSError as problem:  # no more files for this process, perhaps
                    log.info("bigdebug could not take a connection: %s", problem)
                    time.sleep(0.1)
                    continue
                if self._unknown.acquire(blocking=False):
                    threading.Thread(target=self._serve, args=(wire,), name="bigdebug watch", daemon=True).start()
                else:
                    wire.close()
        if self._open:
            self._ended()

    def _serve(self, wire: socket.socket) -> None:
        with wire:
            try:
                wire.settimeout(PATIENCE)
                sealed = Sealed.accepted(wire, self._secret, PATIENCE)
            except (Refused, OSError) as problem:
                self.refused += 1
                log.info("bigdebug refused a connection: %s", problem)
                return
            finally:
                self._unknown.release()
            line = Line(sealed)
            with self._alone:
                self._lines.add(line)
            try:
                line.tell([*self._greeting(), ("go",)])
                while (messages := line.messages()) is not None:
                    for message in messages:
                        self._heard(line, message)
            except (Refused, OSError) as problem:
                log.info("bigdebug lost the connection of a task: %s", problem)
            except Exception as trouble:  # the job goes on, and others are heard
                line.trouble = trouble
                log.warning("bigdebug could not hear a task: %s: %s", type(trouble).__name__, trouble)
            finally:
                with self._alone:
                    self._lines.discard(line)
                self._heard(line, ("lost",))


def _addresses(sc: SparkContext) -> tuple[str, str]:
    """Where the driver listens, and where executors reach it."""
    if is_one_process(sc):
        return "127.0.0.1", "127.0.0.1"
    host = sc.getConf().get("spark.driver.host") or "127.0.0.1"
    return sc.getConf().get("spark.driver.bindAddress") or host, host
