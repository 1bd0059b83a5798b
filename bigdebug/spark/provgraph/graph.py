"""A provenance graph in Spark: the questions of any provenance graph, answered by one of the paper's plans."""

from __future__ import annotations

from collections.abc import Sequence
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
from bigdebug.provgraph.codes import Codes, distinct
from bigdebug.provgraph.dictionary import integers, texts
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.membership import NO_TABLE, Prefixes, Ranges
from bigdebug.provgraph.paths import paths
from bigdebug.provgraph.report import ImportReport
from bigdebug.provgraph.slips import variants
from bigdebug.provgraph.workflow import Workflow
from bigdebug.shown import shown
from bigdebug.spark.process import answering
from bigdebug.spark.provgraph.answers import FarAnswer, FrameAnswer, FrameCommon, FramePaths
from bigdebug.spark.provgraph.components import Components
from bigdebug.spark.provgraph.lookups import MOST, among, fetched, few
from bigdebug.spark.provgraph.plans import Plan
from bigdebug.spark.provgraph.prepared import PLANS, Prepared, closed
from bigdebug.spark.provgraph.recursion import BACKWARD, FORWARD, Ends, Far, recursed
from bigdebug.spark.provgraph.sets import Sets
from bigdebug.spark.provgraph.tables import TABLE
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.plans.literals import literal
from bigdebug.store.arrays import InMemory


class SparkGraph:
    """A provenance graph that Spark holds. Questions take some jobs; answers are those that the index gives, item by item.

    A question finds the triples that have its whole answer, as its plan does, and takes them to the driver where they are no more than two million; else
    it goes on in Spark, level by level, and the answer stays there.
    """

    def __init__(self, prepared: Prepared, plan: str, why: str = "") -> None:
        if plan not in PLANS:
            raise ProvenanceError("There is no such plan in Spark", value=plan, remedy=f"Plans are {', '.join(PLANS)}; dbg.provenance(df, plan='index') makes an index.")
        self.plan = plan
        self._prepared = prepared
        self._why = why
        self._closed = False
        prepared.check_open()
        prepared.enter(self)
        try:
            self._plan: Plan = prepared.plan(plan)
        except BaseException:
            prepared.leave(self)
            raise

    @property
    def report(self) -> ImportReport:
        """What was found in the triples, and left out."""
        return self._prepared.report

    @property
    def workflow(self) -> Workflow | None:
        """The workflow, if it says which table an item is of."""
        return self._prepared.workflow

    def ancestors(self, items: Any, depth: int | None = None, limit: int | None = None) -> FrameAnswer | FarAnswer:
        """All items that these were derived from, directly or through others: of each up to ``depth`` triples, the nearest ``limit`` in all."""
        return self._asked("ancestors", items, depth, limit)

    def descendants(self, items: Any, depth: int | None = None, limit: int | None = None) -> FrameAnswer | FarAnswer:
        """All items that were derived from these, directly or through others."""
        return self._asked("descendants", items, depth, limit)

    def paths(self, source: Any, target: Any) -> FramePaths:
        """The paths along triples from one item to one that was derived from it. Raises TooLargeError where the lineage of the latter is."""
        start, end = self._array(source), self._array(target)
        found = paths(self._index([self._lineage(end, BACKWARD)], [start, end]), source, target)
        return FramePaths.of(replace(found, index=self._placed(found.index, found.between.src, found.between.dst)), self._prepared.spark)

    def common(self, items: Any) -> FrameCommon:
        """The items that all of these were derived from, and which of them are the lowest."""
        asked = self._array(items)
        found = questions.common(self._index([self._lineage(asked, BACKWARD)], [asked]), items)
        # With the tables of what is between, for a picture.
        index = self._placed(found.index, found.asked_codes, found.between.src, found.between.dst)
        return FrameCommon.of(replace(found, index=index), self._prepared.spark)

    def feeds(self, source: Any, besides: Any, depth: int | None = None) -> FrameAnswer:
        """What else was derived from ``source``: its descendants without the items ``besides`` and what these were derived from."""
        questions.require_count("depth", depth)
        start, others = self._array(source), self._array(besides)
        index = self._index([self._lineage(start, FORWARD, depth), self._lineage(others, BACKWARD)], [start, others])
        return self._answered(questions.feeds(index, source, besides, depth))

    def first(self, table: str | None = None, limit: int | None = 10) -> list[Any]:
        """The first ids in their order, of all items or of those of a table: what can be asked about. None: all of them. A job."""
        questions.require_count("limit", limit)
        self._check_open()
        items = self._prepared.items
        if table is not None:
            items = items.where(F.col(TABLE) == questions.place_of(self.workflow, table))
        found = items.select("item").orderBy("item")
        return [item for [item] in unheard(found if limit is None else found.limit(limit), "collect")]

    def statistics(self) -> pd.DataFrame:
        """By table (the last row is of items of no table): columns table, items, sources (items that nothing was derived into), results (that nothing was derived
        from), triples (that lead to them) and fan_in, the largest. A job.
        """
        self._check_open()
        return self._prepared.statistics()

    def components(self) -> Components:
        """The weakly connected components; found now, if the plan has not."""
        self._check_open()
        return self._prepared.components

    def sets(self, threshold: int | None = None, splits: Any = None) -> Sets:
        """The sets that large components fall into along the workflow, and how these derive each other (CSProv, Algorithm 3); found now, if the plan has not.

        Where nothing is said, with the threshold and the splits that ``dbg.provenance`` was given; others are for looking at, and leave the plan as it is.
        """
        self._check_open()
        return self._prepared.sets if threshold is None and splits is None else self._prepared.cut(threshold, splits)

    def planned(self, plan: str) -> SparkGraph:
        """The same graph with another plan; what both need is found once."""
        self._check_open()
        return SparkGraph(self._prepared, plan, "as asked")

    def close(self) -> None:
        """Let Spark forget what this plan holds. What others of the same graph need goes with the last of them."""
        if not self._closed:
            self._closed = True
            self._plan.close()
            self._prepared.leave(self)

    def __len__(self) -> int:
        """How many items there are."""
        return self.report.items

    def __repr__(self) -> str:
        report = self.report
        why = (f" ({self._why})" if self._why else "") + (", closed" if self._closed else "")
        return f"<provenance graph in Spark: {report.items:,} items, {report.edges:,} triples, plan {self.plan}{why}>"

    # ---- how --------------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        """Raise ProvenanceError for a graph that was closed, IncompleteLineageError if its Spark was stopped."""
        if self._closed:
            raise closed()
        self._prepared.check_open()
        answering(self._prepared.spark.sparkContext)

    def _asked(self, kind: str, items: Any, depth: int | None, limit: int | None) -> FrameAnswer | FarAnswer:
        questions.require_count("depth", depth)
        questions.require_count("limit", limit)
        start = self._array(items)
        found = self._lineage(start, BACKWARD if kind == "ancestors" else FORWARD, depth, limit)
        if isinstance(found, Far):
            self._check(start)
            return FarAnswer(kind, np.array(start.to_pylist(), object), found)
        ask = questions.ancestors if kind == "ancestors" else questions.descendants
        return self._answered(ask(self._indexed([found], [start]), items, depth, limit))

    def _answered(self, answer: Answer) -> FrameAnswer:
        """An answer with the tables of its items, and of those that its triples lead from."""
        walked = answer.walked
        index = self._placed(answer.index, answer.asked_codes, walked.items, walked.triples.src, walked.triples.dst)
        return FrameAnswer.of(replace(answer, index=index), self._prepared.spark)

    def _index(self, found: Sequence[pa.Table | Far], ids: Sequence[pa.Array]) -> Index:
        """The lineages of some items, in the driver."""
        near = [each for each in found if not isinstance(each, Far)]
        if len(near) < len(found):
            raise TooLargeError("This question needs more triples than the driver takes", remedy="Ask for ancestors() or descendants(), which stay in Spark.")
        return self._indexed(near, ids)

    def _lineage(self, start: pa.Array, ends: Ends, depth: int | None = None, limit: int | None = None) -> pa.Table | Far:
        """Triples that have the lineage of these items, if not more."""
        self._check_open()
        volume = self._plan.volume(start, ends)
        triples = volume.triples.select("src", "dst", "op")
        if volume.few and (whole := few(triples, MOST)) is not None:
            return whole
        return recursed(triples, start, ends, MOST, depth, limit)

    def _indexed(self, found: Sequence[pa.Table], ids: Sequence[pa.Array]) -> Index:
        asked = pa.concat_arrays(ids)
        known = pa.chunked_array([chunk.cast(asked.type) for each in found for end in ("src", "dst") for chunk in each[end].chunks], asked.type)
        self._check(asked.filter(pc.invert(pc.is_in(asked, value_set=known.combine_chunks()))))
        src, dst, op = (pa.chunked_array([chunk for each in found for chunk in each[name].chunks], found[0].schema.field(name).type) for name in ("src", "dst", "op"))
        return Index.of_arrays(src, dst, op, asked)

    def _placed(self, index: Index, *some: Codes) -> Index:
        """The index with the tables of these items: those of others nobody asks for."""
        workflow = self._prepared.workflow
        if workflow is None:
            return index
        codes = distinct(np.concatenate(some))
        tables = np.full(index.items, NO_TABLE, np.uint16)
        ids = self._column(index.named(codes))
        if isinstance(workflow.items, Ranges | Prefixes):
            tables[codes] = workflow.items.of(ids.to_numpy() if isinstance(workflow.items, Ranges) else ids)
        else:
            rows = fetched(among(self._prepared.items, "item", ids).select("item", TABLE).where(F.col(TABLE).isNotNull()), len(ids))
            assert rows is not None  # an item is there once
            tables[codes[pc.index_in(rows["item"].cast(ids.type), value_set=ids).to_numpy()]] = rows[TABLE].to_numpy()
        return replace(index, workflow=workflow, tables=InMemory(tables))

    # ---- items ------------------------------------------------------------------------------------------------

    @cached_property
    def _whole(self) -> bool:
        """Whether ids are integers."""
        return bool(dict(self._prepared.triples.dtypes)["src"] == "bigint")

    def _array(self, items: Any) -> pa.Array:
        """One id, several, or those of an answer, each once, as Spark has them. Raises UnknownItemError for one of another type, ProvenanceError for none."""
        self._check_open()
        return self._column(questions.ids_of(items)).unique()

    def _column(self, ids: Any) -> pa.Array:
        try:
            return pa.array(integers(ids)) if self._whole else pa.array(texts(ids), pa.string())
        except (TypeError, UnicodeEncodeError) as problem:
            raise UnknownItemError(f"An item is not there: {problem}", remedy="Ids are as in the columns src and dst.") from problem

    def _check(self, doubtful: pa.Array) -> None:
        """Raise UnknownItemError for an item that the graph does not have, with the ones before and behind it, and other spellings of it."""
        missing = self._plan.missing(doubtful) if len(doubtful) else doubtful
        if len(missing):
            lost = missing[0].as_py()
            others = f" (nor are {len(missing) - 1} of the others)" if len(missing) > 1 else ""
            near = ", ".join(map(shown, self._near(lost)))
            raise UnknownItemError(f"No item has this id{others}{self.report.left_out}", value=lost, remedy=f"Near it are {near}." if near else "The graph has no items.")

    def _near(self, lost: Any) -> list[Any]:
        at = literal(lost, "BIGINT" if self._whole else "STRING")
        before, behind = F.max(F.when(F.col("item") < at, F.col("item"))), F.min(F.when(F.col("item") > at, F.col("item")))
        spelled = [] if self._whole else [literal(text, "STRING") for text in variants(lost)]
        meant = F.collect_set(F.when(F.col("item").isin(spelled), F.col("item")))
        [[least, most, some]] = unheard(self._prepared.items.agg(before, behind, meant), "collect")
        return [*sorted(some), *(item for item in (least, most) if item is not None and item not in some)]
