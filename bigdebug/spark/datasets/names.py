"""Names: what tables, views, sources and files are called, by what Spark's objects in the JVM say of themselves."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.datasets.databases import of_jdbc
from bigdebug.datasets.model import Dataset
from bigdebug.datasets.naming import of_path, of_session, of_sources, of_table
from bigdebug.spark.datasets.places import qualified
from bigdebug.spark.gateway import classes

_PART = re.compile(r"part-\d{5}|part-r-\d{5}")
"""What Spark calls files that it writes: a dataset is all of a folder."""

_MOST = 100
"""Paths of one relation that are datasets each; of more, the folder that they share is."""

_PASSING = {"RateStreamTable": "rate", "RatePerMicroBatchTable": "rate-micro-batch", "ConsoleTable": "console", "ForeachWriterTable": "foreach"}
"""Sources of streams that make what they give, and sinks that keep nothing."""

_COMMAND = "org.apache.spark.sql.catalyst.plans.logical.Command"

_NUMBERED = re.compile(r"(?<=\)) SPARK_GEN_SUBQ_\d+$")
"""What Spark calls a query in the place of a table, each time otherwise."""

_GIVEN = re.compile(r"_pyspark_[0-9a-f]{32}|sql(?:transformer)?_[0-9a-f]{12}_[0-9a-f]{12}", re.IGNORECASE)
"""What PySpark calls a DataFrame that is given to ``spark.sql`` by name, and MLlib one that SQLTransformer's statement is about: views that are gone afterwards."""

UNTOLD = (PySparkException, Py4JError)
"""What a call raises that another version of Spark does not know."""


class Names:
    """Names what one session in the JVM reads and writes. Each name costs some calls of the JVM."""

    def __init__(self, jsession: Any, sc: Any, session: str, learn: Callable[[Mapping[str, str]], None]) -> None:
        """``session`` is what names of things that end with the session begin with; ``learn`` is given options in which something may be secret."""
        self._jsession = jsession
        self.learn = learn
        self._sc = sc
        self._jvm = classes(sc._jvm)
        self._session = session

    def unknown(self, name: str) -> Dataset:
        """What something reads or writes that is not known here."""
        return Dataset("", name, "unknown")

    def of_catalog(self, table: Any) -> Dataset:
        """A table or a view, by what the catalog of the session says of it."""
        is_view = str(table.tableType().name()) == "VIEW"
        storage = table.storage()
        location = storage.locationUri()
        self.learn_options(storage.properties())
        provider = table.provider()
        return of_table(
            str(table.identifier().unquotedString()), self.store, unquote(str(location.get().toString())) if location.isDefined() else "",
            str(provider.get()).lower() if provider.isDefined() else "", "view" if is_view else "table",
        )

    def of_name(self, name: str, kind: str = "table") -> Dataset:
        """A table of the session's catalog by its name, with its database."""
        return of_table(self.cased(name), self.store, kind=kind)

    def cased(self, name: str) -> str:
        """A name as the session's catalog has it: in small letters, unless it is told to tell ``T`` from ``t``. Costs nothing for a name in small letters."""
        return name if name == name.lower() or self._is_cased else name.lower()

    def of_identifier(self, identifier: Any, kind: str = "table") -> Dataset:
        """A table by a TableIdentifier; in the current database where it names none."""
        if not identifier.database().isDefined():
            return self.of_name(f"{self._jsession.catalog().currentDatabase()}.{identifier.table()}", kind)
        return self.of_name(str(identifier.unquotedString()), kind)

    def identifier(self, table: str, database: Any) -> Any:
        """A TableIdentifier; ``database`` is an option of Scala's."""
        return self._jvm.org.apache.spark.sql.catalyst.TableIdentifier(table, database)

    def there(self, identifier: Any) -> Any | None:
        """What the catalog of the session says of a table now; None if it has none of this name."""
        try:
            return self._jsession.sessionState().catalog().getTableMetadata(identifier)
        except UNTOLD:
            return None

    def passes(self, identifier: Any) -> bool:
        """Whether a view is temporary, as the session has it now."""
        try:
            return bool(self._jsession.sessionState().catalog().isTempView(identifier))
        except UNTOLD:
            return False

    def defined(self, identifier: Any) -> Any | None:
        """What a view is made of now, as a plan; None if it is there no more."""
        try:
            plan = self._jsession.table(str(identifier.quotedString())).queryExecution().analyzed()
            while str(plan.getClass().getSimpleName()) == "SubqueryAlias":
                plan = plan.child()
            return plan.child() if str(plan.getClass().getSimpleName()) == "View" else None
        except UNTOLD:
            return None

    def of_temporary(self, name: str, kind: str) -> Dataset:
        """What ends with the session."""
        return of_session(self._session, name, kind)

    def of_cached(self, name: str) -> Dataset:
        """The cache of a table or a view, which is another dataset than what it keeps."""
        return self.of_temporary(f"cache of {self.cased(name)}", "cache")

    def is_command(self, node: Any) -> bool:
        """Whether a node of a plan does something, rather than gives rows."""
        return bool(self._jvm.java.lang.Class.forName(_COMMAND).isInstance(node))

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
            self.learn(dict(options.asCaseSensitiveMap()))
            yield from self.of_paths(table.fileIndex().rootPaths(), str(table.formatName()).lower())
        else:
            yield from self.of_options(kind, str(table.name()), dict(options.asCaseSensitiveMap()))

    def learn_options(self, options: Any) -> None:
        """Options of a relation, of a table or of a write, in a map of Scala's, in which something may be secret. One call of the JVM."""
        self.learn(dict(pair.partition(" -> ")[::2] for pair in str(options.mkString("\0")).split("\0") if pair))

    def of_options(self, kind: str, name: str, options: Mapping[str, str]) -> tuple[Dataset, ...]:
        """A source or a sink by the class and the name of its table, and its options: several topics of Kafka are several."""
        self.learn(options)
        if (passing := _PASSING.get(kind.removesuffix("$"))) is not None:  # an object of Scala's
            return (self.of_temporary(passing, "stream"),)
        return of_sources("kafka" if kind == "KafkaTable" else "socket" if kind == "TextSocketTable" else name, options)

    def of_catalog_v2(self, catalog: Any, identifier: Any) -> Dataset:
        """A table by a catalog and what that calls it."""
        return self.of_catalog_name(catalog, [*(str(part) for part in identifier.namespace()), str(identifier.name())])

    def of_catalog_name(self, catalog: Any, parts: Sequence[str]) -> Dataset:
        """The same by the parts of its name."""
        name, place = str(catalog.name()), ".".join(parts)
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
        return of_jdbc(str(options.url()), _NUMBERED.sub("", str(options.tableOrQuery())))

    def of_paths(self, paths: Any, form: str) -> Iterator[Dataset]:
        """Files at some paths, in a Scala sequence."""
        yield from folded(str(paths.mkString("\0")).split("\0") if paths.nonEmpty() else [], form)

    def of_database(self, name: str) -> Dataset:
        """The folder of a database's tables, where Spark makes it if nothing else is said."""
        return of_path(f"{unquote(self._warehouse)}/{name.lower()}.db")

    def of_place(self, path: str, form: str = "") -> Dataset:
        """Files at a path as the user writes it."""
        return of_path(qualified(self._sc, path), form)

    def java(self, scala: Any) -> Any:
        """A Scala collection as Java has it."""
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(scala)

    @staticmethod
    def format_of(file_format: Any) -> str:
        """The short name of a format of files."""
        try:
            return str(file_format.shortName())
        except UNTOLD:
            return str(file_format.getClass().getSimpleName())

    @cached_property
    def _is_cased(self) -> bool:
        return bool(self._jsession.sessionState().conf().caseSensitiveAnalysis())

    @cached_property
    def store(self) -> str:
        """Where the session's catalog is: its metastore, or the folder of its tables."""
        metastore = self._jsession.sparkContext().hadoopConfiguration().get("hive.metastore.uris")
        return str(metastore or self._warehouse)

    @property
    def _warehouse(self) -> str:
        return str(self._jsession.sharedState().conf().get("spark.sql.warehouse.dir"))


def is_given(view: str) -> bool:
    """Whether a view is nothing but a DataFrame that a text of SQL was given."""
    return _GIVEN.fullmatch(view) is not None


def folded(paths: Sequence[str], form: str) -> Iterator[Dataset]:
    """The datasets at some paths: of the files that Spark wrote into a folder, that folder; of very many, the folder that all are in."""
    places = list(dict.fromkeys(posixpath.dirname(path) if _PART.match(posixpath.basename(path)) else path for path in paths))
    if len(places) > _MOST:
        first, last = min(places).split("/"), max(places).split("/")  # what these share, all do
        shared = next((i for i, (one, other) in enumerate(zip(first, last)) if one != other), len(first))
        places = ["/".join(first[:shared])] if shared else places
    for place in places:
        yield of_path(place, form)


def _above(kind: Any) -> Iterator[Any]:
    while kind is not None:
        yield kind
        kind = kind.getSuperclass()
