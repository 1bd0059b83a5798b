"""Stored: rows of Parquet and ORC files by position, and lines of texts, read again. No pickle is: loading one runs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bigdebug.trace.across.cuts import counting
from bigdebug.trace.across.located import Extent, Unit
from bigdebug.trace.across.opened import PIECE, opened, pieces, plain
from bigdebug.trace.across.tablefiles import TableFile
from bigdebug.trace.positions import Positions

_BOM = "\ufeff"


def tabular(form: str) -> bool:
    """Whether the rows of such a file can be read here by number."""
    return form.lower() in ("parquet", "orc")


def rows_of_table(extent: Extent) -> int:
    """The rows of a Parquet or ORC file, from its footer."""
    return TableFile(extent).count


def table_rows(extent: Extent, positions: Positions) -> list[dict[str, Any]]:
    """Rows of a Parquet or ORC file, each a dict by column; reads the row groups, or stripes, that have them."""
    found: list[dict[str, Any]] = TableFile(extent).rows(positions).to_pylist()
    return found


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
