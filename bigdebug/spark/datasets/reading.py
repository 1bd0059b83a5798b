"""A reading: what a query of Spark's did to which datasets, and what several did together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from bigdebug.datasets.model import Access, ColumnEdge, Dataset
from bigdebug.spark.datasets.accesses import summed, without_counts


@dataclass(frozen=True)
class Reading:
    """What a query did. ``name`` is its command's, or empty; ``shape`` is the same for the same query over other data; ``is_quick`` is one that moves
    no rows: it creates, drops, renames or defines.
    """

    name: str = ""
    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    columns: tuple[ColumnEdge, ...] = ()
    opaque: tuple[str, ...] = ()
    shape: str = ""
    text: str = ""
    is_quick: bool = False
    is_spared: bool = False
    """Whether it did nothing, for what it was to make was there already; unless queries within it did."""
    uncounted: frozenset[Dataset] = frozenset()
    """What it read of which Spark does not tell how many rows: of what else has none, it read none, or queries within it did."""


def together(reading: Reading, within: Sequence[Reading], failed: bool = False) -> Reading:
    """What a query did with those that it ran: a CREATE TABLE AS SELECT runs one that writes, which knows how many rows there were. Of a command that is
    not known, what it did is what these did. What was spared and ran none did nothing, if it did not fail.
    """
    if reading.is_spared and not within and not failed:
        return replace(reading, reads=(), writes=(), columns=(), opaque=())
    if not reading.name or not within:
        return reading
    inner = [each for each in within if each.name]
    uncounted = reading.uncounted.union(*(each.uncounted for each in within))
    if not reading.writes:
        return replace(
            reading, reads=tuple(dict.fromkeys([*reading.reads, *(access for each in within for access in each.reads)])),
            writes=tuple(access for each in inner for access in each.writes), columns=tuple(dict.fromkeys(edge for each in inner for edge in each.columns)),
            uncounted=uncounted,
        )
    first = reading.writes[0]
    if first.rows is None:
        alone = sum(each.dataset.kind not in ("cache", "view") for each in reading.writes) == 1
        written = (access for each in inner for access in each.writes if access.rows is not None and (alone or _is_of(access.dataset, first.dataset)))
        rows, size = next(((access.rows, access.size) for access in written), (None, None))
        first = replace(first, rows=rows, size=size)
    counted = [access for each in within for access in each.reads if access.rows is not None]
    reads = tuple(reduce(summed, (access for access in counted if access.dataset == each.dataset), each) for each in reading.reads)
    return replace(reading, reads=without_counts(reads, uncounted), writes=(first, *reading.writes[1:]), uncounted=uncounted)


def with_tables(readings: Sequence[Reading]) -> list[Reading]:
    """What queries did of which some are within others: the files that one wrote are the table that another made of them, which knows what their columns
    are made of.
    """
    tables = [access.dataset for each in readings for access in each.writes if access.dataset.location]
    apart, within = [], []
    for each in readings:
        table = next((table for table in tables for access in each.writes if access.dataset != table and _is_of(access.dataset, table)), None)
        if table is None:
            apart.append(each)
        else:
            within.append(replace(each, writes=tuple(replace(access, dataset=table) for access in each.writes), columns=()))
    return apart + within


def _is_of(files: Dataset, table: Dataset) -> bool:
    return files == table or (files.kind == "files" and str(files) == table.location)
