"""Envelopes: a payload in a file behind its magic, format, checksum and length, so that what is not whole is no payload; and what Arrow's messages claim to hold."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

from bigdebug.errors import CorruptBlockError, StoreVersionError

if TYPE_CHECKING:
    import pyarrow as pa

_ENVELOPE = struct.Struct("<4sHIQ")

SIZE = _ENVELOPE.size

_EXTENSION = b"ARROW:extension"
"""Of a type whose class, if any is registered under its name, makes something of bytes that stand beside it."""


def enveloped(magic: bytes, version: int, payload: bytes) -> bytes:
    """The payload in its envelope; ``payload_of`` is the inverse."""
    return _ENVELOPE.pack(magic, version, zlib.crc32(payload), len(payload)) + payload


def payload_of(data: bytes, magic: bytes, version: int, what: str, where: str, remedy: str) -> memoryview:
    """The payload, an error of ours if the bytes are not those that were written. ``what`` is in it: "lineage block"."""
    if len(data) < SIZE or data[:4] != magic:
        raise CorruptBlockError(f"This is not a {what}", value=where, remedy=remedy)
    _, found, crc, length = _ENVELOPE.unpack_from(data)
    if not found:
        raise CorruptBlockError(f"The {what} {where} has format 0, which never was", remedy=remedy)
    if found > version:
        raise StoreVersionError(
            f"The {what} {where} has format {found} and this bigdebug reads up to {version}",
            remedy="Open it with the bigdebug that wrote it, or a newer one.",
        )
    payload = memoryview(data)[SIZE:]
    if len(payload) != length:
        wrong = "is truncated" if len(payload) < length else "has something behind it"
        raise CorruptBlockError(f"The {what} {where} {wrong}: {len(payload)} bytes instead of {length}", remedy=remedy)
    if zlib.crc32(payload) != crc:
        raise CorruptBlockError(f"The {what} {where} was altered: its checksum does not match", remedy=remedy)
    return payload


def check_claims(payload: Any, most: int) -> None:
    """See that a stream of Arrow's, taken apart, holds no more than ``most`` bytes. Raises ValueError where it claims more, or has types of
    other programs: nothing has been taken apart then.

    A kilobyte that is compressed may hold a gigabyte; how much it is stands in front of each buffer.
    """
    import pyarrow as pa

    claimed = 0
    for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(payload)):
        if _EXTENSION in message.metadata.to_pybytes():
            raise ValueError("a column is of a type that some program defines, which would run")
        claimed += sum(_claimed(message))
        if claimed > most:
            raise ValueError(f"it claims to hold {claimed:,} bytes, and {most:,} are the most")


def _claimed(message: pa.Message) -> list[int]:
    """What each buffer of a record batch, or of a dictionary, holds."""
    if message.type not in ("record batch", "dictionary"):
        return []
    metadata, body = message.metadata.to_pybytes(), message.body
    batch = _Flat(metadata, struct.unpack_from("<I", metadata)[0]).table(2)
    if message.type == "dictionary":
        batch = batch.table(1)
    compressed = batch.has(3)
    found = []
    for offset, length in batch.pairs(2):
        size = length
        if compressed and length >= 8:
            stored = struct.unpack_from("<q", body.slice(offset, 8).to_pybytes())[0]
            size = length if stored == -1 else stored
        if not 0 <= size < 1 << 62:
            raise ValueError(f"a buffer claims to hold {size} bytes")
        found.append(size)
    return found


class _Flat:
    """A table of a FlatBuffer, by the numbers of its fields: enough of that format for the sizes of Arrow's buffers."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._fields = at - struct.unpack_from("<i", data, at)[0]
        self._bytes = struct.unpack_from("<H", data, self._fields)[0]

    def has(self, field: int) -> bool:
        return bool(self._place(field))

    def table(self, field: int) -> _Flat:
        return _Flat(self._data, self._followed(field))

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """A vector of structs of two int64."""
        at = self._followed(field)
        count = struct.unpack_from("<I", self._data, at)[0]
        return [struct.unpack_from("<qq", self._data, at + 4 + 16 * i) for i in range(count)]

    def _followed(self, field: int) -> int:
        place = self._place(field)
        if not place:
            raise ValueError("a message of Arrow's lacks what every one has")
        return int(place + struct.unpack_from("<I", self._data, place)[0])

    def _place(self, field: int) -> int:
        """Where a field stands; 0 if it is not there."""
        slot = 4 + 2 * field
        if slot + 2 > self._bytes or self._fields < 0:
            return 0
        offset = struct.unpack_from("<H", self._data, self._fields + slot)[0]
        return self._at + offset if offset else 0
