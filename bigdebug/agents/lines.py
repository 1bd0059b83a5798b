"""Lines: the texts that Spark's JVM hands to a worker, read in a quarter of the time that PySpark takes.

PySpark asks the stream twice for each text. Here the stream's buffer is looked at, and texts are cut out of it; of the stream as much is
taken as was cut. A text that the buffer does not hold as a whole is read as PySpark reads it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_LENGTH = struct.Struct("!i")


@dataclass(frozen=True)
class Lines:
    """In the place of ``plain``, PySpark's deserializer of texts."""

    plain: Any

    def load_stream(self, stream: Any) -> Iterator[str | bytes]:
        """The texts, in order, until the stream says that there are no more, or ends."""
        if not hasattr(stream, "peek"):
            yield from self.plain.load_stream(stream)
            return
        length_at, unicode = _LENGTH.unpack_from, self.plain.use_unicode
        while True:
            buffer = stream.peek()
            at, end = 0, len(buffer)
            while at + 4 <= end:
                (length,) = length_at(buffer, at)
                behind = at + 4 + length
                if length < 0 or behind > end:
                    break
                text = buffer[at + 4:behind]
                at = behind
                yield str(text, "utf-8") if unicode else text
            if at:
                stream.read(at)
                continue
            try:
                text = self.plain.loads(stream)
            except (struct.error, EOFError):
                return
            yield text
