"""Formats: by what Spark reads the files of a source, and with which options."""

from __future__ import annotations

import re
from typing import Any

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node

PARQUET = "ParquetFileFormat"

ORC = "OrcFileFormat"

TEXT = "TextFileFormat"

CSV = "CSVFileFormat"

JSON = "JsonFileFormat"

PARSED = frozenset({CSV, JSON, "XmlFileFormat"})
"""Formats whose records may be malformed."""

_PATTERN = re.compile(r"[\\{}\[\]*?]")
"""What makes a pattern of a path."""

_CORRUPT = "columnNameOfCorruptRecord"


def literal(path: str) -> str:
    """A path as it is to be given to Spark's readers, so that it is the one file of this name: to them ``[1]`` would be one of several.

    Their own option for that (``__globPaths__``) lists each path as often as there are such ones.
    """
    return _PATTERN.sub(r"\\\g<0>", path)


def reader_of(leaf: Node) -> Any:
    """What Spark reads the files of a leaf of a plan by; None if it reads none, or a data source of version 2 does."""
    if leaf.nodeName() != "LogicalRelation":
        return None
    relation = leaf.relation()
    return relation if relation.getClass().getSimpleName() == "HadoopFsRelation" else None


def format_of(reader: Any) -> str:
    return str(reader.fileFormat().getClass().getSimpleName())


def is_csv(reader: Any) -> bool:
    """Whether a record is a line of values in the order of the columns."""
    return format_of(reader) == CSV


def option(reader: Any, name: str) -> str:
    """An option that was given with spark.read; empty if it was not."""
    options = reader.options()
    found = [options.apply(key) for key in (name, name.lower()) if options.contains(key)]
    return str(found[0]) if found else ""


def said(reader: Any, name: str) -> bool:
    """Whether an option was given, be it empty."""
    options = reader.options()
    return any(options.contains(key) for key in (name, name.lower()))


def corrupt_column(catalyst: Catalyst, reader: Any) -> str:
    """The name of the column that a reader puts malformed records in, if its schema has it."""
    return option(reader, _CORRUPT) or str(catalyst.jsession.conf().get(f"spark.sql.{_CORRUPT}"))
