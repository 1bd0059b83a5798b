"""Relations: which dataset a leaf of a plan reads, or a scan of the plan that was executed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import unquote

from bigdebug.datasets.model import Dataset
from bigdebug.datasets.naming import of_path, of_session
from bigdebug.spark.ancestry import ancestors
from bigdebug.spark.datasets.names import UNTOLD, Names, folded
from bigdebug.spark.datasets.places import matching
from bigdebug.spark.datasets.seen import Seen
from bigdebug.spark.gateway import items

Leaf = Any
"""A leaf of a plan of Spark's, in the JVM."""

_BETWEEN = re.compile(r"\[(.*)\]$", re.DOTALL)
"""Where sources of streams say what they read: ``FileStreamSource[file:/a/b]``."""

_NAMED = 8
"""Columns that rows which a program made are called by."""

_NOTHING = frozenset({
    "OneRowRelation", "ResolvedNamespace", "ResolvedTable", "ResolvedIdentifier", "ResolvedPersistentView", "ResolvedTempView", "CTERelationRef", "MemoryPlan",
})
"""Leaves that read nothing."""


class Relations(Names):
    """Names what the leaves of plans read. ``stream`` is the name of the stream of which the query is a batch, or that it was run for; empty if it is of none;
    ``began`` is when it did, None if it has not.
    """

    def __init__(
        self, jsession: Any, sc: Any, learn: Callable[[Mapping[str, str]], None], seen: Seen, stream: str = "", began: datetime | None = None,
    ) -> None:
        super().__init__(jsession, sc, seen.session, learn)
        self.seen = seen
        self.stream = stream
        self.began = began

    # ---- views ------------------------------------------------------------------------------------------------

    def of_view(self, identifier: Any, kind: str) -> Dataset:
        """A view that is defined by a TableIdentifier and what Spark calls its kind: temporary ones are their session's."""
        if kind == "PersistedView":
            return self.of_identifier(identifier, "view")
        return self.of_session_view(f"{'global_temp.' * (kind == 'GlobalTempView')}{identifier.table()}", defines=True)

    def of_session_view(self, name: str, defines: bool = False) -> Dataset:
        """A temporary view, which is this session's if it is defined here. Another session of the application may have one that is called so, too."""
        return self._of_session(self.cased(name), "view", defines)

    def of_variable(self, name: str) -> Dataset:
        """A variable of this session."""
        return self._of_session(f"variable {name}", "memory", defines=True)

    @property
    def variables(self) -> Collection[str]:
        """Those of this session that are made of data."""
        return self.seen.variables(self.session)

    def session(self) -> str:
        """What tells this session from others of the application."""
        return str(self._jsession.sessionUUID())

    def _of_session(self, name: str, kind: str, defines: bool) -> Dataset:
        number = 0 if name.startswith("global_temp.") else self.seen.number_of(name, self.session(), defines)
        return of_session(f"{self.seen.session}{f'/{number + 1}' * bool(number)}", name, kind)

    # ---- what is read -----------------------------------------------------------------------------------------

    def of_leaf(self, leaf: Leaf, ids: frozenset[int] = frozenset()) -> tuple[Dataset, ...]:
        """What a leaf reads whose columns have these numbers. Of one that is not known: a dataset of the kind "unknown", with the leaf's name."""
        kind = str(leaf.getClass().getSimpleName())
        if kind in _NOTHING:
            return ()
        if kind == "LogicalRDD" and (kept := self.seen.checkpoint(leaf.rdd(), ids)) is not None:
            return (kept,)
        if kind == "Transpose" and (sources := self.seen.turned(ids)):
            return sources
        try:
            return tuple(dict.fromkeys(self._READERS.get(kind, Relations._unknown)(self, leaf)))
        except UNTOLD:  # of another version of Spark, perhaps
            return (self.unknown(kind),)

    def _logical(self, leaf: Leaf) -> Iterator[Dataset]:
        table = leaf.catalogTable()
        if table.isDefined():
            yield self.of_catalog(table.get())
            return
        relation = leaf.relation()
        kind = str(relation.getClass().getSimpleName())
        if leaf.isStreaming() and (found := _BETWEEN.search(_stream_of(leaf))):  # these are the files of one batch
            yield of_path(found[1], self.format_of(relation.fileFormat()))
            return
        if kind == "HadoopFsRelation":
            self.learn_options(relation.options())
            yield from self.of_paths(relation.location().rootPaths(), self.format_of(relation.fileFormat()))
        elif kind == "JDBCRelation":
            yield self.of_jdbc_options(relation.jdbcOptions())
        else:
            yield self.unknown(kind)

    def _hive(self, leaf: Leaf) -> Iterator[Dataset]:
        yield self.of_catalog(leaf.tableMeta())

    def _v2(self, leaf: Leaf) -> Iterator[Dataset]:
        yield from self.of_table(leaf.table(), leaf.catalog(), leaf.identifier(), leaf.options())

    def _scanned_v2(self, leaf: Leaf) -> Iterator[Dataset]:
        yield from self._v2(leaf.relation())

    def _rdd(self, leaf: Leaf) -> Iterator[Dataset]:
        """Of rows that a program made, these; of those that it made of files, the files, whose columns are not the leaf's."""
        if self.stream and self._is_batch(leaf.rdd()):
            yield self.of_temporary(f"batch of {self.stream}", "memory")
            return
        found = list(self.of_rdd(leaf.rdd()))
        if all(dataset.kind == "memory" for dataset in found):
            yield from self._made(leaf)
        else:
            yield from found

    def _is_batch(self, rdd: Any) -> bool:
        """Whether an RDD is the rows of a query, as a stream hands them to foreachBatch, through no function of Python's."""
        while (kind := str(rdd.getClass().getSimpleName())) == "MapPartitionsRDD" and rdd.dependencies().size() == 1:
            rdd = rdd.dependencies().apply(0).rdd()
        return kind == "SQLExecutionRDD"

    def _made(self, leaf: Leaf) -> Iterator[Dataset]:
        if leaf.isStreaming():  # no rows, in the place of a source that had none for this batch
            return
        columns = str(self._jvm.org.apache.hadoop.util.StringUtils.join("\0", leaf.schema().fieldNames())).split("\0")
        yield self.of_temporary(f"rows({', '.join(columns[:_NAMED])}{', ...' * (len(columns) > _NAMED)})", "memory")

    def _streamed(self, leaf: Leaf) -> Iterator[Dataset]:
        relation = leaf.relation() if str(leaf.getClass().getSimpleName()).endswith("ScanRelation") else leaf
        yield from self.of_table(relation.table(), relation.catalog(), relation.identifier(), relation.options())

    def _to_stream(self, leaf: Leaf) -> Iterator[Dataset]:
        """A source of a stream that has not started."""
        found = _BETWEEN.search(str(leaf.sourceName()))
        yield of_path(found[1]) if found is not None else self.unknown(str(leaf.sourceName()))

    def _to_stream_v2(self, leaf: Leaf) -> Iterator[Dataset]:
        yield from self.of_table(leaf.table(), leaf.catalog(), leaf.identifier(), leaf.extraOptions())

    def _range(self, leaf: Leaf) -> Iterator[Dataset]:
        yield self.of_temporary(f"range({leaf.start()}, {leaf.end()}, {leaf.step()})", "memory")

    def _result(self, leaf: Leaf) -> Iterator[Dataset]:
        yield self.of_temporary(f"result of {leaf.commandLogicalPlan().nodeName()}", "memory")

    def _unknown(self, leaf: Leaf) -> Iterator[Dataset]:
        yield self.unknown(str(leaf.getClass().getSimpleName()))

    _READERS: ClassVar[dict[str, Callable[[Relations, Leaf], Iterator[Dataset]]]] = {
        "LogicalRelation": _logical, "HiveTableRelation": _hive, "DataSourceV2Relation": _v2, "DataSourceV2ScanRelation": _scanned_v2,
        "LogicalRDD": _rdd, "ExternalRDD": _rdd, "LocalRelation": _made, "StreamingDataSourceV2ScanRelation": _streamed, "StreamingDataSourceV2Relation": _streamed,
        "StreamingRelation": _to_stream, "StreamingRelationV2": _to_stream_v2,
        "Range": _range, "CommandResult": _result,
    }

    def of_rdd(self, rdd: Any) -> Iterator[Dataset]:
        """What an RDD of the JVM was made of: files, and what the program held."""
        for each in ancestors(rdd):
            kind = str(each.getClass().getSimpleName())
            if kind == "FileScanRDD":
                yield from self._files_of(each)
            elif not each.dependencies().size():
                paths = paths_of_rdd(kind, str(each.name() or ""))
                if paths is not None:
                    yield from folded([place for path in paths for place in matching(self._sc, path, self.began)], "")
                elif kind == "ParallelCollectionRDD" or kind.endswith("CheckpointRDD"):
                    yield self.of_temporary("checkpoint" if kind.endswith("CheckpointRDD") else "parallelize", "memory")
                else:
                    yield self.unknown(kind)

    def _files_of(self, rdd: Any) -> Iterator[Dataset]:
        paths = {unquote(str(file.urlEncodedPath())) for part in items(rdd.filePartitions()) for file in part.files()}
        yield from folded(sorted(paths), "")

    # ---- what was executed ------------------------------------------------------------------------------------

    def of_scan(self, scan: Any, kind: str) -> tuple[Dataset, ...]:
        """What a scan of files reads, that gives no columns: it is only counted. Of another one nothing is known."""
        if kind != "FileSourceScanExec":
            return ()
        table = scan.tableIdentifier()
        if table.isDefined():
            return (self.of_identifier(table.get()),)
        relation = scan.relation()
        return tuple(self.of_paths(relation.location().rootPaths(), self.format_of(relation.fileFormat())))

    def of_cache(self, scan: Any) -> Dataset:
        """The cache that a scan reads: by the name of the table or view, or by a number."""
        builder = scan.relation().cacheBuilder()
        name = builder.tableName()
        if name.isDefined():
            return self.of_cached(str(name.get()).replace("`", ""))
        return self.of_temporary(f"cache {self._jvm.java.lang.System.identityHashCode(builder)}", "cache")


def _stream_of(leaf: Leaf) -> str:
    """What the stream says that a leaf is a batch of; nothing where Spark does not tell yet."""
    try:
        stream = leaf.stream()
    except UNTOLD:
        return ""
    return str(stream.get().toString()) if stream.isDefined() else ""


def paths_of_rdd(kind: str, name: str) -> list[str] | None:
    """The paths that an RDD reads which is made of no other, by its class and its name: Spark calls those that read files by them. None if it reads none."""
    if name and not re.fullmatch(r"\w*RDD", name) and kind.endswith(("HadoopRDD", "BinaryFileRDD", "WholeTextFileRDD")):
        return _listed(name)
    return None


def _listed(paths: str) -> list[str]:
    """Paths with commas between them, as Hadoop parts them: within braces they stand between alternatives."""
    found, depth, within = [""], 0, False
    for part in re.split("([{},])", paths):
        depth += (part == "{") - (part == "}")
        within = (within or part == "{") and not (part == "}" and depth == 0)
        if part == "," and not within:
            found.append("")
        else:
            found[-1] += part
    return found
