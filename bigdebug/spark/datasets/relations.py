"""Relations: which dataset a leaf of a plan reads, or a command writes, by what Spark's objects in the JVM say of themselves."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.datasets.model import Dataset
from bigdebug.datasets.naming import of_jdbc, of_path, of_session, of_source, of_table
from bigdebug.spark.ancestry import ancestors
from bigdebug.spark.datasets.places import qualified
from bigdebug.spark.gateway import classes

Leaf = Any
"""A leaf of a plan of Spark's, in the JVM."""

_PART = re.compile(r"part-\d{5}|part-r-\d{5}")
"""What Spark calls files that it writes: a dataset is all of a folder."""

_MOST = 100
"""Paths of one relation that are datasets each; of more, the folder that they share is."""

_BETWEEN = re.compile(r"\[(.*)\]$", re.DOTALL)
"""Where sources and sinks of streams say what they read or write: ``FileStreamSource[file:/a/b]``."""

_ID = re.compile(r'"id": ?(\d+)')

_GENERATED = {"RateStreamTable": "rate", "RatePerMicroBatchTable": "rate-micro-batch"}
"""Sources of streams that make what they give."""

_NAMED = 8
"""Columns that rows which a program made are called by."""

_NOTHING = frozenset({"OneRowRelation", "ResolvedNamespace", "ResolvedTable", "ResolvedIdentifier", "ResolvedPersistentView", "ResolvedTempView", "CTERelationRef", "MemoryPlan"})
"""Leaves that read nothing."""

_UNTOLD = (PySparkException, Py4JError)


@dataclass
class Seen:
    """What was seen in an application that others may read: checkpoints, by their columns in plans and by their RDDs, caches, and models, by the columns
    that they make.
    """

    checkpoints: dict[frozenset[int], Dataset] = field(default_factory=dict)
    rdds: dict[int, Dataset] = field(default_factory=dict)
    caches: set[Dataset] = field(default_factory=set)
    models: dict[int, Dataset] = field(default_factory=dict)

    def uses(self, ids: frozenset[int], model: Dataset) -> None:
        """Columns with these numbers are made by a model."""
        self.models.update(dict.fromkeys(ids, model))


class Relations:
    """Names what the plans of one session in the JVM read and write. Each name costs some calls of the JVM."""

    def __init__(self, jsession: Any, sc: Any, session: str, learn: Callable[[Mapping[str, str]], None], seen: Seen) -> None:
        """``session`` is what names of things that end with the session begin with; ``learn`` is given options in which something may be secret."""
        self._jsession = jsession
        self.learn = learn
        self._sc = sc
        self._jvm = classes(sc._jvm)
        self._session = session
        self._seen = seen
        self.stream = ""
        """The name of the stream of which the query is a batch, or that it was run for; empty if it is of none."""

    # ---- what is read -----------------------------------------------------------------------------------------

    def of_leaf(self, leaf: Leaf, ids: frozenset[int] = frozenset()) -> tuple[Dataset, ...]:
        """What a leaf reads whose columns have these numbers. Of one that is not known: a dataset of the kind "unknown", with the leaf's name."""
        kind = str(leaf.getClass().getSimpleName())
        if kind in _NOTHING:
            return ()
        if kind == "LogicalRDD" and (kept := self._checkpoint(leaf, ids)) is not None:
            return (kept,)
        try:
            return tuple(dict.fromkeys(self._READERS.get(kind, Relations._unknown)(self, leaf)))
        except _UNTOLD:  # of another version of Spark, perhaps
            return (self.unknown(kind),)

    def unknown(self, name: str) -> Dataset:
        """What something reads or writes that is not known here."""
        return Dataset("", name, "unknown")

    def _logical(self, leaf: Leaf) -> Iterator[Dataset]:
        table = leaf.catalogTable()
        if table.isDefined():
            yield self.of_catalog(table.get())
            return
        relation = leaf.relation()
        kind = str(relation.getClass().getSimpleName())
        if leaf.isStreaming() and (found := _BETWEEN.search(str(leaf.stream().get().toString()))):  # these are the files of one batch
            yield of_path(found[1], self.format_of(relation.fileFormat()))
            return
        if kind == "HadoopFsRelation":
            yield from self._files(relation.location().rootPaths(), self.format_of(relation.fileFormat()))
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
        columns = str(self._jvm.org.apache.hadoop.util.StringUtils.join("\0", leaf.schema().fieldNames())).split("\0")
        yield self.of_temporary(f"rows({', '.join(columns[:_NAMED])}{', ...' * (len(columns) > _NAMED)})", "memory")

    def _streamed(self, leaf: Leaf) -> Iterator[Dataset]:
        relation = leaf.relation() if str(leaf.getClass().getSimpleName()).endswith("ScanRelation") else leaf
        yield from self.of_table(relation.table(), relation.catalog(), relation.identifier(), relation.options())

    def _range(self, leaf: Leaf) -> Iterator[Dataset]:
        yield self.of_temporary(f"range({leaf.start()}, {leaf.end()}, {leaf.step()})", "memory")

    def _result(self, leaf: Leaf) -> Iterator[Dataset]:
        yield self.of_temporary(f"result of {leaf.commandLogicalPlan().nodeName()}", "memory")

    def _unknown(self, leaf: Leaf) -> Iterator[Dataset]:
        yield self.unknown(str(leaf.getClass().getSimpleName()))

    _READERS: ClassVar[dict[str, Callable[[Relations, Leaf], Iterator[Dataset]]]] = {
        "LogicalRelation": _logical, "HiveTableRelation": _hive, "DataSourceV2Relation": _v2, "DataSourceV2ScanRelation": _scanned_v2,
        "LogicalRDD": _rdd, "ExternalRDD": _rdd, "LocalRelation": _made, "StreamingDataSourceV2ScanRelation": _streamed, "StreamingDataSourceV2Relation": _streamed,
        "Range": _range, "CommandResult": _result,
    }

    def _checkpoint(self, leaf: Leaf, ids: frozenset[int]) -> Dataset | None:
        """The checkpoint that a leaf reads: it has the columns of the query that was kept; where that is read twice, the same rows."""
        number = int(leaf.rdd().id())
        known = self._seen.rdds.get(number) or self._seen.checkpoints.get(ids)
        if known is not None:
            self._seen.rdds[number] = known
        return known

    # ---- what was executed ------------------------------------------------------------------------------------

    def of_scan(self, scan: Any, kind: str) -> tuple[Dataset, ...]:
        """What a scan of files reads, that gives no columns: it is only counted. Of another one nothing is known."""
        if kind != "FileSourceScanExec":
            return ()
        table = scan.tableIdentifier()
        if table.isDefined():
            return (self.of_identifier(table.get()),)
        relation = scan.relation()
        return tuple(self._files(relation.location().rootPaths(), self.format_of(relation.fileFormat())))

    def of_cache(self, scan: Any) -> Dataset:
        """The cache that a scan reads: by the name of the table or view, or by a number."""
        builder = scan.relation().cacheBuilder()
        name = builder.tableName()
        return self.of_temporary(str(name.get()) if name.isDefined() else f"cache {self._jvm.java.lang.System.identityHashCode(builder)}", "cache")

    # ---- by what it is ----------------------------------------------------------------------------------------

    def of_catalog(self, table: Any) -> Dataset:
        """A table or a view, by what the catalog of the session says of it."""
        is_view = str(table.tableType().name()) == "VIEW"
        location = table.storage().locationUri()
        provider = table.provider()
        return of_table(
            str(table.identifier().unquotedString()), self.store, str(location.get().toString()) if location.isDefined() else "",
            str(provider.get()).lower() if provider.isDefined() else "", "view" if is_view else "table",
        )

    def of_name(self, name: str, kind: str = "table") -> Dataset:
        """A table of the session's catalog by its name, with its database."""
        return of_table(name, self.store, kind=kind)

    def of_identifier(self, identifier: Any, kind: str = "table") -> Dataset:
        """A table by a TableIdentifier; in the current database where it names none."""
        if not identifier.database().isDefined():
            return self.of_name(f"{self._jsession.catalog().currentDatabase()}.{identifier.table()}", kind)
        return self.of_name(str(identifier.unquotedString()), kind)

    def there(self, identifier: Any) -> Any | None:
        """What the catalog of the session says of a table now; None if it has none of this name."""
        try:
            return self._jsession.sessionState().catalog().getTableMetadata(identifier)
        except _UNTOLD:
            return None

    def of_temporary(self, name: str, kind: str) -> Dataset:
        """What ends with the session."""
        return of_session(self._session, name, kind)

    def checkpointed(self, ids: frozenset[int]) -> Dataset:
        """The rows that a checkpoint has just kept of a query whose columns have these numbers."""
        return self._seen.checkpoints.setdefault(ids, self.of_temporary(f"checkpoint {len(self._seen.checkpoints) + 1}", "memory"))

    def is_new(self, cache: Dataset) -> bool:
        """Whether a cache was not seen before."""
        known = cache in self._seen.caches
        self._seen.caches.add(cache)
        return not known

    def models(self, text: str) -> list[Dataset]:
        """The models that a plan asks, as Spark wrote it: it has columns that they make."""
        if not self._seen.models:
            return []
        return list(dict.fromkeys(self._seen.models[number] for number in map(int, _ID.findall(text)) if number in self._seen.models))

    def is_command(self, node: Any) -> bool:
        """Whether a node of a plan does something, rather than gives rows."""
        return bool(self._jvm.java.lang.Class.forName("org.apache.spark.sql.catalyst.plans.logical.Command").isInstance(node))

    def of_view(self, identifier: Any, kind: str) -> Dataset:
        """A view by a TableIdentifier and what Spark calls its kind: temporary ones are their session's."""
        if kind == "PersistedView":
            return self.of_identifier(identifier, "view")
        return self.of_temporary(f"{'global_temp.' * (kind == 'GlobalTempView')}{identifier.table()}", "view")

    def of_table(self, table: Any, catalog: Any, identifier: Any, options: Any) -> Iterator[Dataset]:
        """A table of the second kind of sources; ``catalog`` and ``identifier`` are options of Scala's."""
        kind = str(table.getClass().getSimpleName())
        if kind == "V1Table":
            yield self.of_catalog(table.v1Table())
        elif kind == "JDBCTable":
            yield self.of_jdbc_options(table.jdbcOptions())
        elif catalog.isDefined() and identifier.isDefined():
            yield self.of_catalog_v2(catalog.get(), identifier.get())
        elif any(str(each.getName()).endswith(".FileTable") for each in _above(table.getClass())):
            yield from self._files(table.fileIndex().rootPaths(), str(table.formatName()).lower())
        else:
            yield self.of_options(kind, str(table.name()), dict(options.asCaseSensitiveMap()))

    def of_options(self, kind: str, name: str, options: Mapping[str, str]) -> Dataset:
        """A source or a sink by the class and the name of its table, and its options."""
        self.learn(options)
        if kind in _GENERATED:
            return self.of_temporary(_GENERATED[kind], "stream")
        return of_source("kafka" if kind == "KafkaTable" else "socket" if kind == "TextSocketTable" else name, options)

    def of_catalog_v2(self, catalog: Any, identifier: Any) -> Dataset:
        """A table by a catalog and what that calls it."""
        name = str(catalog.name())
        place = ".".join([*(str(part) for part in identifier.namespace()), str(identifier.name())])
        if name == "spark_catalog":
            return self.of_name(place)
        conf = self._jsession.conf()
        store = next((str(found.get()) for key in ("uri", "url", "warehouse") if (found := conf.getOption(f"spark.sql.catalog.{name}.{key}")).isDefined()), "")
        if store.startswith("jdbc:"):
            return of_jdbc(store, place)
        return of_table(f"{name}.{place}", store)

    def of_jdbc_options(self, options: Any) -> Dataset:
        """A table of a database, or a query on it."""
        self.learn(dict(self.java(options.parameters())))
        return of_jdbc(str(options.url()), str(options.tableOrQuery()))

    def of_rdd(self, rdd: Any) -> Iterator[Dataset]:
        """What an RDD of the JVM was made of: files, and what the program held."""
        for each in ancestors(rdd):
            kind = str(each.getClass().getSimpleName())
            if kind == "FileScanRDD":
                yield from self._files_of(each)
            elif not each.dependencies().size():
                paths = paths_of_rdd(kind, str(each.name() or ""))
                if paths is not None:
                    yield from folded([qualified(self._sc, path) for path in paths], "")
                elif kind == "ParallelCollectionRDD" or kind.endswith("CheckpointRDD"):
                    yield self.of_temporary("checkpoint" if kind.endswith("CheckpointRDD") else "parallelize", "memory")
                else:
                    yield self.unknown(kind)

    def _files_of(self, rdd: Any) -> Iterator[Dataset]:
        paths = {str(file.urlEncodedPath()) for part in self.items(rdd.filePartitions()) for file in part.files()}
        yield from folded(sorted(paths), "")

    def _files(self, paths: Any, form: str) -> Iterator[Dataset]:
        yield from folded(str(paths.mkString("\0")).split("\0") if paths.nonEmpty() else [], form)

    def of_place(self, path: str, form: str = "") -> Dataset:
        """Files at a path as the user writes it."""
        return of_path(qualified(self._sc, path), form)

    def items(self, sequence: Any) -> list[Any]:
        """A Scala sequence as a list."""
        return list(self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(sequence))

    def java(self, scala: Any) -> Any:
        """A Scala collection as Java has it."""
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(scala)

    @staticmethod
    def format_of(file_format: Any) -> str:
        """The short name of a format of files."""
        try:
            return str(file_format.shortName())
        except _UNTOLD:
            return str(file_format.getClass().getSimpleName())

    @cached_property
    def store(self) -> str:
        """Where the session's catalog is: its metastore, or the folder of its tables."""
        metastore = self._jsession.sparkContext().hadoopConfiguration().get("hive.metastore.uris")
        return str(metastore or self._jsession.sharedState().conf().get("spark.sql.warehouse.dir"))


def folded(paths: Sequence[str], form: str) -> Iterator[Dataset]:
    """The datasets at some paths: of the files that Spark wrote into a folder, that folder; of very many, the folder that all are in."""
    places = list(dict.fromkeys(posixpath.dirname(path) if _PART.match(posixpath.basename(path)) else path for path in paths))
    if len(places) > _MOST:
        first, last = min(places).split("/"), max(places).split("/")  # what these share, all do
        shared = next((i for i, (one, other) in enumerate(zip(first, last)) if one != other), len(first))
        places = ["/".join(first[:shared])] if shared else places
    for place in places:
        yield of_path(place, form)


def paths_of_rdd(kind: str, name: str) -> list[str] | None:
    """The paths that an RDD reads which is made of no other, by its class and its name: Spark calls those that read files by them. None if it reads none."""
    if name and not re.fullmatch(r"\w*RDD", name) and kind.endswith(("HadoopRDD", "BinaryFileRDD", "WholeTextFileRDD")):
        return name.split(",")
    return None


def _above(kind: Any) -> Iterator[Any]:
    while kind is not None:
        yield kind
        kind = kind.getSuperclass()
