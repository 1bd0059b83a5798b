"""Saved outputs: the records that a run's action was called on, as far as they were few, beside its lineage: there somebody finds the odd one."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bigdebug.errors import CorruptBlockError
from bigdebug.shown import masked, masking, shown
from bigdebug.store.envelopes import check_claims, enveloped, payload_of
from bigdebug.trace.culprit import Described
from bigdebug.trace.fields import Fields, fits, stands_for
from bigdebug.trace.positions import Positions
from bigdebug.trace.saved.values import read, written

MOST = 100_000
"""Records that are saved; of more, none are."""
MOST_BYTES = 64 << 20
"""Bytes that they take, at most."""

_MAGIC, _VERSION = b"BDLO", 1
_ROWS, _RECORDS = "rows", "records"
_MEND = "Restore the file, or save the session again."


def encode_rows(fields: Fields, columns: Sequence[pa.Array], count: int) -> bytes | None:
    """``count`` rows of a DataFrame; None where they are too large. Where something is secret, all are texts, and no name of a column tells it."""
    if masking() is not None:
        fields = Fields(fields.masked().names, (None,) * len(columns))
        columns = [pa.array([None if value is None else masked(shown(value)) for value in column.to_pylist()], pa.large_string()) for column in columns]
    return _encoded(pa.table(list(columns), [f"c{i}" for i in range(len(columns))]), {"kind": _ROWS, "count": count, **fields.dump()})


def encode_records(records: Iterable[Any]) -> bytes | None:
    """Records of an RDD, plain ones as values, others as texts with pickles; None where they are too large. Where something is secret, all are texts."""
    values, texts, pickles = [], [], []
    for record in records:
        plain = None if masking() is not None else written(record)
        values.append(plain)
        texts.append(shown(record) if plain is None else None)
        pickles.append(_pickled(record) if plain is None and masking() is None else None)
    table = pa.table({"value": pa.array(values, pa.large_string()), "text": pa.array(texts, pa.large_string()), "pickle": pa.array(pickles, pa.large_binary())})
    return _encoded(table, {"kind": _RECORDS, "names": [], "count": len(texts)})


def _pickled(record: Any) -> bytes | None:
    try:
        return pickle.dumps(record)
    except Exception:  # it is the user's code that runs here; the text is there
        return None


def _encoded(table: pa.Table, facts: dict[str, Any]) -> bytes | None:
    if facts["count"] > MOST or table.nbytes > MOST_BYTES:
        return None
    sink = pa.BufferOutputStream()
    table = table.replace_schema_metadata({"bigdebug": json.dumps(facts)})
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return enveloped(_MAGIC, _VERSION, sink.getvalue().to_pybytes())


class SavedOutputs:
    """The outputs of a saved run, read when they are first asked for. ``trusted`` says that pickles may be loaded, which runs code that is in them."""

    def __init__(self, path: Path, read_file: Callable[[Path], bytes], count: int, trusted: bool) -> None:
        self.count = count
        self._path, self._read, self._trusted = path, read_file, trusted

    def __len__(self) -> int:
        return self.count

    @cached_property
    def _table(self) -> pa.Table:
        where = str(self._path)
        payload = payload_of(self._read(self._path), _MAGIC, _VERSION, "file of outputs", where, _MEND)
        try:
            return self._opened(payload)
        except (pa.ArrowException, OSError, LookupError, ValueError, TypeError, AttributeError, RecursionError, ArithmeticError, struct.error) as problem:
            raise CorruptBlockError(f"The file of outputs {where} holds something else: {problem}", remedy=_MEND) from problem

    def _opened(self, payload: memoryview) -> pa.Table:
        check_claims(payload, 4 * MOST_BYTES)
        with pa.ipc.open_stream(pa.py_buffer(payload)) as stream:
            table = stream.read_all()
        table.validate(full=True)
        facts = json.loads(table.schema.metadata[b"bigdebug"])
        wanted = ["value", "text", "pickle"] if facts["kind"] == _RECORDS else [f"c{i}" for i in range(len(facts["names"]))]
        if table.column_names != wanted or facts["count"] != self.count or (wanted and table.num_rows != self.count):
            raise ValueError("its columns are others")
        fields = _fields(facts)
        if facts["kind"] == _ROWS and not all(kind is None or fits(field.type, kind) or stands_for(field.type, kind) for field, kind in zip(table.schema, fields.kinds, strict=True)):
            raise ValueError("its columns are of other types")
        return table.combine_chunks()

    @cached_property
    def _fields(self) -> Fields:
        return _fields(json.loads(self._table.schema.metadata[b"bigdebug"]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, of a DataFrame's rows."""
        return self._fields.names

    @property
    def table(self) -> pa.Table:
        """The rows, or the records with what is plain of them and their texts, in the types of Arrow."""
        table = self._table
        return table.rename_columns(list(self.names)) if self.names else table

    def records(self, numbers: Positions) -> list[Any]:
        """The outputs with these numbers: rows, or records; a text in the place of one that only a pickle tells, if that may not be loaded."""
        table = self._table
        rows = table.take(pa.array(numbers)) if table.num_columns else table
        if "pickle" in table.column_names:
            return [self._record(*each) for each in zip(*(column.to_pylist() for column in rows.columns))]
        return list(self._fields.rows([column.combine_chunks() for column in rows.columns], len(numbers)))

    def where(self, test: Callable[[Any], Any]) -> Positions:
        """The numbers of the outputs for which a function holds."""
        return np.array([i for i, record in enumerate(self.records(np.arange(self.count))) if test(record)], np.int64)

    def _record(self, value: str | None, text: str | None, pickled: bytes | None) -> Any:
        if value is not None:
            try:
                return read(value)
            except (LookupError, ValueError, TypeError, AttributeError, RecursionError, ArithmeticError) as problem:
                raise CorruptBlockError(f"The file of outputs {self._path} holds something else: {problem}", remedy=_MEND) from problem
        if self._trusted and pickled is not None:
            return pickle.loads(pickled)
        return Described(text or "")


def _fields(facts: Mapping[str, Any]) -> Fields:
    """The columns that rows were saved with. What was saved before they had types, Arrow tells."""
    return Fields.load({"kinds": [None] * len(facts["names"]), "zone": "", **facts})
