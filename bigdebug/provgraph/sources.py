"""Where columns come from: Parquet, CSV, pandas, and whatever speaks Arrow; read in batches, so that none has to fit in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as arrow_dataset
from pyarrow.parquet import ParquetFile

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.csvsource import SEPARATORS, CsvSource, Malformed, kind_of, reading
from bigdebug.provgraph.portions import BATCH, ROWS, of_batch, of_frame

_BUFFER = 1 << 16
"""Bytes that are read at once of each column of a Parquet file."""
_REMEDY = "Give the path of Parquet or CSV files, a pandas DataFrame, an Arrow table, or what hands over an Arrow stream."


class Source(Protocol):
    """Columns by their names."""

    @property
    def names(self) -> list[str]: ...

    def sample(self, columns: Sequence[str]) -> dict[str, pa.Array]:
        """Of each column some values, or none, of the type that they are of; what ``batches`` gives is not used up by it."""
        ...

    def batches(self, columns: Sequence[str], malformed: Malformed) -> Iterator[pa.RecordBatch]:
        """The columns of these names, some rows at a time. Of CSV they are texts, for what they mean is not for a parser to say."""
        ...


@contextmanager
def _converting(rows: str) -> Iterator[None]:
    """Says of values of pandas that are of no one type which rows they are in."""
    try:
        yield
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as problem:
        raise ProvenanceError(
            f"{rows} have values of several types, or such as no id can be: {problem}",
            remedy="Make the columns all integers of 64 bits or all texts, by astype.",
        ) from problem


def source_of(given: Any) -> Source:
    """What to read ``given`` with. Raises ProvenanceError for what cannot be read."""
    if isinstance(given, (str, os.PathLike)):
        return _files([given])
    if isinstance(given, (list, tuple)) and given and all(isinstance(one, (str, os.PathLike)) for one in given):
        return _files(given)
    if isinstance(given, pd.DataFrame):
        return PandasSource(given)
    if isinstance(given, pa.RecordBatchReader):
        return ArrowSource(given)
    if hasattr(given, "__arrow_c_stream__"):
        with suppress(pa.ArrowInvalid):  # a stream of one column, as a Series is, has no table
            return ArrowSource(pa.RecordBatchReader.from_stream(given))
    raise ProvenanceError("No triples can be read from this", value=type(given).__name__, remedy=_REMEDY)


@dataclass(frozen=True)
class ParquetSource:
    """Parquet files, also of several folders and partitions; in any file system that Arrow knows."""

    dataset: Any

    @property
    def names(self) -> list[str]:
        return list(self.dataset.schema.names)

    def sample(self, columns: Sequence[str]) -> dict[str, pa.Array]:
        return {name: pa.array([], self.dataset.schema.field(name).type) for name in columns}

    def batches(self, columns: Sequence[str], malformed: Malformed) -> Iterator[pa.RecordBatch]:
        for fragment in self.dataset.get_fragments():
            told = arrow_dataset.get_partition_keys(fragment.partition_expression)
            with reading(fragment.path), fragment.filesystem.open_input_file(fragment.path) as file:
                # A dataset would read row groups as a whole, and some ahead of others.
                parquet = ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER)
                there = [name for name in columns if name in parquet.schema_arrow.names and name not in told]
                for batch in parquet.iter_batches(_rows_of(parquet.metadata, there), columns=there, use_threads=False):
                    yield pa.record_batch([self._column(batch, name, told) for name in columns], names=list(columns))

    def _column(self, batch: pa.RecordBatch, name: str, told: dict[str, Any]) -> pa.Array:
        """A column of a batch; of those that a file does not have, the one value that the names of its folders tell, or nulls."""
        if name in batch.schema.names and name not in told:
            return batch.column(name)
        kind = self.dataset.schema.field(name).type
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        return pa.repeat(pa.scalar(told.get(name), plain), len(batch))


@dataclass(frozen=True)
class PandasSource:
    """A pandas DataFrame."""

    frame: Any

    @property
    def names(self) -> list[str]:
        return [name for name in self.frame.columns if isinstance(name, str)]

    def sample(self, columns: Sequence[str]) -> dict[str, pa.Array]:
        some = {name: self._first(name) for name in columns}
        with _converting("The first rows"):
            # A column without values has a type of pandas' own choice: of numbers, where nobody gave any.
            return {name: pa.array(one, from_pandas=True) if len(one) else pa.nulls(0) for name, one in some.items()}

    def batches(self, columns: Sequence[str], malformed: Malformed) -> Iterator[pa.RecordBatch]:
        empty = [name for name in columns if not len(self._first(name))]
        start = 0
        for part in of_frame(self.frame, list(columns)):
            with _converting(f"Rows {start} to {start + len(part) - 1}"):
                there = pa.RecordBatch.from_pandas(part.drop(columns=empty), preserve_index=False)
                yield pa.record_batch([pa.nulls(len(part)) if name in empty else there.column(name) for name in columns], list(columns))
            start += len(part)

    def _first(self, name: str) -> pd.Series:
        """The first value of a column, or none."""
        return next((some.iloc[:1] for part in of_frame(self.frame, [name]) if len(some := part[name].dropna())), self.frame[name].iloc[:0])


@dataclass(frozen=True)
class ArrowSource:
    """A stream of Arrow batches; it can be gone through once."""

    reader: pa.RecordBatchReader

    @property
    def names(self) -> list[str]:
        return list(self.reader.schema.names)

    def sample(self, columns: Sequence[str]) -> dict[str, pa.Array]:
        return {name: pa.array([], self.reader.schema.field(name).type) for name in columns}

    def batches(self, columns: Sequence[str], malformed: Malformed) -> Iterator[pa.RecordBatch]:
        for batch in self.reader:
            yield from of_batch(batch.select(list(columns)))


def separator_of(path: str) -> str | None:
    """What stands between the fields of the text files at a path; None where they are Parquet."""
    local = Path(path)
    files = _within(local) if local.is_dir() else [local]
    return SEPARATORS.get(kind_of(files[0])) if files else None


def _files(paths: Sequence[str | os.PathLike[str]]) -> Source:
    """The files of some paths, of which all are of one kind."""
    local = [Path(path) for path in paths]
    if any("://" in os.fspath(path) for path in paths):
        return _parquet([os.fspath(path) for path in paths])
    found = []
    for path in local:
        with reading(os.fspath(path)):
            if not path.exists():
                raise ProvenanceError("There is no such file", value=os.fspath(path), remedy="Look at its path.")
            found += _within(path) if path.is_dir() else [path]
    kinds = {kind_of(file) for file in found}
    if kinds == {".parquet"}:
        return _parquet([os.fspath(path) for path in local])
    if kinds and kinds <= set(SEPARATORS):
        return CsvSource(tuple(found))
    raise ProvenanceError("These files are not all Parquet or all CSV", value=sorted(kinds), remedy=_REMEDY)


def _parquet(paths: list[str]) -> ParquetSource:
    try:
        return ParquetSource(arrow_dataset.dataset(paths[0] if len(paths) == 1 else paths, format="parquet", partitioning="hive"))
    except (OSError, ValueError, TypeError) as problem:
        raise ProvenanceError(f"The Parquet files cannot be read: {problem}", value=paths[0], remedy=_REMEDY) from problem


def _within(folder: Path) -> list[Path]:
    """The files of a folder, in order, without those that Spark and others keep beside data. Raises OSError for a folder within that may not be read."""
    found = []
    for at, folders, names in os.walk(folder, onerror=_raised):
        folders[:] = filter(_of_data, folders)  # it looks into no other
        found += [Path(at, name) for name in names if _of_data(name)]
    return sorted(file for file in found if file.is_file())


def _of_data(name: str) -> bool:
    return name[0] not in "._"


def _raised(problem: OSError) -> None:
    raise problem


def _rows_of(metadata: Any, columns: Sequence[str]) -> int:
    """How many rows of a Parquet file make a batch: fewer where its texts are long."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    size: int = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema in columns)
    return int(max(min(ROWS, BATCH * metadata.num_rows // max(size, 1)), 1))
