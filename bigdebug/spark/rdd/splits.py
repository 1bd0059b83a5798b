"""Splits: which files, and which pieces of them, Spark reads for the partitions of an RDD."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from bigdebug.spark.ancestry import ancestors
from bigdebug.spark.streams import Streams
from bigdebug.trace.origins import Split

_OF_HADOOP = ("HadoopRDD", "WholeTextFileRDD", "BinaryFileRDD")
"""How the names of Spark's classes end whose partitions are splits of Hadoop's."""

_PIECE = re.compile(r"(.*):(\d+)\+(\d+)", re.DOTALL)
"""How Hadoop writes a split: path, first byte, bytes."""

_FAR = 500
"""After so many RDDs the search for files behind one ends."""


def pieces(streams: Streams, rdd: Any) -> tuple[Split, ...]:
    """The piece of a file that each partition of a Java RDD reads, or none if that is not how it reads."""
    read = _read_by_hadoop(rdd)
    if read is None:
        return ()
    older = read.getClass().getSimpleName() == "HadoopRDD"
    values = ("inputSplit" if older else "serializableHadoopSplit", "value")
    partitions = read.partitions()
    names = streams.texts(streams.mapped(streams.of_array(partitions), *values, "getClass", "getName").distinct())
    if any(not name.endswith("FileSplit") or "Combine" in name for name in names):
        return ()
    texts = streams.texts(streams.of_array(partitions), *values, "toString")
    return tuple(_split(text) for text in texts)


def _split(text: str) -> Split:
    piece = _PIECE.fullmatch(text)
    assert piece is not None, text
    return Split(piece[1], int(piece[2]), int(piece[3]))


def files(rdd: Any) -> tuple[tuple[str, ...], ...]:
    """The files that each partition of a Java RDD reads where each file is one record."""
    read = _read_by_hadoop(rdd)
    if read is None:
        return ()
    values = (partition.serializableHadoopSplit().value() for partition in read.partitions())
    return tuple(tuple(path.toString() for path in value.getPaths()) for value in values)


def behind(streams: Streams, rdd: Any) -> set[str]:
    """The files that anything behind a Java RDD reads, as far as Spark tells: DataFrames and RDDs of files."""
    found: set[str] = set()
    for ancestor in islice(ancestors(rdd), _FAR):
        name = ancestor.getClass().getSimpleName()
        if name == "FileScanRDD":
            arrays = streams.mapped(streams.of_sequence(ancestor.filePartitions()), "files")
            found.update(streams.texts(streams.of_arrays(arrays), "toPath", "toString"))
        elif name.endswith("HadoopRDD"):
            found.update(piece.path for piece in pieces(streams, ancestor))
        elif name.endswith(_OF_HADOOP):
            found.update(*files(ancestor))
    return found


def _read_by_hadoop(rdd: Any) -> Any:
    """The RDD that reads for this one, partition by partition; None if it is not Hadoop that reads."""
    while not rdd.getClass().getSimpleName().endswith(_OF_HADOOP):
        dependencies = rdd.dependencies()
        if dependencies.size() != 1:
            return None
        rdd = dependencies.head().rdd()
    return rdd
