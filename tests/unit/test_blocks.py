"""Blocks: what was written is what is read, or an error of ours says why not."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bigdebug.errors import CorruptBlockError, StoreError, StoreVersionError
from bigdebug.store.blocks import MAGIC, VERSION, Block, block_name, decode, encode, write_block

ENVELOPE = struct.Struct("<4sHIQ")  # as notes/store-format.md has it
RISING = ("segment0.offsets", "segment1.kept", "segment2.reads")
FREE = ("segment3.codes", "segment4.order", "runs.start", "product.left_count", "out.targets", "out.codes")


def integers(width: int) -> st.SearchStrategy[int]:
    """Those that need ``width`` bytes, its edges often; signed 64 bits are the most that positions are kept in."""
    highest = min(256**width, 2**63) - 1
    return st.integers(0, highest) | st.sampled_from([0, 1, highest, highest - 1, 256 ** (width - 1) - (width > 1)])


@st.composite
def free_columns(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    width = draw(st.sampled_from([1, 2, 4, 8]))
    return np.array(draw(st.lists(integers(width), max_size=20)), dtype=f"u{width}")


@st.composite
def rising_columns(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    values = sorted(draw(st.lists(integers(draw(st.sampled_from([1, 2, 4, 8]))), max_size=20)))
    return np.array(values, dtype=np.min_scalar_type(values[-1]) if values else np.uint8)


columns = st.fixed_dictionaries({}, optional={n: rising_columns() for n in RISING} | {n: free_columns() for n in FREE})
blocks = st.builds(
    Block,
    stage=st.sampled_from(["s0", "s12", "s3.fine"]),
    partition=st.integers(0, 2**23 - 1),
    attempt=st.integers(0, 2**40),
    levels=st.lists(st.integers(0, 2**40), min_size=1, max_size=4).map(tuple),
    digest=st.integers(0, 2**32 - 1),
    columns=columns,
    stub=st.booleans(),
)
SAMPLE = Block("s1", 3, 7, (4, 2), 99, {"segment0.codes": np.array([0, 1, 1, 300], np.uint16), "segment1.kept": np.array([1, 3], np.uint8)})
BYTES = encode(SAMPLE)


def facts(block: Block) -> tuple[Any, ...]:
    return block.stage, block.partition, block.attempt, block.levels, block.digest, block.stub


def assert_same(read: Block, written: Block) -> None:
    assert facts(read) == facts(written)
    assert list(read.columns) == list(written.columns)
    for name, values in written.columns.items():
        assert read.column(name).tolist() == values.tolist()


def sealed(payload: bytes, version: int = VERSION) -> bytes:
    return ENVELOPE.pack(MAGIC, version, zlib.crc32(payload), len(payload)) + payload


@given(blocks)
@example(Block("s0", 0, 0, (0,), 0, {}))
@example(Block("s0", 0, 0, (0,), 0, {name: np.empty(0, np.uint8) for name in (*RISING, *FREE)}))
@example(Block("s0", 0, 0, (1,), 0, {"out.codes": np.array([2**64 - 1], np.uint64)}))
@example(Block("s0", 0, 0, (1,), 0, {"segment0.kept": np.array([0, 255, 256, 2**63 - 1], np.uint64)}))
def test_what_is_written_is_read_back(block: Block) -> None:
    assert_same(decode(encode(block)), block)


@given(columns)
def test_what_is_read_can_be_written_again(tables: dict[str, Any]) -> None:
    once = decode(encode(Block("s0", 0, 0, (1,), 0, tables)))
    assert_same(decode(encode(once)), once)


@given(st.integers(0, len(BYTES) - 1), st.integers(1, 255))
def test_a_byte_that_was_altered_is_an_error(at: int, change: int) -> None:
    assume((at, change) != (4, VERSION))  # see below
    altered = bytearray(BYTES)
    altered[at] ^= change
    with pytest.raises(StoreError, match="here"):
        decode(bytes(altered), "here")


def test_a_format_that_never_was_is_an_error() -> None:
    with pytest.raises(StoreError):
        decode(ENVELOPE.pack(MAGIC, 0, *ENVELOPE.unpack_from(BYTES)[2:]) + BYTES[ENVELOPE.size :])


@given(st.integers(0, len(BYTES) - 1))
def test_a_block_that_was_cut_off_is_an_error(length: int) -> None:
    with pytest.raises(CorruptBlockError):
        decode(BYTES[:length])


@given(st.binary(min_size=1, max_size=50))
def test_a_block_with_something_behind_it_is_an_error(tail: bytes) -> None:
    with pytest.raises(CorruptBlockError):
        decode(BYTES + tail)


@given(st.integers(VERSION + 1, 2**16 - 1), st.binary(max_size=20))
def test_a_newer_format_is_named_before_its_contents_are_looked_at(version: int, payload: bytes) -> None:
    data = ENVELOPE.pack(MAGIC, version, 0, 12345) + payload
    with pytest.raises(StoreVersionError, match=f"format {version} and this bigdebug reads up to {VERSION}"):
        decode(data)


@given(st.binary(max_size=200))
@example(b"")
@example(b"BDL")
@example(b"PAR1" + bytes(40))
@example(MAGIC)
def test_a_foreign_file_is_an_error(data: bytes) -> None:
    with pytest.raises(StoreError):
        decode(data)


def arrow(metadata: dict[str, str] | None) -> bytes:
    sink = pa.BufferOutputStream()
    schema = pa.schema([pa.field("a", pa.int64())], metadata=metadata)
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch([pa.array([1])], schema=schema))
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    "payload",
    [b"", b"no arrow", arrow(None), arrow({"bigdebug": "no json"}), arrow({"bigdebug": json.dumps({"stage": "s0"})})],
    ids=["nothing", "no Arrow", "no facts", "facts that are no JSON", "too few facts"],
)
def test_an_intact_envelope_around_something_else_is_an_error(payload: bytes) -> None:
    try:
        decode(sealed(payload))
    except StoreError:
        return
    except Exception as raw:
        pytest.fail(f"{type(raw).__name__} is not an error of ours")


# ---- on disk ----------------------------------------------------------------------------------------------------


@given(blocks)
def test_the_size_that_is_reported_is_that_on_disk(tmp_path_factory: pytest.TempPathFactory, block: Block) -> None:
    root = tmp_path_factory.mktemp("store")
    size = write_block(str(root), "r1", block)
    (file,) = [path for path in root.rglob("*") if path.is_file()]
    assert file.relative_to(root) == Path("r1", block.stage, f"p{block.partition}.a{block.attempt}.block")
    assert size == file.stat().st_size
    assert file.stat().st_mode & 0o077 == 0
    assert_same(decode(file.read_bytes()), block)


WRITER = """
import sys, numpy as np
from bigdebug.store.blocks import Block, write_block
root, fill = sys.argv[1], int(sys.argv[2])
block = Block("s0", 0, 0, (1000,), fill, {"out.codes": np.full(1000, fill, np.uint8)})
input()
for _ in range(200):
    write_block(root, "r1", block)
"""


def test_of_two_writers_of_a_block_one_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "r1" / "s0" / block_name(0, 0)
    commands = [[sys.executable, "-c", WRITER, str(tmp_path), fill] for fill in "12"]
    writers = [subprocess.Popen(command, stdin=subprocess.PIPE) for command in commands]
    for writer in writers:
        writer.stdin.write(b"\n")  # type: ignore[union-attr]
        writer.stdin.close()  # type: ignore[union-attr]
    seen = 0
    while seen < 20 or any(writer.poll() is None for writer in writers):
        assert [writer.poll() or 0 for writer in writers] == [0, 0]
        if path.exists():
            block = decode(path.read_bytes())
            assert set(block.column("out.codes").tolist()) == {block.digest}
            seen += 1
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("taken", ["r1", "r1/s1", f"r1/s1/{block_name(3, 7)}/full"])
def test_a_block_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / taken).write_text("in the way")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError, match=r"exists|[Dd]irectory"):
        write_block(str(tmp_path), "r1", SAMPLE)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_worker_that_writes_a_block_imports_no_pandas() -> None:
    """Which takes a fifth of a second, and Arrow does it where it makes an array of one of numpy's."""
    written = (
        "import sys, numpy as np; from bigdebug.store.blocks import Block, decode, encode\n"
        "columns = {'segment0.offsets': np.arange(1000), 'out.codes': np.array([3, 1, 2] * 300)}\n"
        "decode(encode(Block('s0', 0, 0, (1000,), 0, columns)))\n"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", written], check=True)
