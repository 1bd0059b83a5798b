"""Provenance triples (src, dst, op), read in chunks: ids and operations are integers or texts, what is neither is told of by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.columns import Kind, Values, kind_of, mask, parsed, require, spelled, typed, values_of
from bigdebug.provgraph.csvsource import CsvSource
from bigdebug.provgraph.numbering import together
from bigdebug.provgraph.report import EXAMPLES, Findings, triple
from bigdebug.provgraph.sources import Source, source_of
from bigdebug.shown import shown


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
        names = names_of(columns)
        for name in names:
            if name is not None:
                require(source.names, name)
        if ids not in ("auto", "int", "text"):
            raise ProvenanceError("Ids are integers or texts", value=ids, remedy='Say ids="int", ids="text", or leave it out.')
        return cls(source, names[0], names[1], names[2], *_kinds(source, source.sample([name for name in dict.fromkeys(names) if name]), names, ids))

    def chunks(self, rows: int, size: int, findings: Findings, tables: tuple[str, str] | None = None) -> Iterator[Chunk]:
        """All of it, in chunks of up to ``rows`` rows and about ``size`` bytes; rows that are no triples are left out and told of."""
        names = [name for name in (self.src, self.dst, self.op, *(tables or ())) if name is not None]
        held: list[Chunk] = []
        weight = count = first = 0

        def malformed(file: str, number: int, text: str) -> None:
            findings.add("malformed", 1, [f"record {number} of {file}, its header being the first: {shown(text)}"])

        for name in tables or ():
            require(self.source.names, name)
        for batch in self.source.batches(list(dict.fromkeys(names)), malformed):
            chunk = self._chunk(batch, first, findings, tables)
            first += len(batch)
            # Not what the batch weighs: a dictionary in it may be small.
            heavy = chunk.src.nbytes + chunk.dst.nbytes + chunk.op.nbytes
            if held and (weight + heavy > size or count + len(chunk.src) > rows):
                yield _taken(held)
                weight = count = 0
            held.append(chunk)
            weight, count = weight + heavy, count + len(chunk.src)
        if held:
            yield _taken(held)

    def _chunk(self, batch: pa.RecordBatch, first: int, findings: Findings, tables: tuple[str, str] | None) -> Chunk:
        parse = isinstance(self.source, CsvSource)
        # A parser tells nobody where those stand that it gives: rows are counted from 0, without records that have another number of fields.
        named = "whole row" if parse else "row"
        src, bad = typed(batch.column(self.src), self.kind, self.src, parse=parse)
        dst, worse = typed(batch.column(self.dst), self.kind, self.dst, parse=parse)
        none = pa.nulls(len(batch), pa.large_string()), np.zeros(len(batch), bool)
        op, worst = none if self.op is None else typed(batch.column(self.op), self.op_kind, self.op)
        there = (mask(src.is_valid()) | bad) & (mask(dst.is_valid()) | worse)
        lost = np.flatnonzero(~there)
        findings.add("missing", len(lost), (f"{named} {first + row}" for row in lost[:EXAMPLES].tolist()))
        odd = np.flatnonzero((bad | worse | worst) & there)
        why = "ids are no integers" if self.kind == "int" else "ids are not UTF-8"
        findings.add(
            "malformed", len(odd),
            (f"{named} {first + row}, where {why if bad[row] or worse[row] else 'the operation is not UTF-8'}: {_row(batch, row, (self.src, self.dst))}"
             for row in odd[:EXAMPLES].tolist()),
        )
        kept = there & ~bad & ~worse & ~worst
        loops = np.flatnonzero(mask(pc.fill_null(pc.equal(src, dst), False)) & kept)
        findings.add(
            "self-loops", len(loops), (f"{named} {first + row}: {triple(src[row].as_py(), dst[row].as_py())}" for row in loops[:EXAMPLES].tolist())
        )
        kept[loops] = False
        told = [batch.column(name) for name in tables or ()]
        if not kept.all():
            some = pa.array(kept)
            src, dst, op, *told = (column.filter(some) for column in (src, dst, op, *told))
        return Chunk(
            values_of(src, self.kind), values_of(dst, self.kind), values_of(op.drop_null(), self.op_kind), mask(op.is_valid()),
            (told[0], told[1]) if told else None,
        )


def listed(given: Any, item: str, table: str, kind: Kind) -> Iterator[tuple[Values, pa.Array]]:
    """Ids of a list of items and the names of their tables, batch by batch. Raises ProvenanceError for rows that have no id."""
    source = source_of(given)
    for name in (item, table):
        require(source.names, name)
    row = 0
    for batch in source.batches([item, table], _refuse):
        ids, bad = typed(batch.column(item), kind, item, parse=isinstance(source, CsvSource))
        bad |= ~mask(ids.is_valid())
        if bad.any():
            raise ProvenanceError(
                f"Row {row + int(np.flatnonzero(bad)[0])} of the list of items has no id of the kind that the triples have",
                value=_row(batch, int(np.flatnonzero(bad)[0]), (item, table)), remedy="Mend the list.",
            )
        yield values_of(ids, kind), batch.column(table)
        row += len(batch)


def _refuse(file: str, number: int, text: str) -> None:
    raise ProvenanceError(f"Record {number} of {file}, its header being the first, is no row of a list of items", value=text, remedy="Mend the list.")


def names_of(wanted: Any) -> tuple[str, str, str | None]:
    """The names of the three columns, the last of which there need not be. Raises ProvenanceError for what are none."""
    named = isinstance(wanted, (list, tuple)) and all(name is None or isinstance(name, str) for name in wanted)
    if not named or len(wanted) != 3 or wanted[0] is None or wanted[1] is None:
        raise ProvenanceError(
            "Triples have three columns, told by their names", value=wanted, remedy='Name those of src, dst and op: ("src", "dst", "op"); None: no operations.'
        )
    if wanted[0] == wanted[1]:
        raise ProvenanceError("Columns of src and dst are two: all triples would derive items from themselves", value=wanted, remedy="Name the column of each.")
    return wanted[0], wanted[1], wanted[2]


def _kinds(source: Source, sample: Mapping[str, pa.Array], names: tuple[str, str, str | None], ids: str) -> tuple[Kind, Kind]:
    """Of ids and of operations, as the types of the columns, or the first texts of CSV, tell."""
    src, dst = sample[names[0]], sample[names[1]]
    op: Kind | None = kind_of(sample[names[2]].type, names[2]) if names[2] else None
    if isinstance(source, CsvSource):
        numbers = ids == "int" or (ids == "auto" and not parsed(src)[1].any() and not parsed(dst)[1].any())
        return ("int" if numbers else "text"), "text"
    kinds = {kind for kind in (kind_of(src.type, names[0]), kind_of(dst.type, names[1])) if kind is not None}
    if len(kinds) > 1:
        raise ProvenanceError(
            f"Ids in {names[0]!r} are of type {src.type}, in {names[1]!r} of type {dst.type}",
            remedy="Cast both to integers, or both to strings.",
        )
    kind: Kind = kinds.pop() if kinds else "int"
    if ids not in ("auto", kind):
        raise ProvenanceError(f"Ids were said to be {ids!r} and are not", value=str(src.type), remedy="Cast the columns.")
    return kind, op or "text"


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


def _row(batch: pa.RecordBatch, row: int, names: Sequence[str]) -> str:
    values = [spelled(batch.column(name)[row]) for name in names]
    return triple(*values) if len(values) > 1 else shown(values[0])
