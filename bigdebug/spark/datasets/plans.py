"""Plans: what a query of Spark's did to which datasets, and column to column, read from its plans."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.datasets.columns import columns_of
from bigdebug.datasets.model import Access, ColumnEdge, Field
from bigdebug.datasets.plans import Tree, plan_of
from bigdebug.datasets.uses import IDENTITY
from bigdebug.errors import DatasetsError
from bigdebug.spark.datasets.accesses import accesses_of, edges_of, leaves_of, schema_of, unknown, views_of
from bigdebug.spark.datasets.commands import COMMANDS, is_idle
from bigdebug.spark.datasets.counts import committed, ids_of, in_parts, scans_of, written_by
from bigdebug.spark.datasets.names import is_given
from bigdebug.spark.datasets.reading import Reading
from bigdebug.spark.datasets.relations import Relations
from bigdebug.spark.datasets.targets import UNREAD, Source, Target
from bigdebug.spark.datasets.views import declared_by, variables_of
from bigdebug.spark.gateway import items

log = logging.getLogger("bigdebug")

_UNTOLD = (PySparkException, Py4JError, DatasetsError, LookupError, ValueError, AttributeError, TypeError)
"""What reading a plan of another version of Spark, or of somebody's extension of it, may end with."""

_LATER = ("rdd", "")
"""Actions of which Spark tells before their rows are computed: they are not counted then (an RDD of a DataFrame, toLocalIterator)."""

MOST = 100_000
"""Expressions of a plan that are read, which takes Spark some 200 MB meanwhile; of a larger one only what it reads and writes is recorded."""

_MORE = re.compile(r"\.\.\. (\d+) more fields")

_SEVERAL = "multi-commands"
"""The action that is several commands in one: FROM ... INSERT ... INSERT ..."""

_LONGEST = 1 << 20
"""Characters of a text of SQL that are looked at: far fewer are kept."""

_CHECKPOINTS = ("checkpoint", "localCheckpoint")


def read(relations: Relations, query: Any, action: str) -> Reading | None:
    """What a query did, as far as its plans tell; None if it is a command that touches no data. What they do not tell is ``opaque``, by name.

    Costs 0.2 ms for each call of the JVM, some ten of them for each source, and the columns' part of ``columns_of``.
    """
    try:
        analyzed = query.analyzed()
        name = str(analyzed.getClass().getSimpleName())
    except _UNTOLD:  # it was not understood: a column that is not there, say
        return Reading(text=_text(query))
    if name == "SetCommand":  # the setting may be another by now
        _learn_set(relations, analyzed)
    if name == "CreateVariable" and relations.variables:
        relations.seen.sets(declared_by(analyzed), relations.session(), is_made=False)
    if is_idle(name) or (name == "CreateViewCommand" and is_given(str(analyzed.name().table()))):
        return None
    try:
        reading = _read(relations, query, analyzed, name, action)
        if name == "SetVariable" and not _is_made(relations, analyzed, reading):
            return None
        return None if _infers(reading, name, action) else reading
    except _UNTOLD as trouble:
        log.info("bigdebug cannot read the plan of %s: %s: %s", name, type(trouble).__name__, trouble)
        return Reading(name, opaque=(name,), shape=name, text=_text(query))


def _is_made(relations: Relations, command: Any, reading: Reading) -> bool:
    """Whether variables are set to what is made of data; who reads them then, reads it."""
    relations.seen.sets(variables_of(command), relations.session(), bool(reading.reads))
    return bool(reading.reads)


def _infers(reading: Reading, name: str, action: str) -> bool:
    """Whether Spark itself looks at the lines of files for the columns that they have: these are no columns of theirs, and what is read of them is told by the
    query that does.
    """
    as_they_are = any(edge.column and edge.how == IDENTITY for edge in reading.columns)  # show() has them as pretty strings
    looks = (action == "head" and as_they_are) or (action == "rdd" and name == "DeserializeToObject")
    return looks and bool(reading.reads) and all(each.dataset.format == "text" and [field.name for field in each.schema] == ["value"] for each in reading.reads)


def _learn_set(relations: Relations, command: Any) -> None:
    given = command.kv()
    if given.isDefined() and given.get()._2().isDefined():
        relations.learn({str(given.get()._1()): str(given.get()._2().get())})


def _read(relations: Relations, query: Any, analyzed: Any, name: str, action: str) -> Reading:
    if action == _SEVERAL:
        return _several(relations, query, analyzed)
    (written, tree, unwritten), text = _written(analyzed), _text(query)
    target = COMMANDS[name](relations, tree, analyzed) if name in COMMANDS else None
    if target is not None and target.source is None:
        write = Access(target.dataset, target.mode, target.schema, 0 if target.emptied else None)
        same = target.reads[:1] if target.mode == "renamed" else ()
        columns = tuple(ColumnEdge(target.dataset, each.name, before, each.name, IDENTITY) for before in same for each in target.schema)
        return Reading(name, tuple(Access(each) for each in target.reads), (write,), columns, target.opaque, shape=name, text=text, is_quick=True, is_spared=target.spares)
    source = Source(tree, analyzed) if target is None or target.source is None else target.source
    lineage = columns_of(source.tree, models=relations.seen.made_by, variables=relations.variables) if written else None
    leaves = leaves_of(relations, source.plan, lineage)
    reads, uncounted = accesses_of(relations, leaves, () if action in _LATER and not relations.stream else scans_of(query))
    opaque = tuple(dict.fromkeys([*(lineage.opaque if lineage else [unwritten]), *unknown(leaves)]))
    if target is None and relations.is_command(analyzed):
        return Reading(name, reads, opaque=tuple(dict.fromkeys([name, *opaque])), shape=name, text=text, uncounted=uncounted)
    fields = schema_of(source.plan)
    names = (target.names if target is not None else ()) or tuple(field.name for field in fields)
    if lineage is not None and len(lineage.columns) != len(names):  # of a node that is not known: which column is which cannot be told
        opaque = (*opaque, "columns")
    shape = _shape(source.tree, reads, names)
    output = target or _result(relations, source, shape, action)
    edges = set() if lineage is None else edges_of(output.dataset, names, lineage, leaves)
    if lineage is not None and lineage.views:
        shallow = columns_of(source.tree, to_views=True)
        views = views_of(relations, shallow)
        reads += accesses_of(relations, views, ())[0]
        edges |= edges_of(output.dataset, names, shallow, views)
    known = {access.dataset for access in reads}
    reads += tuple(Access(model) for model in relations.seen.models(written) if model not in known)
    if target is not None:
        reads += tuple(Access(each) for each in target.reads)
        edges |= {replace(edge, output=each) for each in target.besides for edge in edges}
        if target.has_parts and target.mode == "overwritten" and in_parts(query):
            output = replace(target, mode="written")
    made, reads = _caches(relations, reads)
    schema = tuple(replace(field, name=called) for field, called in zip(fields, names))
    if target is not None:
        schema = _stored(target, schema)
    rows, size_written = (None, None) if target is None else written_by(query)
    besides = [] if target is None else [Access(each, "defined", schema) for each in target.besides]
    writes = (Access(output.dataset, output.mode, schema, rows, size_written), *besides, *made)
    spared = output.spares and not committed(query)
    return Reading(name if target is not None else "", reads, writes, tuple(sorted(edges)), opaque, shape, text, output.mode in ("defined", "renamed"), spared, uncounted)


def _stored(target: Target, schema: tuple[Field, ...]) -> tuple[Field, ...]:
    """The schema of what a command wrote: as the catalog has it. In files every column may be null, whatever the query says of it."""
    if target.schema:
        return target.schema
    return tuple(replace(field, nullable=True) for field in schema) if target.dataset.kind == "files" else schema


def _several(relations: Relations, query: Any, plan: Any) -> Reading:
    """Several commands in one, each of which writes. How many rows each wrote, Spark does not tell."""
    each = [_read(relations, query, command, str(command.getClass().getSimpleName()), "") for command in items(plan.children())]
    counted, uncounted = accesses_of(relations, leaves_of(relations, plan, None), scans_of(query))
    reads = {access.dataset: access for access in (*(access for one in each for access in one.reads), *counted)}
    return Reading(
        each[0].name, tuple(reads.values()), tuple(replace(access, rows=None, size=None) for one in each for access in one.writes),
        tuple(dict.fromkeys(edge for one in each for edge in one.columns)), tuple(dict.fromkeys(name for one in each for name in one.opaque)),
        " ".join(one.shape for one in each), _text(query), uncounted=uncounted,
    )


def _written(plan: Any) -> tuple[str, Tree, str]:
    """What Spark writes of a plan, and the same read; or neither, and why."""
    size = _expressions(plan)
    if size > MOST:
        return "", UNREAD, f"a plan of {size:,} expressions"
    try:
        written = str(plan.toJSON())
        return written, plan_of(written), ""
    except _UNTOLD as trouble:  # some expressions are not made for it: a function that knows its types as Scala does, as those of MLlib's statistics
        log.info("bigdebug cannot read a plan but for its sources: %s: %s", type(trouble).__name__, trouble)
        return "", UNREAD, "a plan that Spark does not write"


def _expressions(plan: Any) -> int:
    """About how many expressions a plan has: of each node Spark says the first columns, and how many more there are. To write down one takes some 300 bytes,
    and more while it is written.
    """
    said = str(plan.toString())
    return said.count("\n") + said.count(", ") + sum(map(int, _MORE.findall(said)))


def read_frame(relations: Relations, frame: Any) -> Reading | None:
    """What the query of a DataFrame reads, whether it ever runs or not."""
    query = frame._jdf.queryExecution()
    return read(relations, query, "")


def _result(relations: Relations, source: Source, shape: str, action: str) -> Target:
    """What a query gives that writes nothing: to the program, or to a checkpoint that other queries read."""
    if action in _CHECKPOINTS:
        return Target(relations.seen.checkpointed(ids_of(source.plan)), "created")
    return Target(relations.of_temporary(f"result {shape}", "memory"), "created")


def _caches(relations: Relations, reads: tuple[Access, ...]) -> tuple[tuple[Access, ...], tuple[Access, ...]]:
    """The caches that a query was the first to read, so it filled them; and all that it read."""
    new = {access.dataset for access in reads if access.dataset.kind == "cache" and relations.seen.is_new(access.dataset)}
    return tuple(replace(access, mode="created") for access in reads if access.dataset in new), tuple(access for access in reads if access.dataset not in new)


def _shape(tree: Tree, reads: Iterable[Access], names: Iterable[str]) -> str:
    """Some letters that are the same for queries of the same operators over the same datasets with the same columns."""
    said = [*(node.name for node in tree), *sorted(str(access.dataset) for access in reads), *names]
    return blake2b("\0".join(said).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _text(query: Any) -> str:
    """The SQL that a query was given in; empty if it was not."""
    try:
        text = query.logical().origin().sqlText()
        return re.sub(r"\s+", " ", str(text.get())[:_LONGEST]).strip() if text.isDefined() else ""
    except _UNTOLD:
        return ""
