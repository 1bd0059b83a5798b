"""Written: the rows of a query as they were written, and those of files as they are read, in columns that are equal where the two are the same row.

A CSV knows no types, and "" may be NULL: so values of a query are written and read by the very code of Spark's that writes and reads the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from pyspark.sql import Column as Values
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, _parse_datatype_json_string

from bigdebug.errors import UntraceableError
from bigdebug.spark.across.folders import File
from bigdebug.spark.across.leaffiles import cutting
from bigdebug.spark.across.targets import FORMS, Column, Target
from bigdebug.spark.sql.formats import literal

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"

_BETWEEN = "\x1f"

_ENDS = r"\r\n|\r|\n"


def check_form(target: Target) -> None:
    """Raise UntraceableError for a format, an option, or a table, in which rows are not found again."""
    if target.altered:
        raise UntraceableError(target.altered, value=target.folder, remedy="Declare them STRING; the files as such are known.")
    if target.form not in FORMS:
        raise UntraceableError(
            f"Rows are not found again in files of the format {target.form}", value=target.folder, remedy=f"Write {', '.join(FORMS)}; the files as such are known.",
        )
    if target.form == "json" and target.option("pretty").lower() == "true":
        raise UntraceableError("Rows of JSON over several lines are not found again", value=target.folder, remedy="Write without the option pretty.")


def data_of(target: Target) -> list[Column]:
    """The columns that are in the files, in their order."""
    return [column for column in target.columns if not column.partition]


def parts_of(target: Target) -> list[Column]:
    """Those that folders' names tell."""
    return [column for column in target.columns if column.partition]


def place_of(target: Target, file: File) -> str:
    """What the names of a file's folders say, as ``told`` says it of a row."""
    said = dict(part.partition("=")[::2] for part in file.name.split("/")[:-1])
    by_name = {unquote(name).lower(): unquote(value) for name, value in said.items()}
    return _BETWEEN.join(by_name.get(column.name.lower(), _NO_VALUE) for column in parts_of(target))


def told(target: Target, columns: Sequence[Values]) -> Values:
    """What the names of folders say of a row of the query, by its columns."""
    values = [_typed(columns[column.position], column).cast("string") for column in parts_of(target)]
    return F.concat_ws(_BETWEEN, *(F.coalesce(F.nullif(value, F.lit("")), F.lit(_NO_VALUE)) for value in values))


def _typed(values: Values, column: Column) -> Values:
    return values.cast(column.kind) if column.kind else values


# ---- of a query -----------------------------------------------------------------------------------------------------


def of_query(target: Target, columns: Sequence[Values], loose: Collection[int]) -> list[Values]:
    """The values of a row as it was written, but those at ``loose`` positions of the data, which another execution may give otherwise."""
    data = data_of(target)
    return _QUERIES.get(target.form, _typed_query)(target, [(_typed(columns[column.position], column), column.name) for column in data], loose)


def is_row(target: Target, columns: Sequence[Values]) -> Values | None:
    """Whether what was written of a row of the query is a row to who reads it; None if all are."""
    if target.form != "csv" or len(data_of(target)) > 1:
        return None
    [column] = data_of(target)
    # Spark takes to_csv for what is never NULL, which it is of a single NULL.
    text = _as_csv(target, [(F.lit("x"), "first"), (_typed(columns[column.position], column), column.name)])
    return F.length(text) > len("x" + (target.option("sep") or target.option("delimiter") or ","))


_Named = Sequence[tuple[Values, str]]


def _typed_query(target: Target, data: _Named, loose: Collection[int]) -> list[Values]:
    return [values for i, (values, _) in enumerate(data) if i not in loose]


def _csv_query(target: Target, data: _Named, loose: Collection[int]) -> list[Values]:
    """All values in one: to Spark each field of what it parses is a parser of its own."""
    kept = [each for i, each in enumerate(data) if i not in loose]
    names = ["first", *(f"c{i}" for i in range(len(kept)))]
    text = _as_csv(target, [(F.lit("x"), "first"), *kept])  # a line of a single NULL is blank, and none to a parser
    return [F.from_csv(text, ", ".join(f"{name} STRING" for name in names), {**_reading_csv(target), "header": "false"})] if kept else []


def _as_csv(target: Target, data: _Named) -> Values:
    return F.to_csv(F.struct(*(values.alias(f"c{i}") for i, (values, _) in enumerate(data))), dict(target.options))


def _csv_values(columns: Sequence[Values], loose: Collection[int]) -> list[Values]:
    kept = [column for i, column in enumerate(columns) if i not in loose]
    return [F.struct(F.lit("x").alias("first"), *(column.alias(f"c{i}") for i, column in enumerate(kept)))] if kept else []


def _json_query(target: Target, data: _Named, loose: Collection[int]) -> list[Values]:
    text = F.to_json(F.struct(*(values.alias(name) for values, name in data)), dict(target.options))
    return _json_values(target, text, loose)


def _json_values(target: Target, text: Values, loose: Collection[int]) -> list[Values]:
    """A line of JSON: itself, or where some of it is loose, the texts of its other fields."""
    if not loose:
        return [text]
    names = [column.name for column in data_of(target)]
    parsed = F.from_json(text, StructType([StructField(name, StringType()) for name in names]))
    return [parsed.getField(name) for i, name in enumerate(names) if i not in loose]


def _text_query(target: Target, data: _Named, loose: Collection[int]) -> list[Values]:
    """A line each: a text with ends of lines in it is several."""
    ending = target.option("lineSep")
    ends = _ENDS if not ending else re.escape(ending)
    text = F.concat(F.coalesce(data[0][0], F.lit("")), F.lit(ending or "\n"))
    lines = F.split(text, ends, -1)
    return [] if loose else [F.explode(F.slice(lines, 1, F.size(lines) - 1))]


_QUERIES: Mapping[str, Callable[[Target, _Named, Collection[int]], list[Values]]] = {"csv": _csv_query, "json": _json_query, "text": _text_query}


# ---- of files -------------------------------------------------------------------------------------------------------


def frame_of(spark: Any, target: Target, schema: StructType, paths: Sequence[str]) -> Any:
    """The rows of files as a DataFrame: each of them by its number in the file. ``schema`` is the query's. No job."""
    reading, given = spark.read, list(map(literal, paths))
    if target.form == "csv":
        strings = StructType([StructField(f"c{i}", StringType()) for i in range(len(data_of(target)))])
        return reading.format("csv").options(**_reading_csv(target)).schema(strings).load(given)
    if target.form in ("json", "text"):
        known = {name: value for name in ("lineSep", "encoding") if (value := target.option(name))}
        return reading.format("text").options(**known).schema("value STRING").load(given)
    fields = [StructField(column.name, _kind(spark, schema, column)) for column in data_of(target)]
    return reading.format(target.form).schema(StructType(fields)).load(given)


def of_files(target: Target, columns: Sequence[Values], loose: Collection[int]) -> list[Values]:
    """The values of a row of such a DataFrame, as ``of_query`` has them."""
    if target.form == "json":
        return _json_values(target, columns[0], loose)
    if target.form == "csv":
        return _csv_values(columns, loose)
    return [column for i, column in enumerate(columns) if i not in loose]


def cut_by(target: Target) -> tuple[tuple[str, str], ...]:
    """The options by which rows of the files are counted here."""
    if target.form == "csv":
        return tuple(sorted(cutting(_reading_csv(target), "csv").items()))
    return tuple(sorted(cutting(dict(target.options), target.form).items()))


def _reading_csv(target: Target) -> dict[str, str]:
    """The options of the write, to read by, but for the path: files are named beside. What has no ends of lines in its values is read as others read it."""
    return {**{name: value for name, value in target.options if name.lower() not in ("multiline", "path", "paths")}, "multiLine": str(target.texts).lower()}


def _kind(spark: Any, schema: StructType, column: Column) -> Any:
    if not column.kind:
        return schema.fields[column.position].dataType
    json = spark.sparkContext._jvm.org.apache.spark.sql.types.DataType.fromDDL(column.kind).json()
    return _parse_datatype_json_string(json)
