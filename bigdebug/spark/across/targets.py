"""Targets: where an action wrote to, in which format, and which of its query's columns went into the files and which into their folders' names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from bigdebug.errors import UntraceableError
from bigdebug.spark.across.folders import File, qualified
from bigdebug.spark.gateway import classes, items
from bigdebug.spark.rdd.action import Given
from bigdebug.spark.sql.action import Action
from bigdebug.trace.across.located import Unit

_SAVED = {"saveAsTextFile": "text", "saveAsPickleFile": "pickle", "saveAsSequenceFile": "sequence", "saveAsHadoopFile": "", "saveAsNewAPIHadoopFile": ""}
"""Methods that save an RDD to a path, their first argument, and in which format; the format of some is their second argument."""

_CONFIGURED = ("saveAsHadoopDataset", "saveAsNewAPIHadoopDataset")
"""Those to which a Hadoop configuration says both."""

_FOLDERS = ("mapreduce.output.fileoutputformat.outputdir", "mapred.output.dir")
_CLASSES = ("mapreduce.job.outputformat.class", "mapred.output.format.class")

_PART = re.compile(r"part-(?:[a-z]-)?(\d{5,})(?:-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))?(?=[-_.]|$)")
"""How Spark calls a file: the number of the partition, and what is the same for all files of one write of a DataFrame."""

_NO_TEXTS = frozenset({"byte", "short", "integer", "long", "float", "double", "decimal", "boolean", "date", "timestamp", "timestamp_ntz", "void"})
"""Types, as PySpark calls them, of which no value is written with an end of a line in it."""

_CHAR = "__CHAR_VARCHAR_TYPE_STRING"

FORMS = ("csv", "json", "text", "parquet", "orc")
"""Formats in which rows are found again."""


class Column(NamedTuple):
    """A column as it was written: which of the query's it is, its name, the type that the table made of it if it may be another; and whether it is told by folders' names."""

    position: int
    name: str
    kind: str = ""
    partition: bool = False


@dataclass(frozen=True)
class Target:
    """Where an action wrote to. ``columns`` are a DataFrame's, none are an RDD's. ``texts`` says that a value may have ends of lines in it, ``altered`` what the table makes of
    values, so that rows are not found again; the files are known all the same.
    """

    folder: str
    form: str
    options: tuple[tuple[str, str], ...] = ()
    columns: tuple[Column, ...] = ()
    texts: bool = True
    altered: str = ""

    @property
    def unit(self) -> Unit:
        return Unit.LINE if self.form == "text" and not self.option("lineSep") else Unit.ROW

    def option(self, name: str) -> str:
        """An option of the write; empty if it was not given. Spark takes names as they come."""
        return next((value for key, value in self.options if key.lower() == name.lower()), "")

    def own(self, every: Sequence[File], new: Sequence[File]) -> tuple[File, ...]:
        """Those of the folder's files that the action wrote; ``new`` are not older than it. Raises UntraceableError if that cannot be told."""
        if not self.columns:
            own = self.parts(new)
            self._check_one_each(own)
            return tuple(own)
        writes = {write_of(file) for file in self.parts(new)}
        if len(writes) > 1:
            raise UntraceableError(
                "Several writes into one folder went on at the same time, and which of its files are whose is not known", value=self.folder,
                remedy="Write into folders of their own, or one after the other.",
            )
        return tuple(file for file in self.parts(every) if write_of(file) in writes)  # also those that a clock that is behind makes older

    def parts(self, files: Sequence[File]) -> list[File]:
        """Those that are called as Spark calls what it writes of an RDD, or of a DataFrame."""
        return [file for file in files if (match := _part(file)) and bool(match[2]) == bool(self.columns)]

    def _check_one_each(self, files: Sequence[File]) -> None:
        """An RDD has one file for each partition, whose records are those of the partition; else it is not known which are."""
        known: dict[int, File] = {}
        for file in files:
            other = known.setdefault(partition_of(file), file)
            if other is not file:
                raise UntraceableError(
                    f"A partition has several files, {other.name} and {file.name}, and which of its records are where is not known", value=self.folder,
                    remedy="Save with an output format that writes one file for each partition.",
                )


def _part(file: File) -> re.Match[str] | None:
    return _PART.match(file.name.rsplit("/", 1)[-1])


def write_of(file: File) -> str | None:
    """What all files of one write of a DataFrame have in their names, and no others."""
    match = _part(file)
    return match[2] if match else None


def partition_of(file: File) -> int:
    """The number of the partition that wrote a file."""
    match = _part(file)
    assert match is not None, file.name
    return int(match[1])


def target_of_rdd(sc: Any, action: str, given: Given) -> Target | None:
    """Where an action on an RDD wrote to; None for one that writes no files."""
    args, names = given
    if action in _SAVED:
        path = args[0] if args else names["path"]
        form = _SAVED[action] or _form(str(args[1] if len(args) > 1 else names["outputFormatClass"]))
        return Target(qualified(sc, str(path)), form)
    conf: Mapping[str, str] = (args[0] if args else names.get("conf", {})) if action in _CONFIGURED else {}
    place = next((conf[key] for key in _FOLDERS if key in conf), None)
    if place is None:
        return None
    return Target(qualified(sc, place), _form(next((conf[key] for key in _CLASSES if key in conf), "TextOutputFormat")))


def _form(name: str) -> str:
    last = name.rsplit(".", 1)[-1]
    return {"TextOutputFormat": "text", "SequenceFileOutputFormat": "sequence"}.get(last, "hadoop")


def target_of_writer(spark: Any, action: Action) -> Target | None:
    """Where an action on a DataFrame wrote to, or a command of SQL; None for one that writes no files."""
    target = _target(spark, action)
    if target is None:
        return None
    breaking = any(end in value for _, value in target.options for end in "\r\n")
    return replace(target, texts=breaking or any(field.dataType.typeName() not in _NO_TEXTS for field in action.frame.schema.fields))


def _target(spark: Any, action: Action) -> Target | None:
    if action.command is not None:
        return _COMMANDS[action.command.getClass().getSimpleName()](spark, action.command)
    if action.call is None or not action.name.startswith("write."):
        return None
    writer, args, names = action.call
    method = action.name.removeprefix("write.")
    columns = action.frame.columns
    if hasattr(writer, "_jwriter"):
        return _of_table(spark, _table_of_v2(spark, writer._jwriter), columns, by_name=True)
    if method in ("saveAsTable", "insertInto"):
        name = args[0] if args else names.get("name", names.get("tableName"))
        return _of_table(spark, _table_called(spark, str(name)), columns, by_name=method == "saveAsTable")
    form, options = str(writer._jwrite.source()).lower(), _options(writer._jwrite.extraOptions())
    path = args[0] if args and args[0] is not None else names.get("path") or dict(options).get("path")
    if form == "jdbc" or path is None:
        return None
    parts = writer._jwrite.partitioningColumns()
    folds = [str(each) for each in items(parts.get())] if parts.isDefined() else []
    fold = _folding(spark)
    return Target(
        qualified(spark.sparkContext, str(path)), _short(form), options,
        tuple(Column(i, name, partition=fold(name) in map(fold, folds)) for i, name in enumerate(columns)),
    )


def _into_files(spark: Any, command: Any) -> Target:
    parts = {str(each.exprId().toString()) for each in items(command.partitionColumns())}
    names = [str(name) for name in items(command.outputColumnNames())]
    columns = tuple(
        Column(i, name, partition=str(each.exprId().toString()) in parts) for i, (name, each) in enumerate(zip(names, items(command.query().output()), strict=True))
    )
    form = command.fileFormat()
    short = str(form.shortName()) if hasattr(form, "shortName") else str(form.toString())
    return Target(str(command.outputPath().toString()), _short(short), _options(command.options()), columns)


def _into_new_table(table: str) -> Callable[[Any, Any], Target]:
    def into(spark: Any, command: Any) -> Target:
        found = _metadata(spark, getattr(command, table)().identifier())
        return _of_table(spark, found, [str(name) for name in items(command.outputColumnNames())], by_name=True)

    return into


def _into_hive(spark: Any, command: Any) -> Target:
    return _of_table(spark, command.table(), [str(name) for name in items(command.outputColumnNames())], by_name=False)


def _into_folder(spark: Any, command: Any) -> Target:
    where = str(command.storage().locationUri().get().toString())
    columns = tuple(Column(i, str(each.name())) for i, each in enumerate(items(command.query().output())))
    return Target(_path(spark, where), _short(str(command.provider())), _options(command.storage().properties()), columns)


_COMMANDS: dict[str, Callable[[Any, Any], Target]] = {
    "InsertIntoHadoopFsRelationCommand": _into_files, "InsertIntoDataSourceDirCommand": _into_folder, "InsertIntoHiveTable": _into_hive,
    "CreateDataSourceTableAsSelectCommand": _into_new_table("table"), "SaveAsV1TableCommand": _into_new_table("tableDesc"),
    "CreateHiveTableAsSelectCommand": _into_new_table("tableDesc"),
}
"""By the names of their classes, all of those in ``commands.WRITING``."""


def _of_table(spark: Any, table: Any, columns: Sequence[str], by_name: bool) -> Target:
    """The files of a table of the session's catalog, into which columns went by their names or in their order."""
    fields = list(table.schema().fields())
    altered = f"{table.identifier().unquotedString()} has columns of CHAR or VARCHAR, which change what is written" if any(field.metadata().contains(_CHAR) for field in fields) else ""
    fold = _folding(spark)
    at = {fold(name): i for i, name in enumerate(columns)}
    folds = {fold(str(name)) for name in items(table.partitionColumnNames())}
    written = tuple(
        Column(at[fold(str(field.name()))] if by_name else i, str(field.name()), str(field.dataType().sql()), fold(str(field.name())) in folds)
        for i, field in enumerate(fields)
    )
    provider = table.provider()
    form = str(provider.get()) if provider.isDefined() else ""
    if form.lower() in ("hive", ""):
        serde = table.storage().serde()
        said = str(serde.get()).lower() if serde.isDefined() else ""
        form = next((each for each in ("parquet", "orc") if each in said), f"hive ({said.rsplit('.', 1)[-1]})")
    where = str(table.storage().locationUri().get().toString())
    return Target(_path(spark, where), _short(form), _options(table.storage().properties()), written, altered=altered)


def _table_called(spark: Any, name: str) -> Any:
    state = spark._jsparkSession.sessionState()
    return _metadata(spark, state.sqlParser().parseTableIdentifier(name))


def _table_of_v2(spark: Any, writer: Any) -> Any:
    """The table that df.writeTo(...) names: Spark keeps that to itself."""
    known = writer.getClass().getDeclaredField("tableName")
    known.setAccessible(True)
    parts = [str(part) for part in items(known.get(writer))]
    quoted = ".".join(f"`{part.replace('`', '``')}`" for part in (parts[1:] if parts[0] == "spark_catalog" else parts))
    return _table_called(spark, quoted)


def _metadata(spark: Any, identifier: Any) -> Any:
    return spark._jsparkSession.sessionState().catalog().getTableMetadata(identifier)


def _path(spark: Any, uri: str) -> str:
    """A location of the catalog's as Hadoop writes it, unquoted."""
    jvm = classes(spark.sparkContext._jvm)
    return qualified(spark.sparkContext, str(jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(uri)).toString()))


def _options(options: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((str(pair._1()), str(pair._2())) for pair in items(options.toSeq())))


def _short(form: str) -> str:
    last = form.lower().rsplit(".", 1)[-1]
    return next((known for known in FORMS if last in (known, f"{known}fileformat")), last)


def _folding(spark: Any) -> Callable[[str], str]:
    return str if bool(spark._jsparkSession.sessionState().conf().caseSensitiveAnalysis()) else str.lower
