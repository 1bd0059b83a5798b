"""Tables: rows of Parquet and ORC files as the program saw them: in its columns and types, read without Spark. What Spark reads otherwise than Arrow is refused by name."""

from __future__ import annotations

import pyarrow as pa

from bigdebug.errors import IncompleteLineageError
from bigdebug.trace.across.located import Extent
from bigdebug.trace.across.tablefiles import TableFile
from bigdebug.trace.fields import Fields, Kind, fits, holds
from bigdebug.trace.positions import Positions
from bigdebug.trace.rows import SavedRow

_VERSION, _LEGACY = b"org.apache.spark.version", (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""What Spark writes into a Parquet file about itself, and about days that are counted by the calendar before 1582."""


def rows_seen(extent: Extent, positions: Positions, fields: Fields) -> list[SavedRow]:
    """Rows of a file in columns that it has by these names, or has not. Raises IncompleteLineageError for a column that Spark reads otherwise."""
    file = TableFile(extent)
    given = file.schema.names
    kinds = dict(zip(fields.names, fields.kinds))
    lacking = [name for name, kind in kinds.items() if not _as_seen(file, name, kind)]
    if lacking:
        raise IncompleteLineageError(
            f"Spark reads column {lacking[0]!r} of {extent.path} otherwise than it can be read here", remedy="Ask the live session, or for rids() and origins().",
        )
    table = file.rows(positions, [name for name in given if name in kinds])
    columns = [table[name].combine_chunks() if name in given else pa.nulls(len(table)) for name in fields.names]
    kept = [kind if name in given else "void" for name, kind in zip(fields.names, fields.kinds)]
    return Fields(fields.names, tuple(kept), fields.zone).rows(columns, len(positions))


def _as_seen(file: TableFile, name: str, kind: Kind) -> bool:
    """Whether a column's values are those that Spark has of them, or it is in no letters in a Parquet file: then they are NULL."""
    here = [given for given in file.schema.names if given.lower() == name.lower()]
    if not here:
        return file.parquet
    if here != [name] or (holds(kind, ("date", "timestamp", "timestamp_ntz")) and _is_old(file)):
        return False
    naive = holds(kind, ("timestamp",)) and file.counts_in_96_bits(name)
    return fits(file.schema.field(name).type, kind, naive) and not (holds(kind, ("timestamp_ntz",)) and file.counts_in_96_bits(name))


def _is_old(file: TableFile) -> bool:
    """Whether days may be counted by the calendar that Spark had before its version 3."""
    said = file.said
    return any(each in said for each in _LEGACY) or said.get(_VERSION, b"4")[:2] in (b"1.", b"2.")
