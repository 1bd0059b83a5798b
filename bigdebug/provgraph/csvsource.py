"""CSV as columns of texts: lines of any length, what is malformed told by the number of its record, and quotes that are never closed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv

from bigdebug.errors import ProvenanceError

Malformed = Callable[[str, int, str], None]
"""Told of a record that has another number of fields: its file, its number and its text. The header is record 1; blank lines are none, and a quoted text
of several lines is in one, so this is not the number that an editor shows."""

_BLOCKS = (1 << 18, 1 << 22, 1 << 26, 1 << 30)
"""Bytes of text that are parsed at once: the first, unless a line is longer. Some two dozen blocks are in memory."""

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": ","}
"""What stands between fields, by what is in a file."""

_PACKED = {".gz", ".bz2", ".zst", ".lz4"}


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Says of what cannot be parsed where that is."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as problem:
        raise ProvenanceError(
            f"{what} cannot be read: {problem}",
            remedy="Look whether it may be read, is whole, is what its name says, and has its texts in UTF-8.",
        ) from problem


@contextmanager
def _longer(block: int) -> Iterator[None]:
    """Lets a line that is longer than a block be tried with a longer one, if there is any."""
    try:
        yield
    except pa.ArrowInvalid as problem:
        if "straddling" not in str(problem) or block == _BLOCKS[-1]:
            raise


class _Marked:
    """A file with a line behind its last one that is no row: if nobody is told of it, it was taken for part of a text that is never closed."""

    def __init__(self, file: Any) -> None:
        self._file = file
        # One field, and rows have two or more.
        self._mark = secrets.token_hex(16)
        self._left = [f"\n{self._mark}\n".encode()]
        self.seen = False
        self.closed = False

    def read(self, size: int) -> bytes:
        data: bytes = self._file.read(size)
        return data or (self._left.pop() if self._left and size else b"")

    def sees(self, line: str) -> bool:
        """Whether this malformed line is that one."""
        self.seen = self.seen or line == self._mark
        return line == self._mark

    def close(self) -> None:
        self._file.close()
        self.closed = True


@dataclass(frozen=True)
class CsvSource:
    """Text files with a header line; an empty field is null, unless it is quoted."""

    files: tuple[Path, ...]

    @property
    def names(self) -> list[str]:
        with reading(self.files[0].name):
            for block in _BLOCKS:
                with _longer(block), self._reader(self.files[0], _stream(self.files[0]), None, lambda row: "skip", block) as reader:
                    return list(reader.schema.names)
        raise AssertionError("the last block raises")

    def sample(self, columns: Sequence[str]) -> dict[str, pa.Array]:
        first: pa.RecordBatch = next((batch for batch in self.batches(columns, _ignored) if len(batch)), None)
        return {name: pa.array([], pa.large_string()) if first is None else first.column(name) for name in columns}

    def batches(self, columns: Sequence[str], malformed: Malformed) -> Iterator[pa.RecordBatch]:
        for file in self.files:
            done = told = 0
            for block in _BLOCKS:
                with reading(file.name), _longer(block):
                    # Begun anew for the sake of a long line, what was given is left out.
                    before, odd = done, list[tuple[int, str]]()
                    for batch in self._parsed(file, columns, odd, block):
                        # Told here, for the parser goes on whatever its handler raises.
                        for line, text in odd[told:]:
                            malformed(file.name, line, text)
                        told = max(told, len(odd))
                        some = batch.slice(min(before, len(batch)))
                        before -= len(batch) - len(some)
                        done += len(some)
                        if len(some):
                            yield some
                    break

    def _parsed(self, file: Path, columns: Sequence[str], odd: list[tuple[int, str]], block: int) -> Iterator[pa.RecordBatch]:
        """All batches, and an empty one behind the last; ``odd`` has what was malformed so far. Raises ProvenanceError where a quote is never closed."""
        marked = _Marked(_stream(file))

        def skip(row: Any) -> str:
            if not marked.sees(row.text):
                odd.append((row.number, row.text))
            return "skip"

        with self._reader(file, marked, columns, skip, block) as reader:
            yield from reader
            if not marked.seen:
                raise ProvenanceError(
                    f"{file.name} has a quote that is never closed: what is behind it would be one text, and no triples", remedy="Close the quote, or write it twice within quotes.",
                )
            yield pa.RecordBatch.from_pylist([], reader.schema)

    def _reader(self, file: Path, stream: Any, columns: Sequence[str] | None, skip: Callable[[Any], str], block: int) -> Any:
        # One thread, for several cannot tell numbers of lines; they count the header, and no blank ones.
        return arrow_csv.open_csv(
            stream,
            arrow_csv.ReadOptions(use_threads=False, block_size=block),
            arrow_csv.ParseOptions(delimiter=_separator(file), newlines_in_values=True, invalid_row_handler=skip),
            arrow_csv.ConvertOptions(
                column_types={name: pa.large_string() for name in columns or ()}, include_columns=list(columns or ()),
                null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False,
            ),
        )


def kind_of(file: Path) -> str:
    """The suffix that says what is in a file; Spark's part files of CSV have it before that of their compression."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _separator(file: Path) -> str:
    return SEPARATORS[kind_of(file)]


def _stream(file: Path) -> Any:
    return pa.input_stream(os.fspath(file), compression="detect")


def _ignored(file: str, line: int, text: str) -> None:
    """Lines that are looked at beforehand are told of when they are read in earnest."""
