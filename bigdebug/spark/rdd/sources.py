"""Sources: what a run notes of the inputs it reads, and RDDs that were made outside of bigdebug."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark import RDD
from pyspark.core.rdd import PipelinedRDD

from bigdebug.errors import SourceChangedError
from bigdebug.graph import Form, Kind
from bigdebug.spark.process import running
from bigdebug.spark.rdd.definition import Source, definitions
from bigdebug.spark.rdd.splits import behind, files, pieces
from bigdebug.trace.origins import SourceFacts, Stamp
from bigdebug.trace.textlines import local_path

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorded import Recorded as Captured
    from bigdebug.spark.rdd.recorder import Recorder


_NOTED = ("_resolved", "_facts", "_leading", "_feeding")
"""What is noted on a captured RDD and holds only for the session that captured it."""


def adopt_source(recorder: Recorder, rdd: Any, name: str, dataset: str | None, detail: dict[str, Any]) -> Any:
    """Make an RDD that PySpark just created a captured source."""
    operator = recorder.operator(name, Kind.SOURCE, Form.SOURCE, [], dataset, detail)
    return recorder.adopt(rdd, operator, [], Source(), lambda parents: rdd)


def outside(recorder: Recorder, rdd: RDD[Any]) -> Any:
    """A captured twin of an RDD that was made without bigdebug, or before it was detached; the RDD itself stays as it is."""
    rdd = getattr(rdd, "_raw", rdd)  # a trace stands for the RDD of its records
    twin: Any = object.__new__(PipelinedRDD if isinstance(rdd, PipelinedRDD) else RDD)
    twin.__dict__.update((name, value) for name, value in rdd.__dict__.items() if name not in _NOTED)
    return adopt_source(recorder, twin, "rdd", rdd.name() or f"rdd {rdd.id()}", {"type": "rdd"})


def measured(subject: Captured, began: int) -> dict[int, SourceFacts]:
    """The facts of every source of ``subject`` as of now; asked of Spark once for each source and set of files.

    A file that has changed since the job ``began``, in nanoseconds of this machine's clock, may have been read before or after.
    """
    found = {}
    for known in definitions(subject):
        if isinstance(known._definition.lowering, Source):
            operator = known._definition.operator
            try:
                fresh = note_facts(known)
            except Exception as trouble:  # the job fails of the same, or does not read this source at all
                reason = f"its files could not be looked at when the job began ({type(trouble).__name__})"
                fresh = SourceFacts(operator.dataset or operator.name, "rdd", broken=reason)
            found[operator.id] = replace(fresh, dataset=known.given_name or fresh.dataset)
    for source, facts in found.items():
        if _changed(facts) >= began:
            found[source] = replace(facts, broken="its files have changed while the job ran, which may have read either")
    outdated = "its files have changed since it was cached, and Spark may have read either"
    return found | {source: replace(found[source], broken=outdated) for source in _outdated(subject, found)}


def note_facts(source: Captured) -> SourceFacts:
    """How records of ``source`` are named, found out once, with the files as they are now."""
    facts = source.__dict__.get("_facts")
    fresh: SourceFacts = facts_of(source) if facts is None else _stamped(source, facts)
    source.__dict__["_facts"] = fresh
    return fresh


def _outdated(subject: Captured, sources: Mapping[int, SourceFacts]) -> set[int]:
    """Sources whose files have changed since Spark may hold, without capture, what was made of them."""
    changed = {source: _changed(facts) for source, facts in sources.items()}
    latest, found = max(changed.values(), default=0), set()
    for known in definitions(subject):
        since = known.__dict__.get("_stored_since", latest)
        # Spark is asked only where it matters: a loop may have a cache in each round.
        if since < latest and (isinstance(known._definition.lowering, Source) or known._stored()):
            behind = {rdd._definition.operator.id for rdd in definitions(known)}
            found |= {source for source in behind.intersection(changed) if changed[source] > since}
    return found


def _changed(facts: SourceFacts) -> int:
    """When a file of a source has changed last."""
    return max((max(stamp.modified, stamp.replaced) for stamp in facts.stamps), default=0)


def facts_of(source: Captured) -> SourceFacts:
    """How records of ``source`` are named; asks the JVM for its splits and the file system for the files."""
    operator = source._definition.operator
    detail = dict(operator.detail)
    kind = detail.get("type", "rdd")
    dataset = operator.dataset or operator.name
    streams, rdd = source._recorder.streams, source._plain_jrdd().rdd()
    if kind in ("text", "file"):
        splits = pieces(streams, rdd)
        if splits:
            hadoop = source.ctx._jsc.hadoopConfiguration()
            plain = bool(detail.get("unicode")) and hadoop.get("textinputformat.record.delimiter") is None
            return _stamped(source, SourceFacts(dataset, kind, splits, plain=plain))
        kind = "rdd"
    if kind == "files":
        return _stamped(source, SourceFacts(dataset, kind, files=files(rdd)))
    if kind == "rdd":
        return _stamped(source, SourceFacts(dataset, kind), behind(streams, rdd))
    return SourceFacts(dataset, kind, **{k: detail[k] for k in ("length", "batch", "slices") if k in detail})


def _stamped(source: Captured, facts: SourceFacts, behind: Iterable[str] = ()) -> SourceFacts:
    """The facts with the files as they are now; ``behind`` are those that Spark reads for other RDDs or DataFrames."""
    paths = {split.path for split in facts.splits}.union(behind, (stamp.path for stamp in facts.stamps), *facts.files)
    return replace(facts, stamps=tuple(_stamp(source, path) for path in sorted(paths)))


def _stamp(source: Captured, uri: str) -> Stamp:
    path = local_path(uri)
    if path is not None:
        return Stamp.of(uri, path)
    sc = running(source.ctx)
    where = getattr(sc._jvm, "org.apache.hadoop.fs.Path")(uri)
    status = where.getFileSystem(sc._jsc.hadoopConfiguration()).getFileStatus(where)
    return Stamp(uri, int(status.getLen()), int(status.getModificationTime()) * 1_000_000)


def check_unchanged(source: Captured, facts: SourceFacts) -> None:
    """Raise SourceChangedError if a file that a run read is no longer what it was."""
    facts.check()
    for stamp in facts.stamps:
        try:
            now = _stamp(source, stamp.path)
        except OSError as problem:
            raise SourceChangedError(
                f"An input of the run can no longer be read: {problem.strerror}", value=stamp.path,
                remedy="Put the file back, or ask for rids only.",
            ) from problem
        if now != stamp:
            how = f"it was {stamp.size} bytes and is {now.size}" if now.size != stamp.size else "it has been written again"
            raise SourceChangedError(
                f"An input of the run has changed since: {how}", value=stamp.path,
                remedy="Run the job again under capture; rids of the old run still hold for the old file.",
            )
