"""Stored: rows of Parquet and ORC files by position, and lines of texts, read again. No pickle is: loading one runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from bigdebug.errors import UntraceableError
from bigdebug.outside import from_outside
from bigdebug.trace.across.cuts import counting
from bigdebug.trace.across.located import Extent, Unit
from bigdebug.trace.across.opened import PIECE, file_at, opened, pieces, plain
from bigdebug.trace.positions import Positions

_BOM = "\ufeff"


def tabular(form: str) -> bool:
    """Whether the rows of such a file can be read here by number."""
    return form.lower() in ("parquet", "orc")


def rows_of_table(extent: Extent) -> int:
    """The rows of a Parquet or ORC file, from its footer."""
    found: int = _reading(extent, lambda file: int(file.metadata.num_rows if extent.form.lower() == "parquet" else file.nrows))
    return found


def table_rows(extent: Extent, positions: Positions) -> list[dict[str, Any]]:
    """Rows of a Parquet or ORC file, each a dict by column; reads the row groups, or stripes, that have them."""
    found: list[dict[str, Any]] = _reading(extent, lambda file: _rows(file, extent, positions))
    return found


def _rows(file: Any, extent: Extent, positions: Positions) -> list[dict[str, Any]]:
    parquet = extent.form.lower() == "parquet"
    found: list[dict[str, Any]] = []
    first = 0
    for number in range(file.num_row_groups if parquet else file.nstripes):
        group = None
        count = file.metadata.row_group(number).num_rows if parquet else (group := file.read_stripe(number)).num_rows
        here = positions[(positions >= first) & (positions < first + count)] - first
        if len(here):
            table = file.read_row_group(number) if parquet else pa.Table.from_batches([group])
            found.extend(table.take(pa.array(here)).to_pylist())
        first += count
    return found


def _reading(extent: Extent, read: Callable[[Any], Any]) -> Any:
    from pyarrow import orc, parquet  # a tenth of a second

    path = file_at(extent.path)
    try:
        return read(parquet.ParquetFile(path) if extent.form.lower() == "parquet" else orc.ORCFile(path))
    except (OSError, pa.ArrowException) as problem:
        if from_outside(problem):
            raise
        raise UntraceableError(f"A file cannot be read: {problem}", value=extent.path, remedy="Its records are counted as the whole file.") from problem


def texts_of(extent: Extent, starts: Positions, ends: Positions) -> list[str]:
    """Records of a text file by their bytes, without their terminators. Reads what is asked for; all before it, of a compressed file.

    Bytes that are not of the file's encoding are shown escaped.
    """
    codec = counting(extent)["encoding"]
    found = [text.decode(codec if plain(codec) else "utf-8", "backslashreplace") for text in _slices(extent, codec, starts, ends)]
    if not found or extent.unit is Unit.BYTE:
        return found
    found = [text[: -2 if text.endswith("\r\n") else -1] if text.endswith(("\n", "\r")) else text for text in found]
    return [found[0].removeprefix(_BOM), *found[1:]] if starts[0] == 0 else found


def _slices(extent: Extent, codec: str, starts: Positions, ends: Positions) -> list[bytes]:
    if not plain(codec):
        return _streamed(pieces(extent.path, codec), starts, ends)
    with opened(extent.path) as file:
        if not file.seekable():
            return _streamed(iter(lambda: file.read(PIECE), b""), starts, ends)
        found = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            file.seek(start)
            found.append(file.read(end - start))
        return found


def _streamed(found: Iterator[bytes], starts: Positions, ends: Positions) -> list[bytes]:
    """Ascending slices of a stream; holds no more of it than they need."""
    slices, held, begins = [], b"", 0
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        while begins + len(held) < end and (piece := next(found, b"")):
            kept = max(0, min(start - begins, len(held)))
            held, begins = held[kept:] + piece, begins + kept
        slices.append(held[start - begins : end - begins])
    return slices
