"""Lines are read as PySpark reads them, whatever the stream's buffer holds of them."""

from __future__ import annotations

import io
import os
import pickle
import struct
import threading
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.serializers import SpecialLengths, UTF8Deserializer

from bigdebug.agents.lines import Lines

END = struct.pack("!i", SpecialLengths.END_OF_DATA_SECTION)
TEXTS = st.lists(st.one_of(st.none(), st.text(), st.text(min_size=30, max_size=60)))


def sent(texts: list[str | None]) -> bytes:
    """As Spark's JVM writes texts."""
    written = [None if text is None else text.encode() for text in texts]
    return b"".join(struct.pack("!i", SpecialLengths.NULL) if text is None else struct.pack("!i", len(text)) + text for text in written)


def stream(data: bytes, buffer: int) -> Any:
    return io.BufferedReader(io.BytesIO(data), buffer)  # type: ignore[arg-type]


@pytest.mark.parametrize("unicode", [True, False])
@given(texts=TEXTS, buffer=st.integers(1, 100), behind=st.binary(max_size=8))
def test_texts_come_as_pyspark_reads_them(unicode: bool, texts: list[str | None], buffer: int, behind: bytes) -> None:
    plain: Any = UTF8Deserializer(unicode)  # type: ignore[no-untyped-call]
    data = sent(texts) + END + behind
    read, expected = stream(data, buffer), stream(data, buffer)
    assert list(Lines(plain).load_stream(read)) == list(plain.load_stream(expected))
    assert read.read() == expected.read() == behind, "what comes behind the texts is somebody else's to read"


@given(texts=TEXTS, buffer=st.integers(1, 100), cut=st.integers(1, 3))
def test_a_stream_that_ends_in_a_length(texts: list[str | None], buffer: int, cut: int) -> None:
    plain: Any = UTF8Deserializer()  # type: ignore[no-untyped-call]
    data = sent(texts) + END[:cut]
    assert list(Lines(plain).load_stream(stream(data, buffer))) == texts


def test_a_text_is_there_before_the_next_one_is_written() -> None:
    """A task may stop early, or wait for what somebody does with what it gives."""
    reads, writes = os.pipe()
    with os.fdopen(writes, "wb", 0) as pipe, os.fdopen(reads, "rb", 65_536) as source:
        texts = pickle.loads(pickle.dumps(Lines(UTF8Deserializer()))).load_stream(source)  # type: ignore[no-untyped-call]
        for text in ("one", "two"):
            pipe.write(sent([text]))
            assert next(texts) == text
        threading.Timer(0.05, pipe.write, [sent(["three"]) + END]).start()
        assert list(texts) == ["three"]


def test_a_stream_without_a_buffer_to_look_at_is_read_as_pyspark_does() -> None:
    lines = Lines(UTF8Deserializer())  # type: ignore[no-untyped-call]
    assert list(islice(lines.load_stream(io.BytesIO(sent(["a", "b"]) + END)), 5)) == ["a", "b"]
