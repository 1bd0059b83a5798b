"""Table files: Parquet and ORC files, of which rows are read by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from bigdebug.errors import UntraceableError
from bigdebug.outside import from_outside
from bigdebug.trace.across.located import Extent
from bigdebug.trace.across.opened import file_at
from bigdebug.trace.positions import Positions


class TableFile:
    """One such file. Raises UntraceableError where it cannot be read."""

    def __init__(self, extent: Extent) -> None:
        from pyarrow import orc, parquet  # a tenth of a second

        self._extent = extent
        self.parquet = extent.form.lower() == "parquet"
        # What is counted in 96 bits is counted in microseconds by Spark; in nanoseconds, Arrow would have no moment after 2262.
        open_it = partial(parquet.ParquetFile, coerce_int96_timestamp_unit="us") if self.parquet else orc.ORCFile
        self._file: Any = self._reading(lambda: open_it(file_at(extent.path)))

    @property
    def schema(self) -> pa.Schema:
        """The columns, in Arrow's types."""
        return self._file.schema_arrow if self.parquet else self._file.schema

    @property
    def said(self) -> Mapping[bytes, bytes]:
        """What its writer said besides, in the footer of a Parquet file."""
        return (self._file.metadata.metadata or {}) if self.parquet else {}

    @property
    def count(self) -> int:
        """Its rows, from its footer."""
        return int(self._file.metadata.num_rows if self.parquet else self._file.nrows)

    def counts_in_96_bits(self, column: str) -> bool:
        """Whether a column, or what is in it, has moments that are counted so: in UTC, though the file does not say it."""
        if not self.parquet:
            return False
        known = self._file.schema
        parts = [part for part in map(known.column, range(len(known.names))) if part.path == column or part.path.startswith(f"{column}.")]
        return any(part.physical_type == "INT96" for part in parts)

    def rows(self, positions: Positions, columns: Sequence[str] | None = None) -> pa.Table:
        """Rows by number, ascending, in some columns; in all, if None. Reads the row groups, or stripes, that have them."""
        return self._reading(lambda: self._rows(positions, columns))

    def _rows(self, positions: Positions, columns: Sequence[str] | None) -> pa.Table:
        found, first = [], 0
        for number in range(self._file.num_row_groups if self.parquet else self._file.nstripes):
            group = None
            count = self._file.metadata.row_group(number).num_rows if self.parquet else (group := self._file.read_stripe(number)).num_rows
            here = positions[(positions >= first) & (positions < first + count)] - first
            if len(here):
                table = self._group(number, columns) if self.parquet else pa.Table.from_batches([group])
                found.append((table if columns is None else table.select(columns)).take(pa.array(here)))
            first += count
        return pa.concat_tables(found) if found else self.schema.empty_table() if columns is None else self.schema.empty_table().select(columns)

    def _group(self, number: int, columns: Sequence[str] | None) -> pa.Table:
        """A row group. To Arrow a dot leads into a column: of names that have one, all columns are read."""
        plain = columns is not None and columns and not any("." in name for name in self.schema.names)
        return self._file.read_row_group(number, columns=columns if plain else None)

    def _reading(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except (OSError, pa.ArrowException) as problem:
            if from_outside(problem):
                raise
            raise UntraceableError(f"A file cannot be read: {problem}", value=self._extent.path, remedy="Its records are counted as the whole file.") from problem
