"""A collector on loopback: real HTTP, each event held to the schemas, and every way of misbehaving."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bigdebug.datasets.model import Access, Dataset, Process
from bigdebug.datasets.openlineage import events
from tests.validating import check_event

Conduct = Callable[["_Handler"], None]

_BEGAN = datetime(2026, 11, 27, tzinfo=timezone.utc)
EVENT = events(Process("0f5e2a36-1111-4222-8333-444455556666", "job", "write", "local-1", _BEGAN, writes=(Access(Dataset("file", "/out"), "written"),)))[0]


class Collector:
    """Takes what ``check`` lets pass, and answers 400 to the rest. ``conduct`` is how it behaves to its first visitors, one each."""

    def __init__(self, conduct: Iterable[Conduct] = (), check: Callable[[Any], None] = check_event) -> None:
        self.conduct = deque(conduct)
        self.check = check
        self.taken: list[Any] = []
        self.wrong: list[str] = []
        self.asked = 0
        self.headers: list[dict[str, str]] = []
        self.over = threading.Event()
        self.alone = threading.Lock()
        check_event(EVENT)  # what is read for the first event takes longer than a collector should
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"collector": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/api/v1/lineage"

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def collecting(conduct: Iterable[Conduct] = (), check: Callable[[Any], None] = check_event) -> Iterator[Collector]:
    """A collector, as long as it is asked for."""
    collector = Collector(conduct, check)
    try:
        yield collector
    finally:
        collector.close()


class _Handler(BaseHTTPRequestHandler):
    collector: Collector
    body: bytes
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.collector.alone:
            self.collector.asked += 1
            self.collector.headers.append(dict(self.headers))
            conduct = self.collector.conduct.popleft() if self.collector.conduct else None
        (conduct or take)(self)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def take(handler: _Handler) -> None:
    """As a collector should: 201, or 400 for what is no event."""
    collector = handler.collector
    try:
        event = json.loads(handler.body)
        collector.check(event)
    except (AssertionError, ValueError, LookupError) as trouble:
        collector.wrong.append(str(trouble))
        answer(400)(handler)
        return
    collector.taken.append(event)
    answer(201)(handler)


def answer(status: int, body: bytes = b"", **headers: str) -> Conduct:
    """An answer like any other."""

    def told(handler: _Handler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return told


def hang(handler: _Handler) -> None:
    """Says nothing."""
    handler.collector.over.wait(5)
    handler.close_connection = True


def drip(handler: _Handler) -> None:
    """Says something all the time, and never all of it."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    with suppress(OSError):
        while not handler.collector.over.wait(0.02):
            handler.wfile.write(b"x: y\r\n")
    handler.close_connection = True


def endless(handler: _Handler) -> None:
    """Never stops."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    with suppress(OSError):
        while not handler.collector.over.is_set():
            handler.wfile.write(b"0" * 65_536)
    handler.close_connection = True


def reset(handler: _Handler) -> None:
    """Hangs up rudely."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True
    handler.wfile = handler.rfile  # type: ignore[assignment]


def raw(text: bytes) -> Conduct:
    """Something else than HTTP, or half of it."""

    def told(handler: _Handler) -> None:
        handler.wfile.write(text)
        handler.close_connection = True

    return told
