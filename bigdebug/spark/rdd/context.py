"""LineageContext: a SparkContext whose RDDs remember how they were made."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from typing import Any

from pyspark import SparkContext

from bigdebug.shown import shown
from bigdebug.spark.process import worker_python
from bigdebug.spark.rdd.captured import Captured
from bigdebug.spark.rdd.recorder import Recorder
from bigdebug.spark.rdd.sources import adopt_source
from bigdebug.store.directory import LineageStore


class LineageContext(SparkContext):
    """A drop-in for the SparkContext ``sc`` that it is made from (Titian 3): the same context, seen with lineage.

    Both names share one state, so stopping either stops both; what was recorded is this one's alone. With capture off,
    its RDDs run the Python code that PySpark's do.
    """

    __slots__ = ("_bigdebug",)

    def __init__(self, sc: SparkContext, store: LineageStore | None = None) -> None:
        if not isinstance(sc, SparkContext):
            raise TypeError(f"LineageContext() takes the SparkContext that it is to show with lineage, not {shown(sc)}")
        self.__dict__ = sc.__dict__
        self._bigdebug: Recorder = sc._bigdebug if isinstance(sc, LineageContext) else Recorder(sc, store or LineageStore.private())

    @property
    def pythonExec(self) -> str:  # type: ignore[override]
        """What workers run. Not a part of the shared state: it is this one's also after bigdebug was detached."""
        return worker_python(self.master, vars(self)["pythonExec"])

    def setCaptureLineage(self, on: bool) -> None:
        """Capture the actions that follow, or stop doing so."""
        self._bigdebug.captures.always = bool(on)

    def isCaptureLineage(self) -> bool:
        return self._bigdebug.captures.current() is not None

    # ---- sources ----------------------------------------------------------------------------------------------

    def _source(self, name: str, build: Any, dataset: str | None, **detail: Any) -> Any:
        recorder = self._bigdebug
        if recorder.defining:
            return build()
        with recorder.plain():
            return adopt_source(recorder, build(), name, dataset, detail)

    def textFile(self, name: str, minPartitions: int | None = None, use_unicode: bool = True) -> Any:
        return self._source(
            "textFile", lambda: SparkContext.textFile(self, name, minPartitions, use_unicode), _last_part(name),
            type="text", unicode=use_unicode,
        )

    def emptyRDD(self) -> Any:
        return self._source("emptyRDD", lambda: SparkContext.emptyRDD(self), None, type="rdd")

    def parallelize(self, c: Iterable[Any], numSlices: int | None = None) -> Any:
        slices = int(numSlices) if numSlices is not None else self.defaultParallelism
        if isinstance(c, range):
            return self._source(
                "parallelize", lambda: SparkContext.parallelize(self, c, numSlices), "parallelize",
                type="range", length=len(c), slices=slices,
            )
        # PySpark's own test: a lazy iterable becomes a list, once.
        records = c if "__len__" in dir(c) else list(c)
        batch = max(1, min(len(records) // slices, self._batchSize or 1024)) if slices else 1  # type: ignore[arg-type]
        return self._source(
            "parallelize", lambda: SparkContext.parallelize(self, records, numSlices), "parallelize",
            type="collection", length=len(records), batch=batch, slices=slices,  # type: ignore[arg-type]
        )

    def union(self, rdds: list[Any]) -> Any:
        if self._bigdebug.defining or not any(isinstance(rdd, Captured) for rdd in rdds):
            return SparkContext.union(self, rdds)
        first: Any = self._bigdebug.captured(rdds[0])
        return first._union(lambda: SparkContext.union(self, rdds), rdds[1:], lambda p: self.union(list(p)))

    # ---- jobs -------------------------------------------------------------------------------------------------

    def runJob(self, rdd: Any, partitionFunc: Any, partitions: Any = None, allowLocal: bool = False) -> Any:
        if not isinstance(rdd, Captured):
            return SparkContext.runJob(self, rdd, partitionFunc, partitions, allowLocal)
        plain: Any = SparkContext.runJob
        partitions = partitions if partitions is None else list(partitions)
        again = functools.partial(self.runJob, rdd, partitionFunc, partitions, allowLocal)
        with self._bigdebug.acting("runJob", rdd, again), self._bigdebug.asking_for(partitions):
            return plain(self, rdd, partitionFunc, partitions, allowLocal)


def _reader(name: str, kind: str = "file") -> Any:
    """A method that reads files with PySpark's of the same name. Of ``kind`` files, each file is one record."""
    plain = getattr(SparkContext, name)
    parameters = tuple(inspect.signature(plain).parameters)

    @functools.wraps(plain)
    def read(self: LineageContext, *args: Any, **kwargs: Any) -> Any:
        path = args[0] if args else kwargs.get(parameters[1])
        dataset = _last_part(path) if parameters[1] in ("path", "name") and isinstance(path, str) else None
        return self._source(name, lambda: plain(self, *args, **kwargs), dataset, type=kind)

    return read


for _name in (
    "binaryRecords", "pickleFile", "sequenceFile", "newAPIHadoopFile", "newAPIHadoopRDD", "hadoopFile", "hadoopRDD",
):
    setattr(LineageContext, _name, _reader(_name))
for _name in ("wholeTextFiles", "binaryFiles"):
    setattr(LineageContext, _name, _reader(_name, "files"))


def _last_part(path: str) -> str:
    return path.split(",", maxsplit=1)[0].rstrip("/").rsplit("/", 1)[-1] or path
