"""Reading: what a query of Spark's did to which datasets, and column to column, from its plans."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from json import loads
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.types import _parse_datatype_json_value

from bigdebug.datasets.columns import ColumnLineage, columns_of
from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Field
from bigdebug.datasets.naming import of_session
from bigdebug.datasets.plans import Tree, plan_of
from bigdebug.errors import DatasetsError
from bigdebug.spark.datasets.commands import COMMANDS, Source, Target, is_idle
from bigdebug.spark.datasets.counts import Scan, ids_of, scans_of, written_by
from bigdebug.spark.datasets.relations import Relations

log = logging.getLogger(__name__)

_UNTOLD = (PySparkException, Py4JError, DatasetsError, LookupError, ValueError, AttributeError, TypeError)
"""What reading a plan of another version of Spark, or of somebody's extension of it, may end with."""


@dataclass(frozen=True)
class Reading:
    """What a query did. ``name`` is its command's, or empty; ``shape`` is the same for the same query over other data."""

    name: str = ""
    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    columns: tuple[ColumnEdge, ...] = ()
    opaque: tuple[str, ...] = ()
    shape: str = ""
    text: str = ""
    is_quick: bool = False
    """Whether it moves no rows: it creates, drops, renames or defines."""


def together(reading: Reading, within: Sequence[Reading]) -> Reading:
    """What a query did with those that it ran: a CREATE TABLE AS SELECT runs one that writes, which knows how many rows there were. Of a command that is
    not known, what it did is what these did.
    """
    if reading.writes and reading.name:
        inner = [each for each in within if each.name]
        rows = next((access.rows for each in inner for access in each.writes if access.rows is not None), None)
        size = next((access.size for each in inner for access in each.writes if access.size is not None), None)
        first = reading.writes[0]
        first = replace(first, rows=rows if first.rows is None else first.rows, size=size if first.size is None else first.size)
        return replace(reading, writes=(first, *reading.writes[1:]), reads=_told(reading.reads, within))
    if reading.name and within:
        return replace(
            reading, reads=tuple(dict.fromkeys([*reading.reads, *(access for each in within for access in each.reads)])),
            writes=tuple(access for each in within if each.name for access in each.writes),
            columns=tuple(dict.fromkeys(edge for each in within if each.name for edge in each.columns)),
        )
    return reading


def _told(reads: tuple[Access, ...], within: Sequence[Reading]) -> tuple[Access, ...]:
    """Reads with the rows and bytes that others have counted for them."""
    counted = {access.dataset: access for each in within for access in each.reads if access.rows is not None}
    return tuple(replace(each, rows=found.rows, size=found.size) if each.rows is None and (found := counted.get(each.dataset)) else each for each in reads)


@dataclass(frozen=True)
class _Leaf:
    """A leaf of a plan: by its number in the lineage, the datasets that it reads, and its columns."""

    number: int
    ids: frozenset[int]
    datasets: tuple[Dataset, ...]
    schema: tuple[Field, ...]


def read(relations: Relations, query: Any) -> Reading | None:
    """What a query did, as far as its plans tell; None if it is a command that touches no data. What they do not tell is ``opaque``, by name.

    Costs 0.2 ms for each call of the JVM, some ten of them for each source, and the columns' part of ``columns_of``.
    """
    try:
        analyzed = query.analyzed()
        name = str(analyzed.getClass().getSimpleName())
    except _UNTOLD:  # it was not understood: a column that is not there, say
        return Reading(text=_text(query))
    if is_idle(name):
        return None
    try:
        return _read(relations, query, analyzed, name)
    except _UNTOLD as trouble:
        log.info("bigdebug cannot read the plan of %s: %s: %s", name, type(trouble).__name__, trouble)
        return Reading(name, opaque=(name,), shape=name, text=_text(query))


def _read(relations: Relations, query: Any, analyzed: Any, name: str) -> Reading:
    tree = plan_of(str(analyzed.toJSON()))
    command = COMMANDS.get(name)
    target = command(relations, tree, analyzed) if command is not None else None
    source = Source(tree, analyzed) if target is None else target.source
    text = _text(query)
    if source is None:
        assert target is not None
        reads = tuple(Access(each) for each in target.reads)
        return Reading(name, reads, (_emptied(target),), (), (), name, text, is_quick=True)
    lineage = columns_of(source.tree)
    leaves = list(_leaves(relations, source.plan, lineage))
    reads = _counted(relations, _accesses(leaves), leaves, scans_of(query))
    shape = _shape(source.tree, reads, lineage)
    written = target or Target(of_session(relations.session, f"result {shape}", "memory"), "created")
    names = written.names or tuple(made.name for made in lineage.columns)
    rows, size = written_by(query) if target is not None else (None, None)
    writes = (Access(written.dataset, written.mode, _schema_of(source.plan, names), rows, size),)
    return Reading(
        name if target is not None else "", reads, writes, tuple(_edges(written.dataset, names, lineage, leaves)), _opaque(lineage, leaves), shape, text,
        is_quick=written.mode == "defined",
    )


# ---- datasets -------------------------------------------------------------------------------------------------


def _leaves(relations: Relations, plan: Any, lineage: ColumnLineage) -> Iterator[_Leaf]:
    """The leaves of a plan, by what they read. Those in the JVM and those in the lineage are the same where their columns are."""
    known: dict[tuple[str, frozenset[int]], Any] = {}
    for each in (plan, *relations.items(plan.subqueriesAll())):
        for leaf in relations.items(each.collectLeaves()):
            known.setdefault((str(leaf.getClass().getSimpleName()), ids_of(leaf)), leaf)
    for number, tree in enumerate(lineage.leaves):
        ids = frozenset(each.id for each in tree.output if each.id is not None)
        leaf = known.get((tree.name, ids))
        datasets = (relations.unknown(tree.name),) if leaf is None else relations.of_leaf(leaf)
        yield _Leaf(number, ids, datasets, tuple(map(_field, tree.output)))


def _accesses(leaves: Iterable[_Leaf]) -> tuple[Access, ...]:
    found: dict[Dataset, Access] = {}
    for leaf in leaves:
        for dataset in leaf.datasets:
            found.setdefault(dataset, Access(dataset, "read", leaf.schema))
    return tuple(found.values())


def _counted(relations: Relations, reads: tuple[Access, ...], leaves: Sequence[_Leaf], scans: Iterable[Scan]) -> tuple[Access, ...]:
    """What is read, with rows and bytes as far as scans counted them; caches that were read besides."""
    found = {access.dataset: access for access in reads}
    for scan in scans:
        if scan.kind == "InMemoryTableScanExec":
            cache = relations.of_cache(scan.node)
            found.setdefault(cache, Access(cache))
            datasets: tuple[Dataset, ...] = (cache,)
        else:
            datasets = next((leaf.datasets for leaf in leaves if scan.ids and scan.ids <= leaf.ids), ()) or relations.of_scan(scan.node, scan.kind)
        if len(datasets) == 1 and datasets[0] in found:
            known = found[datasets[0]]
            found[known.dataset] = replace(known, rows=_sum(known.rows, scan.rows), size=_sum(known.size, scan.size))
    return tuple(found.values())


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _emptied(target: Target) -> Access:
    return Access(target.dataset, target.mode, rows=0 if target.emptied else None)


def _opaque(lineage: ColumnLineage, leaves: Iterable[_Leaf]) -> tuple[str, ...]:
    unknown = [dataset.name for leaf in leaves for dataset in leaf.datasets if dataset.kind == "unknown" and not dataset.namespace]
    return tuple(dict.fromkeys([*lineage.opaque, *unknown]))


# ---- columns --------------------------------------------------------------------------------------------------


def _edges(output: Dataset, names: Sequence[str], lineage: ColumnLineage, leaves: Sequence[_Leaf]) -> Iterator[ColumnEdge]:
    used = [("", lineage.whole), *((name, made.uses) for name, made in zip(names, lineage.columns))]
    found = {
        ColumnEdge(output, name, dataset, use.column, use.how, use.masking)
        for name, uses in used for use in uses for dataset in leaves[use.leaf].datasets
    }
    yield from sorted(found)


def _field(tree: Tree) -> Field:
    return Field(str(tree.fields["name"]), _type(tree.fields.get("dataType")), bool(tree.fields.get("nullable", True)))


def _type(value: Any) -> str:
    try:
        return str(_parse_datatype_json_value(value).simpleString())
    except (PySparkException, KeyError, TypeError, ValueError):  # a type of the user's
        return value if isinstance(value, str) else "unknown"


def _schema_of(plan: Any, names: Sequence[str]) -> tuple[Field, ...]:
    """The schema of what a plan gives, under other names."""
    fields = plan_schema(str(plan.schema().json()))
    return tuple(replace(known, name=name) for known, name in zip(fields, names)) if len(fields) == len(names) else fields


def plan_schema(text: str) -> tuple[Field, ...]:
    """A schema as Spark writes it in JSON."""
    return tuple(Field(str(each["name"]), _type(each["type"]), bool(each["nullable"])) for each in loads(text)["fields"])


# ---- the query itself -----------------------------------------------------------------------------------------


def _shape(tree: Tree, reads: Iterable[Access], lineage: ColumnLineage) -> str:
    """Some letters that are the same for queries of the same operators over the same datasets with the same columns."""
    said = [*(node.name for node in tree), *sorted(str(access.dataset) for access in reads), *(made.name for made in lineage.columns)]
    return blake2b("\0".join(said).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _text(query: Any) -> str:
    """The SQL that a query was given in; empty if it was not."""
    try:
        text = query.logical().origin().sqlText()
        return re.sub(r"\s+", " ", str(text.get())).strip() if text.isDefined() else ""
    except _UNTOLD:
        return ""
