"""A provenance graph in Spark: the questions of any provenance graph, answered by one of the paper's plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from bigdebug.errors import ProvenanceError, TooLargeError, UnknownItemError
from bigdebug.provgraph import questions
from bigdebug.provgraph.answer import Answer
from bigdebug.provgraph.dictionary import integers, texts
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.membership import NO_TABLE, Prefixes, Ranges
from bigdebug.provgraph.paths import Paths, paths
from bigdebug.provgraph.questions import Common
from bigdebug.provgraph.report import ImportReport
from bigdebug.spark.jobs import answering
from bigdebug.spark.provgraph.answers import FarAnswer, FrameAnswer
from bigdebug.spark.provgraph.lookups import MOST, among, fetched
from bigdebug.spark.provgraph.plans import Plan
from bigdebug.spark.provgraph.prepared import PLANS, Prepared
from bigdebug.spark.provgraph.recursion import BACKWARD, FORWARD, Ends, Far, recursed
from bigdebug.spark.provgraph.sets import Sets
from bigdebug.spark.provgraph.tables import TABLE
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.literals import literal


class SparkGraph:
    """A provenance graph that Spark holds. Questions take some jobs; answers are those that the index gives, item by item.

    A question finds the triples that have its whole answer, as its plan does, and takes them to the driver where they are no more than two million; else
    it goes on in Spark, level by level, and the answer stays there.
    """

    def __init__(self, prepared: Prepared, plan: str, why: str = "") -> None:
        if plan not in PLANS:
            raise ProvenanceError("There is no such plan", value=plan, remedy=f"Plans are index, {', '.join(PLANS)}.")
        self.plan = plan
        self._prepared = prepared
        self._why = why
        self._plan: Plan = prepared.plan(plan)
        prepared.enter(self)

    @property
    def report(self) -> ImportReport:
        """What was found in the triples, and left out."""
        return self._prepared.report

    def ancestors(self, items: Any, depth: int | None = None, limit: int | None = None) -> FrameAnswer | FarAnswer:
        """All items that these were derived from, directly or through others: of each up to ``depth`` triples, the nearest ``limit`` in all."""
        return self._asked("ancestors", items, depth, limit)

    def descendants(self, items: Any, depth: int | None = None, limit: int | None = None) -> FrameAnswer | FarAnswer:
        """All items that were derived from these, directly or through others."""
        return self._asked("descendants", items, depth, limit)

    def paths(self, source: Any, target: Any) -> Paths:
        """The paths along triples from one item to one that was derived from it. Raises TooLargeError where the lineage of the latter is."""
        return paths(self._index([(_ids(target), BACKWARD)], [*_ids(source), *_ids(target)]), source, target)

    def common(self, items: Any) -> Common:
        """The items that all of these were derived from, and which of them are the lowest."""
        return questions.common(self._index([(_ids(items), BACKWARD)], _ids(items)), items)

    def feeds(self, source: Any, besides: Any, depth: int | None = None) -> FrameAnswer:
        """What else was derived from ``source``: its descendants without the items ``besides`` and what these were derived from."""
        index = self._index([(_ids(source), FORWARD), (_ids(besides), BACKWARD)], [*_ids(source), *_ids(besides)])
        return FrameAnswer.of(questions.feeds(index, source, besides, depth), self._prepared.spark)

    def statistics(self) -> pd.DataFrame:
        """By table (the last row is of items of no table): columns table, items, sources (items that nothing was derived into), results (that nothing was derived
        from), triples (that lead to them) and fan_in, the largest. A job.
        """
        return self._prepared.statistics()

    def sets(self) -> Sets:
        """The sets that large components fall into along the workflow, and how these derive each other; found now, if the plan has not."""
        return self._prepared.sets

    def planned(self, plan: str) -> SparkGraph:
        """The same graph with another plan; what both need is found once."""
        return SparkGraph(self._prepared, plan, "as asked")

    def close(self) -> None:
        """Let Spark forget what this plan holds. What others of the same graph need goes with the last of them."""
        self._plan.close()
        self._prepared.leave(self)

    def __repr__(self) -> str:
        report = self.report
        why = f" ({self._why})" if self._why else ""
        return f"<provenance graph in Spark: {report.items:,} items, {report.edges:,} triples, plan {self.plan}{why}>"

    # ---- how --------------------------------------------------------------------------------------------------

    def _asked(self, kind: str, items: Any, depth: int | None, limit: int | None) -> FrameAnswer | FarAnswer:
        ask = questions.ancestors if kind == "ancestors" else questions.descendants
        ids = _ids(items)
        found = self._lineage(ids, BACKWARD if kind == "ancestors" else FORWARD, depth, limit)
        if isinstance(found, Far):
            self._check(self._array(ids))
            return FarAnswer(kind, np.array(ids, object), found, depth)
        return FrameAnswer.of(ask(self._indexed([found], ids), ids, depth, limit), self._prepared.spark)

    def _index(self, ways: Iterable[tuple[list[Any], Ends]], ids: list[Any]) -> Index:
        """The whole lineages of some items, in the driver."""
        found = [self._lineage(asked, ends) for asked, ends in ways]
        near = [each for each in found if not isinstance(each, Far)]
        if len(near) < len(found):
            raise TooLargeError("This question needs more triples than the driver takes", remedy="Ask for ancestors() or descendants(), which stay in Spark.")
        return self._indexed(near, ids)

    def _lineage(self, ids: list[Any], ends: Ends, depth: int | None = None, limit: int | None = None) -> pa.Table | Far:
        """Triples that have the lineage of these items, if not more."""
        answering(self._prepared.spark.sparkContext)
        start = self._array(ids)
        volume = self._plan.volume(start, ends)
        triples = volume.triples.select("src", "dst", "op")
        if volume.few and (whole := fetched(triples, MOST)) is not None:
            return whole
        return recursed(triples, start, ends, MOST, depth, limit)

    def _indexed(self, found: Sequence[pa.Table], ids: list[Any]) -> Index:
        start = self._array(ids)
        known = pa.chunked_array([chunk.cast(start.type) for each in found for end in ("src", "dst") for chunk in each[end].chunks], start.type)
        self._check(start.filter(pc.invert(pc.is_in(start, value_set=known.combine_chunks()))))
        src, dst, op = ([value for each in found for value in each[name].to_pylist()] for name in ("src", "dst", "op"))
        return self._with_tables(Index.of_arrays(src, dst, op, ids))

    def _with_tables(self, index: Index) -> Index:
        workflow = self._prepared.workflow
        if workflow is None:
            return index
        ids = index.ids.take(np.arange(index.items))
        if isinstance(workflow.items, Ranges | Prefixes):
            return replace(index, workflow=workflow, tables=workflow.items.of(ids))
        rows = fetched(among(self._prepared.items, "item", self._array(ids.tolist())).select("item", TABLE), index.items)
        assert rows is not None  # an item is there once
        known = dict(zip(rows["item"].to_pylist(), rows[TABLE].to_pylist()))
        places = [NO_TABLE if (place := known.get(item)) is None else place for item in ids.tolist()]
        return replace(index, workflow=workflow, tables=np.array(places, np.uint16))

    # ---- items ------------------------------------------------------------------------------------------------

    @cached_property
    def _whole(self) -> bool:
        """Whether ids are integers."""
        return bool(dict(self._prepared.triples.dtypes)["src"] == "bigint")

    def _array(self, ids: Sequence[Any]) -> pa.Array:
        """Ids as Spark has them. Raises UnknownItemError for one of another type."""
        try:
            return pa.array(integers(ids)) if self._whole else pa.array(texts(ids), pa.string())
        except (TypeError, UnicodeEncodeError) as problem:
            raise UnknownItemError(f"An item is not there: {problem}", remedy="Ids are as in the columns src and dst.") from problem

    def _check(self, doubtful: pa.Array) -> None:
        """Raise UnknownItemError for an item that the graph does not have, with the ones before and behind it."""
        missing = self._plan.missing(doubtful) if len(doubtful) else doubtful
        if len(missing):
            lost = missing[0].as_py()
            others = f" (nor are {len(missing) - 1} of the others)" if len(missing) > 1 else ""
            near = ", ".join(repr(other) for other in self._near(lost))
            raise UnknownItemError(f"No item has this id{others}", value=lost, remedy=f"Near it are {near}." if near else "The graph has no items.")

    def _near(self, lost: Any) -> list[Any]:
        at = literal(lost, "BIGINT" if self._whole else "STRING")
        before, behind = F.max(F.when(F.col("item") < at, F.col("item"))), F.min(F.when(F.col("item") > at, F.col("item")))
        [row] = unheard(self._prepared.items.agg(before, behind), "collect")
        return [item for item in row if item is not None]


def _ids(items: Any) -> list[Any]:
    """One id, several, or those of an answer, each once. Raises ProvenanceError for none."""
    if isinstance(items, Answer | Common):
        items = items.items.tolist()
    ids = [items] if isinstance(items, str | bytes) or not isinstance(items, Iterable) else list(items)
    if not ids:
        raise ProvenanceError("No item is asked about", remedy="Give an id, or a list of them.")
    return list(dict.fromkeys(value.item() if isinstance(value, np.generic) else value for value in ids))
