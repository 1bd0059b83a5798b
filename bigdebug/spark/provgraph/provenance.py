"""Provenance graphs of triples in Spark: an index on this machine where it can hold them, else one of the paper's plans."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.building import check_memory
from bigdebug.provgraph.graph import ProvenanceGraph, directory, size_of
from bigdebug.provgraph.graph import provenance as built
from bigdebug.provgraph.membership import Columns, Listed
from bigdebug.provgraph.sets import THRESHOLD, Sets, check_threshold
from bigdebug.provgraph.splits import splits_of
from bigdebug.provgraph.workflow import Workflow
from bigdebug.spark.attachment import is_frame, is_remote
from bigdebug.spark.provgraph.answers import FrameAnswer, FrameCommon, FramePaths
from bigdebug.spark.provgraph.graph import SparkGraph
from bigdebug.spark.provgraph.incoming import read
from bigdebug.spark.provgraph.kept import let_go
from bigdebug.spark.provgraph.prepared import PLANS, Prepared, has_tables
from bigdebug.spark.provgraph.streaming import batches
from bigdebug.spark.sql.actions import unheard

_BUILDING = 60
"""Bytes on disk that a triple takes at most while its index is built, beside its texts."""

_PORTIONS = 16
"""Portions of the memory allowed of which rows are one while they are on their way into an index."""

_log = logging.getLogger(__name__)

_MOST = 2_000_000_000
"""Triples beyond which nobody would wait until they are on one machine."""


class IndexedGraph(ProvenanceGraph):
    """A provenance graph on this machine, of triples that were in Spark: its answers are DataFrames as well."""

    plan = "index"

    def __init__(self, graph: ProvenanceGraph, spark: Any, why: str, threshold: int = THRESHOLD, splits: Any = None) -> None:
        super().__init__(graph.index, graph.report, graph.path, graph.home)
        self._spark = spark
        self._why = why
        self._threshold, self._splits = threshold, splits

    def ancestors(self, items: Any, depth: int | None = None, limit: int | None = None) -> FrameAnswer:
        return FrameAnswer.of(super().ancestors(items, depth, limit), self._spark)

    def descendants(self, items: Any, depth: int | None = None, limit: int | None = None) -> FrameAnswer:
        return FrameAnswer.of(super().descendants(items, depth, limit), self._spark)

    def feeds(self, source: Any, besides: Any, depth: int | None = None) -> FrameAnswer:
        return FrameAnswer.of(super().feeds(source, besides, depth), self._spark)

    def common(self, items: Any) -> FrameCommon:
        return FrameCommon.of(super().common(items), self._spark)

    def paths(self, source: Any, target: Any) -> FramePaths:
        return FramePaths.of(super().paths(source, target), self._spark)

    def sets(self, threshold: int | None = None, splits: Any = None) -> Sets:
        """As of any graph; where nothing is said, with the threshold and the splits that ``dbg.provenance`` was given."""
        return super().sets(self._threshold if threshold is None else threshold, self._splits if splits is None else splits)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, plan index ({self._why})>"


def check_given(of: str, **given: Any) -> None:
    """Raise ProvenanceError for a parameter that was given and means nothing ``of`` what is asked for."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise ProvenanceError(f"{name}= means nothing of {of}", value=value, remedy=f"Leave out {name}=.")


def check_triples(triples: Any) -> None:
    """Raise ProvenanceError for what neither Spark nor this session knows."""
    if not is_frame(triples) and not is_remote(triples):
        raise ProvenanceError(
            "Triples in Spark are a DataFrame, and this is none", value=type(triples),
            remedy="Of files, of pandas and of Arrow: bigdebug.provenance(triples, workflow). Of a run: dbg.provenance(run).",
        )


def provenance(
    frame: Any, workflow: Workflow | None, plan: str, *, at: str | os.PathLike[str] | None, memory: str | int, columns: Sequence[str | None] | None, threshold: int | None,
    splits: Any, strict: bool, progress: bool, replace: bool = False,
) -> SparkGraph | IndexedGraph:
    """The graph of a DataFrame's triples, by the plan that is asked for; "auto" chooses from their size and from the disk's."""
    if plan not in ("auto", "index", *PLANS):
        raise ProvenanceError("There is no such plan", value=plan, remedy=f"Plans are auto, index, {', '.join(PLANS)}.")
    if at is not None and plan in PLANS:
        raise ProvenanceError("Only an index is kept in a directory", value=str(at), remedy=f"Leave out at=, or plan={plan!r}.")
    Workflow.check(workflow)
    if frame.isStreaming:
        raise ProvenanceError("Triples of a stream are never all there", remedy="Write them to a table, and give that.")
    columns = ("src", "dst", "op") if columns is None else columns
    threshold = THRESHOLD if threshold is None else threshold
    check_threshold(threshold)
    if splits is not None and workflow is not None:
        splits_of(workflow, splits)
    if plan == "csprov":
        has_tables(workflow)
    if at is not None:
        at = directory(at)
    allowed = size_of(memory)
    if plan not in PLANS:
        check_memory(allowed)
    rows = read(frame, columns, workflow)
    why = "as asked"
    if plan == "auto":
        try:
            plan, why = _chosen(rows, workflow, at)
        except BaseException:
            let_go(rows)
            raise
    if plan != "index":
        far = SparkGraph(Prepared(rows, workflow, threshold, splits, strict), plan, why)
        far.report.warn(_log)
        return far
    with batches(rows, allowed // _PORTIONS) as reader:
        graph = built(reader, _here(workflow), at=at, memory=allowed, strict=strict, replace=replace, progress=progress)
    return IndexedGraph(graph, frame.sparkSession, why, threshold, splits)


def _chosen(rows: Any, workflow: Workflow | None, at: str | os.PathLike[str] | None) -> tuple[str, str]:
    """A plan, and why this one."""
    long = [F.sum(F.octet_length(name)) for name, kind in rows.dtypes if kind == "string"]
    [[count, *texts]] = unheard(rows.agg(F.count(F.lit(1)), *long), "collect")
    need = count * _BUILDING + 3 * sum(size or 0 for size in texts)
    place = _existing(Path(tempfile.gettempdir() if at is None else at).absolute())
    free = shutil.disk_usage(place).free
    told = f"{count:,} triples take {_size(need)} while an index is built, and {_size(free)} are free in {str(place)!r}"
    if need <= free // 2 and count <= _MOST:
        return "index", told
    if at is not None:
        raise ProvenanceError(f"No index of so many triples is built in a directory: {told}", remedy="Name one where there is room, or leave out at=.")
    return ("csprov" if workflow is not None and workflow.items is not None else "ccprov"), told


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e8 else f"{count / 1e6:,.1f} MB"


def _here(workflow: Workflow | None) -> Workflow | None:
    """The workflow with what says of which table items are as it is read outside of Spark."""
    if workflow is None:
        return None
    items = workflow.items
    if isinstance(items, Columns):
        return workflow.placing(("src_table", "dst_table"))
    if isinstance(items, Listed) and isinstance(items.source, DataFrame):
        chosen = items.source.select(F.col(items.item), F.col(items.table))
        return workflow.placing(Listed(unheard(chosen, "toArrow"), items.item, items.table))
    return workflow
