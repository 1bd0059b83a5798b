"""The JVMs that tests start, of programs and notebooks too. Most of them live for seconds, so they are made to start quickly.

``python -m tests.jvm`` makes what they share, once for an environment: Spark's classes as the JVM has them in memory (class data sharing).
Loading and checking them took half of the time of a short session.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SHARED = Path(sys.prefix) / "share" / "bigdebug-tests.jsa"

# Half of the time of a JVM that lives for minutes goes into compiling well what then runs a few times: compile it quickly. What thousands
# of queries compile fills the 48 MB that are kept for such code, and was swept out and compiled again all the time. Each sort and each
# group of a task takes a page, which of such a heap is 64 MB, for three rows as for many: old ones were collected every second.
_QUICK = (
    "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m", "-XX:+UseParallelGC", "-XX:MetaspaceSize=512m", "-Dspark.buffer.pageSize=1m",
)

_SESSION = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.createDataFrame([(i, str(i)) for i in range(9)], "a long, b string").createOrReplaceTempView("t")
spark.sql("select a % 3 k, count(*) c, max(b) from t group by a % 3 order by k").collect()
spark.sparkContext.parallelize(range(9)).map(lambda x: (x % 3, x)).reduceByKey(lambda a, b: a + b).collect()
spark.stop()
jvm = spark.sparkContext._gateway.proc
jvm.stdin.close()
jvm.wait()
"""
"""What nearly every session does; its classes are those that are shared, and the JVM writes them when it ends."""


def options() -> str:
    """What SPARK_SUBMIT_OPTS is to be. Spark hands it to each JVM that it starts."""
    # A JVM of another kind than the one that wrote the file starts without it, and would say so where output is compared.
    shared = (f"-XX:SharedArchiveFile={SHARED}", "-Xlog:disable") if SHARED.exists() else ()
    return " ".join((*_QUICK, *shared))


def share() -> None:
    """Make the file; it takes half a minute and 160 MB."""
    SHARED.parent.mkdir(parents=True, exist_ok=True)
    begun = SHARED.with_suffix(f".{os.getpid()}")
    told = {"SPARK_SUBMIT_OPTS": " ".join((*_QUICK, f"-XX:ArchiveClassesAtExit={begun}", "-Xlog:disable")), "PYSPARK_PYTHON": sys.executable}
    subprocess.run([sys.executable, "-c", _SESSION], env={**os.environ, **told}, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begun.replace(SHARED)


if __name__ == "__main__":
    if not SHARED.exists():
        share()
    sys.stdout.write(options())
