"""Sealed: a connection both ends of which have shown that they know one secret, and each message of which shows it again.

Nothing that a peer sends is read further than its 64 bytes before it has shown that, and nothing of it is unpickled. Messages are
not encrypted: they are as open as what Spark's own workers send.
"""

from __future__ import annotations

import hmac
import os
import socket
import struct
import time
from contextlib import suppress
from dataclasses import dataclass, field

MOST_BYTES = 32 << 20
"""Of a message."""

_NONCE = _MAC = 32
_LENGTH = struct.Struct(">I")


class Refused(Exception):
    """The peer does not know the secret, or a message is not what it sent."""


@dataclass(frozen=True)
class Secret:
    """Random bytes that the driver makes once and sends nowhere but within the functions of its stages. Nothing shows it."""

    key: bytes = field(repr=False, default_factory=lambda: os.urandom(32))

    def sign(self, what: bytes, *more: bytes) -> bytes:
        return hmac.digest(self.key, b"".join((what, *more)), "sha256")


class Sealed:
    """One end of a connection. Receiving and sending are each for a single thread at a time."""

    def __init__(self, wire: socket.socket, key: Secret, mine: bytes, theirs: bytes) -> None:
        self.wire = wire
        # Short messages that wait for each other: each would wait for an acknowledgement, too.
        if wire.family != getattr(socket, "AF_UNIX", None):
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._key, self._mine, self._theirs = key, mine, theirs
        self._sent = self._received = 0

    @classmethod
    def connected(cls, address: tuple[str, int], secret: Secret, timeout: float) -> Sealed:
        """A connection to the driver. Raises OSError if it is not reached in so many seconds, Refused if it is somebody else."""
        wire = socket.create_connection(address, timeout)
        try:
            greeting = _exactly(wire, _NONCE)
            own = os.urandom(_NONCE)
            wire.sendall(own + secret.sign(b"task", greeting, own))
            _check(_exactly(wire, _MAC), secret.sign(b"driver", greeting, own))
        except BaseException:
            wire.close()
            raise
        return cls(wire, Secret(secret.sign(b"key", greeting, own)), b"task", b"driver")

    @classmethod
    def accepted(cls, wire: socket.socket, secret: Secret, timeout: float) -> Sealed:
        """A connection that a task has made. Raises Refused if it does not know the secret, OSError if it does not say so in so many seconds."""
        own, until = os.urandom(_NONCE), time.monotonic() + timeout
        wire.sendall(own)
        greeting, shown = _exactly(wire, _NONCE, until=until), _exactly(wire, _MAC, until=until)
        _check(shown, secret.sign(b"task", own, greeting))
        wire.sendall(secret.sign(b"driver", own, greeting))
        wire.settimeout(timeout)
        return cls(wire, Secret(secret.sign(b"key", own, greeting)), b"driver", b"task")

    def send(self, message: bytes) -> None:
        mac = self._key.sign(self._mine, self._sent.to_bytes(8, "big"), message)
        self._sent += 1
        self.wire.sendall(_LENGTH.pack(len(message)) + mac + message)

    def receive(self) -> bytes | None:
        """The next message; None if the peer has hung up between two of them."""
        head = _exactly(self.wire, _LENGTH.size, ends=True)
        if not head:
            return None
        (length,) = _LENGTH.unpack(head)
        if length > MOST_BYTES:
            raise Refused(f"a message of {length} bytes")
        mac, message = _exactly(self.wire, _MAC), _exactly(self.wire, length)
        _check(mac, self._key.sign(self._theirs, self._received.to_bytes(8, "big"), message))
        self._received += 1
        return message

    def close(self) -> None:
        with suppress(OSError):  # the other end may have gone
            self.wire.shutdown(socket.SHUT_RDWR)  # a process that was forked meanwhile has the socket too
        self.wire.close()


def _check(given: bytes, due: bytes) -> None:
    if not hmac.compare_digest(given, due):
        raise Refused("the other end does not know the secret")


def _exactly(wire: socket.socket, size: int, ends: bool = False, until: float | None = None) -> bytes:
    """So many bytes. Raises ConnectionError if the connection ends before, unless it ``ends`` and none came."""
    parts: list[bytes] = []
    left = size
    while left:
        if until is not None:
            wire.settimeout(max(until - time.monotonic(), 0.001))
        part = wire.recv(min(left, 1 << 16))
        if not part:
            if ends and left == size:
                return b""
            raise ConnectionError("the other end hung up")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
