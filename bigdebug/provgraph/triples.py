"""Provenance triples (src, dst, op), read in chunks: ids and operations are integers or texts, what is neither is told of by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.numbering import together
from bigdebug.provgraph.report import EXAMPLES, Findings, triple
from bigdebug.provgraph.sources import CsvSource, Source, source_of
from bigdebug.shown import shown

Kind = Literal["int", "text"]
Values = Any
"""Ids or operations of some rows without nulls: an int64 array of numpy, or a large_string array of Arrow."""


class Chunk(NamedTuple):
    """Some rows: ids, operations (of those rows that ``named`` marks) and, if asked for, the names of the tables of src and dst."""

    src: Values
    dst: Values
    op: Values
    named: NDArray[np.bool_]
    tables: tuple[pa.Array, pa.Array] | None = None


@dataclass(frozen=True)
class Triples:
    """Triples of a source, in the columns ``src``, ``dst`` and ``op`` (None: there are no operations)."""

    source: Source
    src: str
    dst: str
    op: str | None
    kind: Kind
    op_kind: Kind

    @classmethod
    def of(cls, given: Any, columns: Sequence[str | None] = ("src", "dst", "op"), ids: Literal["auto", "int", "text"] = "auto") -> Triples:
        """The triples that are in ``given``; raises ProvenanceError for columns that are not there or have no ids.

        In CSV everything is text: ``"auto"`` takes ids for integers if the first ones are. Then, and with ``"int"``, rows with others are
        malformed; "007" and "+7" are texts, for two ways to write an integer are two texts.
        """
        source = given if hasattr(given, "batches") else source_of(given)
        names = _present(source.names, columns)
        if ids not in ("auto", "int", "text"):
            raise ProvenanceError("Ids are integers or texts", value=ids, remedy='Say ids="int", ids="text", or leave it out.')
        return cls(source, names[0], names[1], names[2], *_kinds(source, source.sample([name for name in names if name]), names, ids))

    def chunks(self, rows: int, size: int, findings: Findings, tables: tuple[str, str] | None = None) -> Iterator[Chunk]:
        """All of it, in chunks of up to ``rows`` rows and about ``size`` bytes; rows that are no triples are left out and told of."""
        names = [name for name in (self.src, self.dst, self.op, *(tables or ())) if name is not None]
        held: list[Chunk] = []
        weight = count = first = 0

        def malformed(file: str, line: int, text: str) -> None:
            findings.add("malformed", 1, [f"line {line} of {file}: {shown(text)}"])

        for batch in self.source.batches(list(dict.fromkeys(names)), malformed):
            chunk = self._chunk(batch, first, findings, tables)
            first += len(batch)
            if held and (weight + batch.nbytes > size or count + len(chunk.src) > rows):
                yield _taken(held)
                weight = count = 0
            held.append(chunk)
            weight, count = weight + batch.nbytes, count + len(chunk.src)
        if held:
            yield _taken(held)

    def _chunk(self, batch: pa.RecordBatch, first: int, findings: Findings, tables: tuple[str, str] | None) -> Chunk:
        src, dst = (batch.column(name) for name in (self.src, self.dst))
        op = batch.column(self.op) if self.op is not None else pa.nulls(len(batch), pa.large_string())
        there = _mask(pc.and_(pc.is_valid(src), pc.is_valid(dst)))
        lost = np.flatnonzero(~there)
        findings.add("missing", len(lost), (f"row {first + row}" for row in lost[:EXAMPLES].tolist()))
        src, bad = _typed(src, self.kind, self.src)
        dst, worse = _typed(dst, self.kind, self.dst)
        odd = np.flatnonzero((bad | worse) & there)
        findings.add(
            "malformed", len(odd),
            (f"row {first + row}, where ids are no integers: {_row(batch, row, (self.src, self.dst))}" for row in odd[:EXAMPLES].tolist()),
        )
        kept = there & ~bad & ~worse
        loops = np.flatnonzero(_mask(pc.fill_null(pc.equal(src, dst), False)) & kept)
        findings.add(
            "self-loops", len(loops), (f"row {first + row}: {triple(src[row].as_py(), dst[row].as_py())}" for row in loops[:EXAMPLES].tolist())
        )
        kept[loops] = False
        op, unnamed = _typed(op, self.op_kind, self.op or "")
        if unnamed.any():
            row = int(np.flatnonzero(unnamed)[0])
            raise ProvenanceError(
                f"Row {first + row} has an operation that is no integer, and the first ones are", value=_row(batch, row, (self.op or "",)),
                remedy="Make the column all texts or all integers.",
            )
        told = [batch.column(name) for name in tables or ()]
        if not kept.all():
            some = pa.array(kept)
            src, dst, op, *told = (column.filter(some) for column in (src, dst, op, *told))
        return Chunk(
            _values(src, self.kind), _values(dst, self.kind), _values(op.drop_null(), self.op_kind), _mask(op.is_valid()),
            (told[0], told[1]) if told else None,
        )


def listed(given: Any, item: str, table: str, kind: Kind) -> Iterator[tuple[Values, pa.Array]]:
    """Ids of a list of items and the names of their tables, batch by batch. Raises ProvenanceError for rows that have no id."""
    source = source_of(given)
    for name in (item, table):
        require(source.names, name)
    row = 0
    for batch in source.batches([item, table], _refuse):
        ids, bad = _typed(batch.column(item), kind, item)
        bad |= ~_mask(ids.is_valid())
        if bad.any():
            raise ProvenanceError(
                f"Row {row + int(np.flatnonzero(bad)[0])} of the list of items has no id of the kind that the triples have",
                value=_row(batch, int(np.flatnonzero(bad)[0]), (item, table)), remedy="Mend the list.",
            )
        yield _values(ids, kind), batch.column(table)
        row += len(batch)


def _refuse(file: str, line: int, text: str) -> None:
    raise ProvenanceError(f"Line {line} of {file} is no row of a list of items", value=text, remedy="Mend the list.")


def _present(there: Sequence[str], wanted: Sequence[str | None]) -> tuple[str, str, str | None]:
    """The names of the three columns. Raises ProvenanceError for one that is not there or there twice."""
    if len(wanted) != 3 or wanted[0] is None or wanted[1] is None:
        raise ProvenanceError(
            "Triples have three columns", value=wanted, remedy='Name those of src, dst and op: ("src", "dst", "op"); None: no operations.'
        )
    for name in wanted:
        if name is not None:
            require(there, name)
    return wanted[0], wanted[1], wanted[2]


def require(there: Sequence[str], name: str) -> None:
    """Raises ProvenanceError unless exactly one column has this name."""
    if there.count(name) != 1:
        near = get_close_matches(name, there) or there[:5]
        raise ProvenanceError(
            f"There {'is no column' if name not in there else 'are several columns'} {name!r}",
            remedy=f"There are {', '.join(map(repr, near))}; say which by columns=(src, dst, op).",
        )


def _kinds(source: Source, sample: Mapping[str, pa.Array], names: tuple[str, str, str | None], ids: str) -> tuple[Kind, Kind]:
    """Of ids and of operations, as the types of the columns, or the first texts of CSV, tell."""
    src, dst = sample[names[0]], sample[names[1]]
    op: Kind | None = _kind(sample[names[2]].type, names[2]) if names[2] else None
    if isinstance(source, CsvSource):
        numbers = ids == "int" or (ids == "auto" and not _parsed(src)[1].any() and not _parsed(dst)[1].any())
        return ("int" if numbers else "text"), "text"
    kinds = {kind for kind in (_kind(src.type, names[0]), _kind(dst.type, names[1])) if kind is not None}
    if len(kinds) > 1:
        raise ProvenanceError(
            f"Ids in {names[0]!r} are of type {src.type}, in {names[1]!r} of type {dst.type}",
            remedy="Cast both to integers, or both to strings.",
        )
    kind: Kind = kinds.pop() if kinds else "int"
    if ids not in ("auto", kind):
        raise ProvenanceError(f"Ids were said to be {ids!r} and are not", value=str(src.type), remedy="Cast the columns.")
    return kind, op or "text"


def _kind(type_: pa.DataType, name: str | None) -> Kind | None:
    """What values of a type are; None: there are only nulls."""
    if pa.types.is_dictionary(type_):
        return _kind(type_.value_type, name)
    if pa.types.is_integer(type_):
        return "int"
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return "text"
    if pa.types.is_null(type_):
        return None
    raise ProvenanceError(
        f"Column {name!r} has the type {type_}; ids and operations are integers or texts",
        remedy="Cast it: integers that pandas keeps as floats for the sake of nulls by astype('Int64'), records by to_json.",
    )


def _typed(column: pa.Array, kind: Kind, name: str) -> tuple[pa.Array, NDArray[np.bool_]]:
    """The column as int64 or large_string, and where its values are none."""
    good = np.zeros(len(column), bool)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    has = _kind(column.type, name)
    if has == "int" and kind == "int":
        try:
            return column.cast(pa.int64()), good
        except pa.ArrowInvalid as problem:
            raise ProvenanceError(f"Column {name!r} has integers of more than 63 bits: {problem}", remedy="Cast it to strings.") from problem
    if has == "text" and kind == "int":
        return _parsed(column)
    if has == "int" and kind == "text":
        raise ProvenanceError(f"Column {name!r} has texts first and then integers", remedy="Make it all texts or all integers.")
    return column.cast(pa.large_string() if kind == "text" else pa.int64()), good


def _parsed(texts: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Texts as the integers that they write in the one plain way, null elsewhere; and where they do not."""
    try:
        found = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        plain = pc.match_substring_regex(texts, r"^(0|-?[1-9][0-9]{0,18})$")
        written = pc.if_else(plain, texts, None).to_pylist()
        found = pa.array([None if text is None or not -(2**63) <= int(text) < 2**63 else int(text) for text in written], pa.int64())
    bad = pc.and_(texts.is_valid(), pc.fill_null(pc.not_equal(found.cast(texts.type), texts), True))
    where = _mask(bad)
    return (pc.if_else(bad, None, found) if where.any() else found), where


def _values(column: pa.Array, kind: Kind) -> Values:
    return column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False) if kind == "int" else column


def _taken(chunks: list[Chunk]) -> Chunk:
    """All of them as one; the list is empty afterwards, so that nobody holds them twice."""
    src, dst, op = (together([chunk[place] for chunk in chunks]) for place in range(3))
    told = [chunk.tables for chunk in chunks if chunk.tables is not None]
    tables = (_whole([one[0] for one in told]), _whole([one[1] for one in told])) if told else None
    named = np.concatenate([chunk.named for chunk in chunks])
    chunks.clear()
    return Chunk(src, dst, op, named, tables)


def _whole(some: list[pa.Array]) -> pa.Array:
    return pa.concat_arrays([one.cast(pa.large_string()) for one in some])


def _mask(column: pa.Array) -> NDArray[np.bool_]:
    where: NDArray[np.bool_] = column.to_numpy(zero_copy_only=False).copy()
    return where


def _row(batch: pa.RecordBatch, row: int, names: Sequence[str]) -> str:
    values = [batch.column(name)[row].as_py() for name in names]
    return triple(*values) if len(values) > 1 else shown(values[0])
