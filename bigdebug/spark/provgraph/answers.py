"""Answers about a graph in Spark: as any provenance graph gives them, and as DataFrames; those that the driver does not take stay in Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from bigdebug.errors import TooLargeError
from bigdebug.provgraph.answer import Answer, frame_of, named_few
from bigdebug.provgraph.paths import Paths
from bigdebug.provgraph.questions import Common
from bigdebug.spark.provgraph.lookups import MOST, few
from bigdebug.spark.provgraph.recursion import Far
from bigdebug.spark.sql.actions import unheard

_DIGITS = 38
"""Digits of the largest number that Spark counts in."""


@dataclass(frozen=True, eq=False, repr=False)
class FrameAnswer(Answer):
    """An answer that is also DataFrames."""

    spark: Any = field(default=None, compare=False)

    @classmethod
    def of(cls, answer: Answer, spark: Any) -> FrameAnswer:
        return cls(answer.index, answer.kind, answer.asked_codes, answer.walked, spark, besides_codes=answer.besides_codes)

    def toDF(self) -> Any:
        """Columns item, table (if the graph has a workflow) and depth, as ``toPandas`` has them."""
        tables = {"table": self.tables} if self.index.workflow else {}
        return _frame(self.spark, {"item": self.items, **tables, "depth": self.depths}, self.items)

    def triplesDF(self) -> Any:
        """Columns src, dst and op, as ``triples`` has them."""
        return _triples(self.spark, self.triples, self.asked)


@dataclass(frozen=True, eq=False, repr=False)
class FrameCommon(Common):
    """Common ancestors that are also a DataFrame."""

    spark: Any = field(default=None, compare=False)

    @classmethod
    def of(cls, found: Common, spark: Any) -> FrameCommon:
        return cls(found.index, found.asked_codes, found.codes, found.depths, found.is_lowest, spark)

    def toDF(self) -> Any:
        """Columns item, table (if the graph has a workflow), depth and lowest, as ``toPandas`` has them."""
        tables = {"table": self.index.tables_of(self.codes)} if self.index.workflow else {}
        return _frame(self.spark, {"item": self.items, **tables, "depth": self.depths, "lowest": self.is_lowest}, self.items)

    def triplesDF(self) -> Any:
        """Columns src, dst and op: the triples on the ways from these items to those that were asked about."""
        return _triples(self.spark, frame_of(self.index, self.between), self.items)


@dataclass(frozen=True, eq=False, repr=False)
class FramePaths(Paths):
    """Paths that are also DataFrames."""

    spark: Any = field(default=None, compare=False)

    @classmethod
    def of(cls, found: Paths, spark: Any) -> FramePaths:
        return cls(found.index, found.start, found.end, found.between, spark)

    def toDF(self) -> Any:
        """Columns item, table (if the graph has a workflow), depth and paths, as ``toPandas`` has them. Raises TooLargeError for more paths than a decimal of Spark's counts."""
        if self.count >= 10**_DIGITS:
            raise TooLargeError(f"There are more paths than Spark counts in {_DIGITS} digits", remedy="toPandas() has their number; triplesDF() has what is on them.")
        found = self.toPandas()
        return _frame(self.spark, {name: found[name].to_numpy() for name in found.columns}, found["item"].to_numpy())

    def triplesDF(self) -> Any:
        """Columns src, dst and op, as ``triples`` has them."""
        return _triples(self.spark, self.triples, self.index.named(np.array([self.start])))


@dataclass(frozen=True, eq=False)
class FarAnswer:
    """An answer of more triples than the driver takes: in Spark, where it can be counted, joined and written. Iterating gives the items' ids, so it can be asked about."""

    kind: str
    asked: Any
    far: Far

    @property
    def stopped(self) -> str:
        """Why there is no more of it, where depth or limit ended it; empty if this is all."""
        return self.far.stopped

    def toDF(self) -> Any:
        """Columns item and depth."""
        return self.far.items

    def triplesDF(self) -> Any:
        """Columns src, dst and op."""
        return self.far.triples

    def toPandas(self) -> Any:
        """Raises TooLargeError."""
        raise TooLargeError(
            "This answer has more triples than the driver takes", remedy="toDF() has it in Spark; or ask with depth=N, or limit=N.",
        )

    def __iter__(self) -> Iterator[Any]:
        """The ids, nearest first; a job. Raises TooLargeError if the driver does not take the items either."""
        found = few(self.far.items.orderBy("depth", "item").select("item"), MOST)
        if found is None:
            raise TooLargeError(
                "This answer has more items than the driver takes, so it cannot be asked about", remedy="Ask with depth=N, or limit=N; or join toDF() with triplesDF() of another.",
            )
        return iter(found["item"].to_pylist())

    def __len__(self) -> int:
        """How many items there are; a job."""
        return int(unheard(self.toDF(), "count"))

    def __repr__(self) -> str:
        beyond = f" (not all: {self.stopped})" if self.stopped else ""
        return f"{self.kind} of {named_few(self.asked, len(self.asked))}, in Spark: more triples than the driver takes; toDF() and triplesDF() have them{beyond}"


def _triples(spark: Any, found: Any, ids: Any) -> Any:
    """Triples as pandas has them as a DataFrame; ``ids`` are some of the graph's."""
    return _frame(spark, {name: found[name].to_numpy() for name in ("src", "dst", "op")}, ids)


def _frame(spark: Any, columns: dict[str, Any], ids: Any) -> Any:
    """Columns as a DataFrame: none of them of a type that is guessed of nothing."""
    of_ids = pa.string() if ids.dtype == object else pa.int64()
    kinds = {"item": of_ids, "src": of_ids, "dst": of_ids, "table": pa.string(), "depth": pa.int64(), "paths": pa.decimal128(_DIGITS), "lowest": pa.bool_()}
    return spark.createDataFrame(pa.table({name: pa.array(values.tolist() if name == "paths" else values, kinds.get(name) or _kind(values)) for name, values in columns.items()}))


def _kind(values: Any) -> Any:
    """The type of operations: texts, unless they are numbers."""
    return pa.int64() if any(value is not None and not isinstance(value, str) for value in values) else pa.string()
