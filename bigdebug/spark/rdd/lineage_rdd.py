"""LineageRDD: a trace that is also the RDD of the raw records it names (Titian 4.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark import RDD
from pyspark.sql import DataFrame

from bigdebug.errors import NotCapturedError
from bigdebug.model import Rids, SourceRecord, pack
from bigdebug.shown import counted, shown
from bigdebug.spark.predicate import PREDICATE
from bigdebug.spark.process import own_python
from bigdebug.spark.rdd.arranged import serializers
from bigdebug.spark.rdd.inquiry.satisfying import satisfying
from bigdebug.spark.rdd.questions import Questions
from bigdebug.spark.rdd.recorder import Recorder
from bigdebug.trace.given import whole, width
from bigdebug.trace.page import Page, page_of
from bigdebug.trace.places import Places, places_of, rids_of
from bigdebug.trace.positions import Positions
from bigdebug.trace.run import Run
from bigdebug.trace.table import Table
from bigdebug.trace.trace import Standing, Trace, all_records

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorded import Recorded as Captured
    from bigdebug.spark.rdd.replay import Replay


class LineageRDD(Trace, RDD[Any]):
    """A trace point: its steps are a Trace's; as an RDD it holds the raw records, read or computed again.

    Computing again is checked against the run: a record is shown as the run saw it, or NondeterminismError or
    SourceChangedError says why it cannot be. Only the partitions that hold traced records are computed.
    """

    def __init__(self, run: Run, operators: Iterable[int], standing: Callable[[], Standing], recorder: Recorder) -> None:
        Trace.__init__(self, run, operators, standing)
        self._recorder = recorder
        self.ctx = recorder.sc
        self.is_cached = self.is_checkpointed = self.has_resource_profile = False
        self.partitioner = None
        self._jrdd_deserializer = serializers.AutoBatchedSerializer(serializers.CPickleSerializer())

    @property
    def _questions(self) -> Questions:
        return self._recorder.questions(self.run)

    def _to(self, operators: Iterable[int], find: Callable[[], Standing]) -> LineageRDD:
        return LineageRDD(self.run, operators, find, self._recorder)

    def standing_at(self, operator: int, rids: Rids) -> LineageRDD:
        """A trace over the same run that stands at these records of an operator."""
        return self._to([operator], lambda: {operator: places_of(rids)})

    # ---- steps ------------------------------------------------------------------------------------------------

    def back_to(self, operator: Any) -> Any:
        """Back to one operator, given as the RDD, the operator, or its id; or to a DataFrame whose ``df.rdd`` this was made of."""
        return self._recorder.crossing.frame_behind(self, operator) if isinstance(operator, DataFrame) else super().back_to(operator)

    def forward_to(self, operator: Any) -> Any:
        """Ahead to one operator, given as the RDD, the operator, or its id; or to a DataFrame that was made of such an RDD."""
        return self._recorder.crossing.frame_ahead(self, operator) if isinstance(operator, DataFrame) else super().forward_to(operator)

    # ---- records ----------------------------------------------------------------------------------------------

    def where(self, predicate: Callable[[Any], Any]) -> LineageRDD:
        """The records that satisfy ``predicate``; lazy, evaluated where the records are.

        What the predicate raises is a PredicateError of the first question, which says on which record and line.
        """
        if not callable(predicate):
            raise TypeError(f"where() takes a function of a record, not {shown(predicate)}; where(lambda r: ...)")
        operator = self._only("where()")

        def find() -> Standing:
            found = satisfying(self._questions, operator, self.places, predicate, PREDICATE)
            return {operator: {p: np.array(sorted(at), dtype=np.int64) for p, at in found.items() if at}}

        return self._to([operator], find)

    def collect(self) -> list[Any]:
        """The raw records, in the order of ``rids()``."""
        return [record for _, _, record in self._located()]

    def take(self, num: int) -> list[Any]:
        """The first ``num`` raw records; computes only the partitions that hold them."""
        return [record for _, _, record in self._located(whole(num, "the number of records to take is a whole one"))]

    def first(self) -> Any:
        """The first raw record. Raises ValueError if there is none, as PySpark does."""
        if not (found := self.take(1)):
            raise ValueError("RDD is empty")
        return found[0]

    def isEmpty(self) -> bool:
        return self.count() == 0

    def source_records(self, num: int | None = None) -> list[SourceRecord]:
        """The traced records with rids and origins; for traces that stand at sources."""
        origins = self.origins() if num is None else self._limited(num).origins()
        return [
            SourceRecord(record, rid, origin, operator) for (operator, rid, record), origin in zip(self._located(num), origins, strict=True)
        ]

    def source_ids(self) -> list[tuple[int, int]]:
        """The operator and the rid of each traced record."""
        return [(operator, rid) for operator, places in self.standing.items() for rid in rids_of(places).tolist()]

    def source_record(self, operator: int, rid: int) -> SourceRecord:
        """One of the records of a source."""
        (found,) = LineageRDD(self.run, [operator], lambda: {operator: places_of([rid])}, self._recorder).source_records()
        return found

    def toPandas(self) -> Any:
        """A pandas frame of rid, origin (at sources) and record, one column for each field of tuples and dicts."""
        import pandas as pd

        located = self._located()
        frame = pd.DataFrame({"rid": [rid for _, rid, _ in located]})
        if all(o in self.run.sources for o in self.operators):
            frame["origin"] = [str(origin) for origin in self.origins()]
        records = [record for _, _, record in located]
        if records and all(isinstance(r, tuple) and len(r) == len(records[0]) for r in records):
            names = getattr(records[0], "_fields", None) or [f"_{i + 1}" for i in range(len(records[0]))]
            for i, name in enumerate(names):
                frame[name] = [r[i] for r in records]
        else:
            frame["record"] = records
        return frame

    def show(self, n: int = 20, truncate: int | bool = 100) -> None:
        """Print the first ``n`` records with where they came from, cut to ``truncate`` characters (0 or False: not)."""
        print(self.table(n).text(width(truncate)))  # noqa: T201 (as PySpark's show does)

    def table(self, n: int = 20) -> Table:
        """The first ``n`` records as a table that displays as text and as escaped HTML."""
        total = self.count()
        limited = self._limited(n)
        located = limited._located()
        sources = all(o in self.run.sources for o in self.operators)
        names = [str(o) for o in limited.origins()] if sources else [str(rid) for _, rid, _ in located]
        where = " and ".join(str(self.run.graph[o]) for o in self.operators)
        notes = [f"{counted(total)} at {where}" + (f", the first {len(located)} shown" if total > len(located) else "")]
        if self.opaque:
            notes.append("through " + ", ".join(map(str, self.opaque)) + ": what it had read before each output")
        return Table(
            ("origin" if sources else "rid", "record"),
            [(name, shown(record)) for name, (_, _, record) in zip(names, located)], tuple(notes),
        )

    def page(self, start: int = 0, num: int = 50) -> Page:
        """``num`` records from number ``start`` on, with their fields; computes only the partitions that hold them."""
        return page_of(self, start, num)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = self.table()
        return {"text/plain": shown.text(), "text/html": shown.html()}

    def _limited(self, n: int) -> LineageRDD:
        left = whole(n, "the number of records to take is a whole one")
        standing: dict[int, dict[int, Positions]] = {}
        for operator in self.operators:
            standing[operator] = {}
            for partition, positions in sorted(self.standing.get(operator, {}).items()):
                if left > 0:
                    standing[operator][partition] = positions[:left]
                    left -= len(standing[operator][partition])
        return self._to(self.operators, lambda: standing)

    def _located(self, n: int | None = None) -> list[tuple[int, int, Any]]:
        """(operator, rid, record) in the order of ``rids()``."""
        trace = self if n is None else self._limited(n)
        found = []
        for operator in trace.operators:
            places: Places = trace.standing.get(operator, {})
            records = self._questions.records(operator, places)
            for partition in sorted(places):
                for position, rid in zip(places[partition].tolist(), pack(partition, places[partition]).tolist()):
                    found.append((operator, rid, records[partition][position]))
        return found

    # ---- replay -----------------------------------------------------------------------------------------------

    def replay(self, exclude: bool = False, at: Any = None, edit: Callable[[Any], Any] | None = None) -> Replay:
        """The run's program once more, on the lineage of these records only (Newt 3.4, Titian example 3).

        With ``exclude``, on everything else instead: the traced records are left out. ``at`` names the operator
        (RDD, operator or id) where records are chosen or left out; the sources if None. With ``edit``, records are
        passed through it there; with both, the traced records are changed and nothing is left out. Lazy; small
        replays run as one Spark task.
        """
        from bigdebug.spark.rdd.replay import Replay

        if edit is not None and not callable(edit):
            raise TypeError(f"edit is a function that gives a record in place of another, not {shown(edit)}; edit=lambda r: ...")
        return Replay(self, exclude, at, edit)

    # ---- what PySpark sees ------------------------------------------------------------------------------------

    @cached_property
    def _raw(self) -> RDD[Any]:
        with self._recorder.plain():
            parts = [self._questions.distributed(o, self.standing.get(o, {})) for o in self.operators]
            return parts[0] if len(parts) == 1 else self._recorder.sc.union(parts)

    @property
    def _jrdd(self) -> Any:
        with self._recorder.plain(), own_python(self._recorder.sc):
            return self._raw._jrdd

    def id(self) -> int:
        return int(self._jrdd.id())

    def getNumPartitions(self) -> int:
        return int(self._jrdd.partitions().size())


def lineage_of(rdd: Captured) -> LineageRDD:
    """The trace over all records of ``rdd`` in the latest run that involved it."""
    recorder = rdd._recorder
    operator = rdd._definition.operator.id
    for run in reversed(tuple(recorder.runs)):
        if operator in run.graph:
            return trace_of(recorder, run, operator)
    raise NotCapturedError(
        f"No lineage was captured for {rdd._definition.operator}",
        remedy="Run an action on it under `with dbg.capture():` or `%%lineage` first.",
    )


def trace_of(recorder: Recorder, run: Run, operator: int) -> LineageRDD:
    """The trace over all records of an operator of ``run``."""
    recorder.questions(run)
    run.graph[operator]
    return LineageRDD(run, [operator], lambda: all_records(run, operator), recorder)
