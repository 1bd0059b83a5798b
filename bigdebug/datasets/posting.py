"""Posting: one message to one collector, with one deadline for all of it, whatever the other end does."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from contextlib import suppress
from typing import Any

import httpx

from bigdebug.datasets.collectors import Answer, Collector, answer_of
from bigdebug.errors import DatasetsError

log = logging.getLogger("bigdebug")

DEADLINE = 10.0
"""Seconds from the first look at the address to the last byte of the answer."""

_LOOKED_AT = 4 << 20
"""Bytes of an answer that are read: more is none."""

_REACHING = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError, RuntimeError)
"""What looking for a collector, connecting to it and speaking with it may end with."""


class _Loop(asyncio.SelectorEventLoop):
    """Looks up names in threads that the end of Python does not wait for, as it does for those of asyncio: a resolver that is dead takes minutes."""

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        found: asyncio.Future[Any] = self.create_future()

        def look_up() -> None:
            try:
                answer, trouble = socket.getaddrinfo(host, port, **options), None
            except Exception as problem:  # it is raised where it is waited for
                answer, trouble = None, problem
            with suppress(RuntimeError):  # nobody waits any more
                self.call_soon_threadsafe(_tell, found, answer, trouble)

        try:
            threading.Thread(target=look_up, name="bigdebug-looking-up", daemon=True).start()
        except RuntimeError:  # at the end of Python there are no new threads
            look_up()
        return await found


def _tell(waited_for: asyncio.Future[Any], answer: Any, trouble: Exception | None) -> None:
    if waited_for.done():
        return
    if trouble is None:
        waited_for.set_result(answer)
    else:
        waited_for.set_exception(trouble)


class Post:
    """Connections to a collector, for the thread that makes it. They are kept open from one message to the next, and go by the proxies and
    certificates of the environment. Redirections are not followed: they would carry what we are known by elsewhere.
    """

    def __init__(self, collector: Collector, deadline: float = DEADLINE) -> None:
        self._collector = collector
        self._deadline = deadline
        self._loop = _Loop()
        self._client: httpx.AsyncClient | None = None
        self._thread = threading.get_ident()
        logging.getLogger("httpx").addFilter(self._heeded)

    def send(self, body: bytes) -> Answer:
        """What became of the message. Raises nothing, whatever the collector, the way to it, or the environment's proxies and certificates are."""
        try:
            return self._loop.run_until_complete(asyncio.wait_for(self._send(body, self._collector.headers()), self._deadline))
        except DatasetsError as trouble:
            return Answer(why=trouble.what)
        except (TimeoutError, asyncio.TimeoutError, httpx.TimeoutException):
            return Answer(why=f"has not answered within {self._deadline:g} s")
        except ImportError as trouble:
            return Answer(why=f"cannot be reached: {str(trouble).rstrip('.')}")
        except _REACHING as trouble:
            return Answer(why=f"cannot be reached ({type(trouble).__name__})")
        except Exception as trouble:  # whatever it is, the thread that sends goes on
            log.debug("bigdebug could not send to a collector", exc_info=True)
            return Answer(why=f"sending failed ({type(trouble).__name__})")

    async def _send(self, body: bytes, headers: dict[str, str]) -> Answer:
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=self._deadline, follow_redirects=False)
        async with self._client.stream("POST", self._collector.url, content=body, headers=headers) as reply:
            said = bytearray()
            async for part in reply.aiter_bytes():
                said += part
                if len(said) > _LOOKED_AT:
                    return Answer(why=f"answers {reply.status_code} without an end")
            return answer_of(reply.status_code, {name.lower(): value for name, value in reply.headers.items()}, bytes(said), time.time())

    def close(self) -> None:
        """Hang up."""
        logging.getLogger("httpx").removeFilter(self._heeded)
        if self._client is not None:
            self._loop.run_until_complete(self._client.aclose())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def _heeded(self, record: logging.LogRecord) -> bool:
        """httpx notes each request; the user asked for none of these."""
        return record.thread != self._thread
