"""Feeding: what a debug session answers about what feeds what, beyond one run: over the files between steps, and in provenance graphs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bigdebug import actors
from bigdebug.spark.across.runs import RunSteps
from bigdebug.spark.attachment import check_frame
from bigdebug.spark.tracer import Tracer
from bigdebug.trace.across.pipelines import Pipeline
from bigdebug.trace.capture import Capture
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from bigdebug.provgraph.workflow import Workflow
    from bigdebug.spark.provgraph.graph import SparkGraph
    from bigdebug.spark.provgraph.provenance import IndexedGraph


class Feeding(Tracer):
    """The pipeline and the provenance graphs of a session, of whose runs ``_steps`` knows the files."""

    spark: Any
    _steps: RunSteps

    @cached_property
    def pipeline(self) -> Pipeline:
        """The captured runs of this session and the actors of this user (``bigdebug.actors``) as steps, joined by the files between them.

        ``dbg.pipeline.backward("out.csv", lines=[12])``, ``forward("orders.csv", lines=[17])``, also of a trace or a culprit; ``add(bigdebug.open(dir))`` adds
        what was saved. Costs nothing before it is asked.
        """
        return Pipeline(self._steps.steps, actors.steps)

    def provenance(
        self, triples: Any, workflow: Workflow | None = None, plan: str = "auto", *, at: str | os.PathLike[str] | None = None, memory: str | int = "1g",
        columns: Sequence[str | None] | None = None, threshold: int | None = None, splits: Any = None, strict: bool = False, replace: bool = False,
        values: bool = False, tables: Mapping[str, Any] | None = None,
    ) -> SparkGraph | IndexedGraph:
        """The provenance graph of triples (src, dst, op) in a DataFrame; ids are integers or texts, and ``columns`` names theirs, None for op if there are none.

        ``plan`` says how questions are answered. "index": in milliseconds, from an index that is built in the directory ``at`` of this machine (a temporary one
        if None) within ``memory``; ``bigdebug.open(at)`` opens it again, and ``replace`` builds it anew. By the plans of Rajmohan et al., in some Spark jobs each, where only a cluster holds the
        graph: "rq" goes level by level, "ccprov" through the component of the item, "csprov" through the sets that components of ``threshold`` items (25,000 if None) or more fall into along
        ``splits`` of the workflow (lists of tables; found if None). "auto": the index, if half of the free disk takes it; else csprov, or without a workflow ccprov.

        Of a run, or of what ``capture`` gave: the graph of its lineage. Items are the records of its sources, of its result, and of operators between, those where goBack()
        stops and those that ``tables`` names (``tables={"delays": df}``); with ``values``, those of DataFrames are values of columns, and each triple is one step between
        these. Its questions take traces over the run, too, and ``graph.traces(answer)`` gives traces. Raises UntraceableError where lineage is more than which
        records were made of which.

        The triples are read once, when this is called, and are not looked at later. Raises ProvenanceError for columns without ids, and if ``strict`` for triples
        that are not clean; else the log and ``report`` say what was left out. ``close()`` of a graph in Spark lets go of what it holds there.
        """
        # A tenth of a second, for which attaching need not wait.
        from bigdebug.spark.provgraph.provenance import check_given, check_triples, provenance
        from bigdebug.spark.provgraph.runs import exported

        runs = [triples] if isinstance(triples, Run | Capture) else triples if isinstance(triples, list | tuple) else []
        if runs and all(isinstance(run, Run | Capture) for run in runs):
            other = None if plan in ("auto", "index") else plan
            check_given("a run", workflow=workflow, plan=other, columns=columns, threshold=threshold, splits=splits, strict=strict)
            wholes = [self.lineage(run) for run in runs]
            return exported(self.spark, wholes, self._steps, values, tables or {}, at=at, memory=memory, progress=self.progress, replace=replace)
        check_triples(triples)
        check_frame(triples, self.spark)
        check_given("triples", values=values, tables=tables)
        return provenance(
            triples, workflow, plan, at=at, memory=memory, columns=columns, threshold=threshold, splits=splits, strict=strict, replace=replace, progress=self.progress,
        )
