"""Answers about a graph in Spark: as any provenance graph gives them, and as DataFrames; those that the driver does not take stay in Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from bigdebug.errors import TooLargeError
from bigdebug.provgraph.answer import Answer, named_few
from bigdebug.spark.provgraph.lookups import MOST, few
from bigdebug.spark.provgraph.recursion import Far
from bigdebug.spark.sql.actions import unheard


@dataclass(frozen=True, eq=False, repr=False)
class FrameAnswer(Answer):
    """An answer that is also DataFrames."""

    spark: Any = field(default=None, compare=False)

    @classmethod
    def of(cls, answer: Answer, spark: Any) -> FrameAnswer:
        return cls(answer.index, answer.kind, answer.asked_codes, answer.walked, spark, besides_codes=answer.besides_codes)

    def toDF(self) -> Any:
        """Columns item, table (if the graph has a workflow) and depth, as ``toPandas`` has them."""
        columns: dict[str, Any] = {"item": self.items}
        if self.index.workflow:
            columns["table"] = pa.array(self.tables.tolist(), pa.string())
        return self.spark.createDataFrame(_table({**columns, "depth": self.depths}, item=self.items))

    def triplesDF(self) -> Any:
        """Columns src, dst and op, as ``triples`` has them."""
        found = self.triples
        return self.spark.createDataFrame(_table({name: found[name].to_numpy() for name in ("src", "dst", "op")}, item=self.asked))


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


def _table(columns: dict[str, Any], item: Any) -> pa.Table:
    """Columns for Spark: none of them of a type that pandas guessed of nothing."""
    ids = pa.string() if item.dtype == object else pa.int64()
    kinds = {"item": ids, "src": ids, "dst": ids, "depth": pa.int64()}
    return pa.table({name: values if isinstance(values, pa.Array) else pa.array(values, kinds.get(name, _kind(values))) for name, values in columns.items()})


def _kind(values: Any) -> Any:
    """The type of operations: texts, unless they are numbers."""
    return pa.int64() if any(value is not None and not isinstance(value, str) for value in values) else pa.string()
