"""RDDs: what jobs of no query read, by the names that Spark gives RDDs of files, and what programs save RDDs to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext
from pyspark.errors import PySparkException

from bigdebug.datasets.model import Access, Dataset
from bigdebug.datasets.naming import of_path
from bigdebug.spark.datasets.doing import Doings, wrapped
from bigdebug.spark.datasets.hearing import QUERY
from bigdebug.spark.datasets.names import folded
from bigdebug.spark.datasets.places import matching, qualified
from bigdebug.spark.datasets.reading import Reading
from bigdebug.spark.datasets.relations import paths_of_rdd
from bigdebug.spark.gateway import classes
from bigdebug.spark.jobs import is_ours
from bigdebug.spark.rdd.actions import Actions

_SAVED = {"saveAsTextFile": "text", "saveAsPickleFile": "pickle", "saveAsSequenceFile": "sequence", "saveAsHadoopFile": "hadoop", "saveAsNewAPIHadoopFile": "hadoop"}
"""Methods that save an RDD to a path, their first argument, and in which format."""

_CONFIGURED = ("saveAsHadoopDataset", "saveAsNewAPIHadoopDataset")
"""Those to which a Hadoop configuration says where."""

_FOLDERS = ("mapreduce.output.fileoutputformat.outputdir", "mapred.output.dir")

_CLASS = re.compile(r"\w*RDD\d*")
"""What Spark calls an RDD that has no name."""

_INFERRED = re.compile(r"(?:XMLFile|JsonFile|CSVFile): (.+)", re.DOTALL)
"""What Spark calls an RDD of whole files in which it looks for a schema: it belongs to no operator, while one that a user calls so does."""

_ELSEWHERE = frozenset({"ParallelCollectionRDD", "EmptyRDD", "FileScanRDD", "DataSourceRDD", "JDBCRDD"})
"""Those that read nothing, and the sources of queries, of which Spark tells by the query."""

_READING = ("textFile", "wholeTextFiles", "binaryFiles", "binaryRecords", "sequenceFile", "hadoopFile", "newAPIHadoopFile", "objectFile", "hadoopRDD", "newAPIHadoopRDD")
"""What Spark calls the operators that read files."""

_LOOKS = "at SerDeUtil.scala"
"""Where PySpark looks at the first record of a file, to see what its keys and values are."""

_COUNTED = 0.5
"""Seconds in which Spark is to have counted what a job did: its store of that hears of the end by itself, sometimes later than we do."""

_CHECKED = "spark.hadoop.validateOutputSpecs"
"""Whether what is saved may not be there before."""


class Job(NamedTuple):
    """A job of no query: the paths that it reads, and the classes of RDDs of which nothing is known; its tags, what called for it, its stages and RDDs."""

    number: int
    at: datetime
    tags: frozenset[str]
    call: str
    paths: tuple[str, ...]
    unknown: tuple[str, ...]
    stages: tuple[int, ...]
    rdds: frozenset[int]
    counts: bool
    """Whether what it read was records of these paths: what is kept by Spark is counted when it is read again, and pickles by how many are together."""


class Ended(NamedTuple):
    """A job that has ended: what it read, the error if it failed, and rows and bytes that it wrote, if it did."""

    job: Job
    reading: Reading
    error: str
    rows: int | None
    size: int | None


def job_of(text: str) -> Job:
    """A job, by the event of its start as Spark writes it in JSON."""
    event = json.loads(text)
    properties = event.get("Properties") or {}
    rdds = {int(rdd["RDD ID"]): rdd for stage in event["Stage Infos"] for rdd in stage["RDD Info"]}
    last: Mapping[str, Any] = max(event["Stage Infos"], key=lambda stage: int(stage["Stage ID"]), default={})
    paths, unknown = _read_by(list(rdds.values()))
    return Job(
        int(event["Job ID"]), datetime.fromtimestamp(event["Submission Time"] / 1000, timezone.utc),
        frozenset(str(properties.get("spark.job.tags", "")).split(",")), str(properties.get("callSite.short") or last.get("Stage Name", "")),
        tuple(dict.fromkeys(paths)), tuple(dict.fromkeys(unknown)), tuple(event["Stage IDs"]), frozenset(rdds),
        not any(_is_kept(rdd) or _scope(rdd)[1] == "objectFile" or _inferred(rdd) for rdd in rdds.values()),
    )


def _read_by(rdds: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """The paths that RDDs read which are made of no others, and the classes of those that read something else. One operator may have made several RDDs, of
    which not the first is called by the path; that one the user may have called otherwise since.
    """
    named = {_scope(rdd): str(rdd["Name"]) for rdd in reversed(rdds) if _scope(rdd)[1] in _READING and "/" in str(rdd["Name"])}
    paths: list[str] = []
    unknown: list[str] = []
    for rdd in rdds:
        if rdd["Parent IDs"]:
            continue
        name, scope = str(rdd["Name"]), _scope(rdd)
        inferred = _inferred(rdd)
        called = inferred or (named.get(scope, "") if _CLASS.fullmatch(name) else name)
        found = paths_of_rdd("HadoopRDD", called) if inferred or scope[1] in _READING else None
        if found is not None:
            paths += found
        elif name not in _ELSEWHERE:
            unknown.append(name if _CLASS.fullmatch(name) else "RDD")
    return paths, unknown


def _inferred(rdd: Mapping[str, Any]) -> str:
    """The paths of files in which a schema is looked for; empty if it is another RDD."""
    found = None if rdd.get("Scope") else _INFERRED.fullmatch(str(rdd["Name"]))
    return found[1] if found is not None else ""


def _is_kept(rdd: Mapping[str, Any]) -> bool:
    level = rdd.get("Storage Level") or {}
    return bool(level.get("Use Memory") or level.get("Use Disk"))


def _scope(rdd: Mapping[str, Any]) -> tuple[str, str]:
    scope = json.loads(rdd.get("Scope") or "{}")
    return str(scope.get("id", "")), str(scope.get("name", ""))


@dataclass
class Jobs:
    """The jobs that run of one application, for what is being done there. ``come`` waits so many seconds for all that Spark has to tell."""

    sc: Any
    doings: Doings
    come: Callable[[float], bool]

    def __post_init__(self) -> None:
        self._running: dict[int, Job] = {}
        self._writer = getattr(getattr(classes(self.sc._jvm).org.apache.spark.util, "JsonProtocol$"), "MODULE$")

    def start(self, event: Any) -> Job | None:
        """A job has begun that is of no query; None if it is ours, or only looks of which kind records are."""
        job = job_of(str(self._writer.sparkEventToJsonString(event)))
        if _LOOKS in job.call or any(map(is_ours, job.tags)):
            return None
        self._running[job.number] = job
        return job

    def end(self, event: Any) -> Ended | None:
        """What a job did that has ended; None if it was of a query, or ours."""
        job = self._running.pop(int(event.jobId()), None)
        if job is None:
            return None
        self.come(_COUNTED)
        stages = [stage for stage in map(self._stage, job.stages) if stage is not None]
        made = self._made(job)
        datasets = list(folded([place for path in job.paths for place in matching(self.sc, path, job.at, made)], ""))
        result = event.jobResult()
        error = "" if str(result.getClass().getSimpleName()).startswith("JobSucceeded") else str(result.exception().getMessage())
        # A shuffle that is there is not read from files again: its stage is skipped, but called so only once the store has heard of the end.
        ran = len(stages) == len(job.stages) and all(str(stage.status()) == "COMPLETE" for stage in stages)
        counted = len(datasets) == 1 and ran and job.counts and not error
        rows, size = (sum(int(stage.inputRecords()) for stage in stages), sum(int(stage.inputBytes()) for stage in stages)) if counted else (None, None)
        reads = tuple(Access(dataset, rows=rows, size=size) for dataset in datasets)
        uncounted = frozenset(datasets) if job.counts and not counted else frozenset()
        written = sum(int(stage.outputRecords()) for stage in stages), sum(int(stage.outputBytes()) for stage in stages)
        return Ended(job, Reading(reads=reads, opaque=job.unknown, text=job.call, uncounted=uncounted), error, *(written if any(written) else (None, None)))

    def _made(self, job: Job) -> frozenset[Dataset]:
        """What a job saves, if it was not there when it began."""
        doing = self.doings.of(job.tags)
        if doing is None or doing.process.sort != "rdd" or str(self.sc.getConf().get(_CHECKED, "true")).lower() != "true":
            return frozenset()
        return frozenset(doing.writes)

    def _stage(self, number: int) -> Any | None:
        """What Spark counted of a stage; None if it was not needed, or Spark has forgotten it."""
        try:
            return self.sc._jsc.sc().statusStore().lastStageAttempt(number)
        except (Py4JError, PySparkException):
            return None


def watch_saves(sc: SparkContext, name: str, doings: Doings) -> list[Callable[[], None]]:
    """Let the methods of RDDs that save be told of; what is given back undoes it."""

    def saving(form: str) -> Callable[..., Any]:
        def around(method: Any, rdd: Any, *args: Any, **kwargs: Any) -> Any:
            where = args[0] if args else kwargs.get("path", kwargs.get("conf", ""))
            place = next((where[key] for key in _FOLDERS if key in where), "") if isinstance(where, dict) else where
            dataset = of_path(qualified(sc, str(place), is_pattern=False), form)
            with doings.doing("rdd", f"{name}.{method.__name__}.{dataset}", text=method.__name__) as doing:
                if doing is not None and place:
                    doing.of(writes=[Access(dataset, "created")])
                    query = sc.getLocalProperty(QUERY)
                    doing.within = int(query) if query else None
                return method(rdd, *args, **kwargs)

        return around

    forms = {**_SAVED, **dict.fromkeys(_CONFIGURED, "hadoop")}
    return [wrapped(kind, method, saving(form)) for kind in (RDD, Actions) for method, form in forms.items()]  # captured RDDs have methods of their own
