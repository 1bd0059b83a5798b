"""Blocks: the association tables of one stage on one partition, as bytes. This is the wire between executors and driver.

A block file is an envelope (magic, format version, crc32 and length of what follows) around one Arrow record batch
of one row, compressed with zstd: a list column for each table, and the block's own facts as JSON in the schema's
metadata. ``notes/store-format.md`` describes the tables.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from struct import error as StructError  # noqa: N812 (as classes are)
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from bigdebug.errors import CorruptBlockError
from bigdebug.shown import shown
from bigdebug.store.envelopes import check_claims, enveloped, payload_of

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"BDLG"
VERSION = 1
MOST_BYTES = 1 << 32
"""Bytes that the tables of a block have at most; of more than a gigabyte an agent leaves a stub."""

Array = npt.NDArray[Any]
Fact = TypeVar("Fact", str, int, bool)


@dataclass(frozen=True)
class Block:
    """What the agents of one task noted. ``levels`` counts records by level; ``digest`` is a crc32 of the output.

    A ``stub`` holds these facts alone: its tables are to be derived. ``ended`` says that what the stage reads was read
    to its end, so that ``levels`` are sizes; ``finished``, that the action did not stop before the records ended.
    """

    stage: str
    partition: int
    attempt: int
    levels: tuple[int, ...]
    digest: int
    columns: Mapping[str, Array]
    stub: bool = False
    ended: bool = True
    finished: bool = True
    made: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What readers have made of the columns: it goes when the block goes."""

    def column(self, name: str) -> Array:
        """Raises CorruptBlockError for a table that it does not have: it is that of a stage that ran something else."""
        if name not in self.columns:
            raise CorruptBlockError(f"The lineage block of partition {self.partition} of stage {self.stage} has no {name}", remedy="Run the job again under capture, or restore the file.")
        return self.columns[name]

    @property
    def bytes(self) -> int:
        """Bytes of memory that its tables take now, and what was made of them."""
        return array_bytes((self.columns, self.made))

    @property
    def key(self) -> tuple[Any, ...]:
        """What two attempts at the same partition must agree on."""
        return self.levels, self.digest


def encode(block: Block) -> bytes:
    """The block as bytes; ``decode`` is its inverse."""
    import pyarrow as pa

    facts: dict[str, Any] = {
        "stage": block.stage, "partition": block.partition, "attempt": block.attempt,
        "levels": block.levels, "digest": block.digest,
        "stub": block.stub, "ended": block.ended, "finished": block.finished, "widths": {},
    }
    arrays = []
    for name, values in block.columns.items():
        steps = _steps(values) if name.endswith(_RISING) else values
        facts["widths"][name] = steps.dtype.itemsize
        stored = _planes(steps)
        arrays.append(pa.ListArray.from_arrays(_arrow(np.array([0, len(stored)], dtype=np.int32)), _arrow(stored)))
    schema = pa.schema(
        [pa.field(name, array.type) for name, array in zip(block.columns, arrays)],
        metadata={"bigdebug": json.dumps(facts)},
    )
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=1))
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))
    payload: bytes = sink.getvalue().to_pybytes()
    return enveloped(MAGIC, VERSION, payload)


def decode(data: bytes, where: str = "a block") -> Block:
    """The block that ``data`` holds; an error of ours if the bytes are not those that were written."""
    import pyarrow as pa

    mend = "Run the job again under capture, or restore the file."
    payload = payload_of(data, MAGIC, VERSION, "lineage block", where, mend)
    try:
        check_claims(payload, MOST_BYTES)
        with pa.ipc.open_stream(pa.py_buffer(payload)) as reader:
            batch = reader.read_next_batch()
            batch.validate(full=True)  # Arrow takes a length that is less than nothing as it comes
            facts = json.loads(reader.schema.metadata[b"bigdebug"])
        columns = {}
        for i, name in enumerate(batch.schema.names):
            values = _integers(_numpy(batch.column(i).values), facts["widths"][name])
            columns[name] = np.cumsum(values, dtype=np.int64) if name.endswith(_RISING) else values
        return Block(
            stage=_known(facts["stage"], str), partition=_known(facts["partition"], int), attempt=_known(facts["attempt"], int),
            levels=tuple(_known(count, int) for count in facts["levels"]), digest=_known(facts["digest"], int), columns=columns, stub=_known(facts["stub"], bool),
            ended=_known(facts["ended"], bool), finished=_known(facts["finished"], bool),
        )
    except (pa.ArrowException, OSError, LookupError, ValueError, TypeError, AttributeError, StopIteration, RecursionError, ArithmeticError, StructError) as problem:
        raise CorruptBlockError(f"The lineage block {where} holds something else: {problem}", remedy=mend) from problem


def _known(fact: Any, kind: type[Fact]) -> Fact:
    """A fact of its type, a count if it is a number. Raises ValueError."""
    if type(fact) is not kind or (isinstance(fact, int) and not 0 <= fact < 1 << 63):
        raise ValueError(f"{shown(fact)} is no {kind.__name__} of a block")
    return fact


def write_block(root: str, run: str, block: Block) -> int:
    """Write a block under ``root`` so that readers see all of it or nothing; its size in bytes."""
    data = encode(block)
    write_whole(Path(root, run, block.stage), block_name(block.partition, block.attempt), data)
    return len(data)


def write_whole(folder: Path, name: str, data: bytes) -> None:
    """Write a file into a folder of a store so that readers see all of it or nothing. Folders that are not there, for somebody removed them, are made for their user alone."""
    _make(folder)
    handle, partial = tempfile.mkstemp(dir=folder, suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(partial, folder / name)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def _make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
    except FileNotFoundError:  # mkdir(parents=True) would let everybody into these
        _make(folder.parent)
        folder.mkdir(exist_ok=True, mode=0o700)


def array_bytes(value: Any) -> int:
    """Bytes of all arrays in a value, whatever holds them there; one that several hold counts once."""
    found: dict[int, int] = {}
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, np.ndarray):
            owner = each if each.base is None else each.base
            found[id(owner)] = max(found.get(id(owner), 0), owner.nbytes if isinstance(owner, np.ndarray) else each.nbytes)
        elif isinstance(each, Mapping):
            todo += each.values()
        elif isinstance(each, tuple | list):
            todo += each
        elif hasattr(each, "__dict__"):
            todo += vars(each).values()
    return sum(found.values())


def block_name(partition: int, attempt: int) -> str:
    return f"p{partition}.a{attempt}.block"


# These never fall: their steps are small and compress to almost nothing.
_RISING = (".offsets", ".reads", ".kept")


def _steps(values: Array) -> Array:
    rises = np.diff(values.astype(np.int64), prepend=0)
    if len(rises) and rises.min() < 0:
        raise ValueError("a column that can only rise falls")
    return rises.astype(np.min_scalar_type(int(rises.max()) if len(rises) else 0))


def _planes(values: Array) -> Array:
    """The lowest bytes of all values, then the next: high bytes are mostly zero and compress well side by side."""
    return values.astype(values.dtype.newbyteorder("<")).view(np.uint8).reshape(len(values), values.dtype.itemsize).T.ravel()


def _arrow(values: Array) -> pa.Array:
    """The values for Arrow. ``pyarrow.array`` would import pandas for it: a fifth of a second in each new worker."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def _numpy(planes: pa.Array) -> Array:
    """The inverse of ``_arrow``; ``to_numpy`` would import pandas."""
    stored = planes.buffers()[1]
    if len(planes) and (stored is None or stored.size < planes.offset + len(planes)):
        raise ValueError("a column is longer than its buffer")
    return np.frombuffer(stored, np.uint8, len(planes), planes.offset) if len(planes) else np.empty(0, np.uint8)


def _integers(planes: Array, width: int) -> Array:
    return np.ascontiguousarray(planes.reshape(width, len(planes) // width).T).view(f"<u{width}").ravel()
