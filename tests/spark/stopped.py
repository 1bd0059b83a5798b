"""A program in which Spark is stopped while something runs: by another thread, as by a cell that somebody runs meanwhile. Tells as JSON what each gave; see test_stopped.py."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import bigdebug


def slowly(line: str) -> int:
    time.sleep(0.05)
    return int(line)


def counts(sc: Any, path: str) -> Any:
    return sc.textFile(path, 2).map(slowly).map(lambda n: (n % 3, 1)).reduceByKey(lambda a, b: a + b, 2)


def frame(spark: Any, path: str) -> Any:
    return spark.read.text(path).select(F.udf(slowly, "int")("value").alias("n")).groupBy("n").count()


def crashed(dbg: Any, action: Callable[[], Any]) -> Any:
    with dbg.capture() as run, suppress(Exception):
        action()
    return run.latest


def captured(dbg: Any, action: Callable[[], Any], strategy: str = "auto") -> Any:
    with dbg.capture(strategy=strategy):
        return action()


def plain(dbg: Any, good: str, bad: str) -> Callable[[], Any]:
    dbg.detach()
    made = counts(dbg.plain_context, good)
    collect: Callable[[], Any] = made.collect
    return collect


def rdd_captured(dbg: Any, good: str, bad: str) -> Callable[[], Any]:
    made = counts(dbg.context, good)
    return lambda: captured(dbg, made.collect)


def rdd_traced(dbg: Any, good: str, bad: str) -> Callable[[], Any]:
    made = counts(dbg.context, good)
    captured(dbg, made.collect, "lazy")
    return lambda: made.getLineage().goBackAll().rids().tolist()


def rdd_diagnosed(dbg: Any, good: str, bad: str) -> Callable[[], Any]:
    run = crashed(dbg, counts(dbg.context, bad).collect)
    return lambda: [culprit.record for culprit in run.culprits] + run.culprits.unknown


def frame_captured(dbg: Any, good: str, bad: str) -> Callable[[], Any]:
    made = frame(dbg.spark, good)
    return lambda: captured(dbg, made.collect)


def frame_traced(dbg: Any, good: str, bad: str) -> Callable[[], Any]:
    made = frame(dbg.spark, good)
    captured(dbg, made.collect)
    return lambda: dbg.lineage(made).where("n = 3").goBackAll().collect()


def frame_diagnosed(dbg: Any, good: str, bad: str) -> Callable[[], Any]:
    run = crashed(dbg, frame(dbg.spark, bad).collect)
    return lambda: [culprit.record for culprit in run.culprits] + run.culprits.unknown


def new_session() -> Any:
    made = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def said(what: Callable[[], Any]) -> list[str]:
    """The name of what was raised, of the class that it is one of, and its text; or what was given."""
    try:
        return ["gave", "", repr(what())]
    except BaseException as problem:
        return [type(problem).__name__, "ours" if isinstance(problem, bigdebug.BigdebugError) else "", str(problem)]


def told(what: Callable[[], Any], spark: Any) -> list[str]:
    """What ``said`` tells. Spark is stopped when its first job runs."""
    found: list[list[str]] = []
    asking = threading.Thread(target=lambda: found.append(said(what)), daemon=True)
    asking.start()
    while not spark.sparkContext.statusTracker().getActiveJobsIds() and asking.is_alive():
        time.sleep(0.01)
    time.sleep(0.3)
    spark.stop()
    asking.join(60)
    return found[0] if found else ["waits for ever", "", ""]


def main() -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["BIGDEBUG_HOME"] = tempfile.mkdtemp()
    folder = Path(tempfile.mkdtemp())
    good, bad = folder / "good.txt", folder / "bad.txt"
    good.write_text("".join(f"{n % 7}\n" for n in range(60)))
    bad.write_text("x\n" + 6 * good.read_text())  # so long that the action's own message does not wait for the end of the diagnosis
    answers = {}
    for prepare in (plain, rdd_captured, rdd_traced, rdd_diagnosed, frame_captured, frame_traced, frame_diagnosed):
        spark = new_session()
        dbg = bigdebug.attach(spark)
        answers[prepare.__name__] = told(prepare(dbg, str(good), str(bad)), spark)
        dbg.forget()
        dbg.detach()
    answers["watched"] = [*said(lambda: dbg.watch(timeout=3)), *(thread.name for thread in threading.enumerate() if thread.name == "bigdebug listening")]
    dbg = bigdebug.attach(new_session())
    made = counts(dbg.context, str(good))
    captured(dbg, made.collect)
    answers["afterwards"] = ["gave", "", repr(made.getLineage().goBackAll().count())]
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main()
