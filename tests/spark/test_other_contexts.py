"""Contexts that are made in other ways than most, that move, and that are stopped: one after the other in a process of their own, for there is one at a time."""

from __future__ import annotations

import json

import pytest

from tests.spark.one_by_one import Told, told_by

pytestmark = pytest.mark.slow

CONTEXTS = {
    "serializer=MarshalSerializer()": [0, "MarshalSerializer"], "batchSize=-1": [-1, "CloudPickleSerializer"], "batchSize=3": [3, "CloudPickleSerializer"],
}
"""The arguments, and what the context made of them."""

OTHER = f"ARGUMENTS = {[*CONTEXTS]}" + """
import json, os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from operator import add
from pyspark import SparkConf, SparkContext
from pyspark.serializers import MarshalSerializer
from pyspark.sql import SparkSession
import bigdebug

conf = SparkConf().setMaster("local[2]").setAppName("other").set("spark.ui.enabled", "false").set("spark.log.level", "OFF")
conf.set("spark.python.unix.domain.socket.enabled", "true")  # halves the time of a small job
conf.set("spark.python.daemon.module", "tests.daemon")

def programs(sc):
    pairs = sc.parallelize(range(50), 3).map(lambda x: (x % 5, x))
    return {
        "sums": pairs.reduceByKey(add, 2), "dealt": pairs.repartition(4), "zipped": pairs.zip(pairs.map(lambda p: p[1])),
        "crossed": pairs.filter(lambda p: p[1] < 4).cartesian(sc.parallelize(range(3), 2)), "united": pairs.union(pairs),
        "sorted": pairs.sortByKey(numPartitions=2), "joined": pairs.join(sc.parallelize([(1, "a"), (2, "b")], 1), 2),
    }

def answers(plain, dbg):
    told = {}
    for name, expected in programs(plain).items():
        rdd = programs(dbg.context)[name]
        with dbg.capture(name) as run:
            got = rdd.collect()
        trace = rdd.getLineage()
        one = trace.at(trace.rids()[:1])
        told[name] = [
            sorted(map(repr, got)) == sorted(map(repr, expected.collect())), run.status, trace.collect() == got,
            len(trace.where(lambda r: True).goBackAll().collect()) > 0, repr(got[0]) in map(repr, one.replay().collect()),
            repr(got[0]) in map(repr, one.replay().rdd.collect()),
        ]
    return told

found = {}
for arguments in ARGUMENTS:
    plain = eval(f"SparkContext(conf=conf, {arguments})")
    dbg = bigdebug.attach(SparkSession(plain))
    found[arguments] = [plain._batchSize, type(plain._unbatched_serializer).__name__], answers(plain, dbg)
    dbg.detach()
    dbg.spark.stop()
print(json.dumps(found))
"""

STOPPED = """
from pyspark.sql import SparkSession
import bigdebug

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
dbg = bigdebug.attach(spark)
lines = dbg.context.textFile(__file__, 1).filter(lambda line: "bigdebug" in line)
with dbg.capture():
    lines.count()
spark.stop()
trace = dbg.lineage(lines).goBackAll()
print([record.origin.line for record in trace.source_records()], trace.first())
for question in (lines.getLineage().collect, lambda: lines.getLineage().filter(len).count(), trace.replay().collect):
    try:
        print(question())
    except bigdebug.BigdebugError as error:
        print(type(error).__name__, error.what)
"""

STOPPED_SESSION = """
from pyspark.sql import SparkSession
import bigdebug

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.stop()
bigdebug.attach(spark)
"""

STOPPED_QUERIES = """
import bigdebug
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
dbg = bigdebug.attach(spark)
frame = spark.range(3)
trace = frame.getLineage().goBackAll()
for action in (frame.selectExpr("1 div (id - 2)").collect, frame.rdd.map(lambda row: 1 // (row.id - 2)).collect):
    try:
        action()
    except Exception:
        pass
runs = dbg.runs[-2:]
assert [[culprit.record.id for culprit in run.culprits] for run in runs] == [[2], [2]]
spark.stop()
asked = [ask for run in runs for ask in (lambda run=run: run.culprits[0].sources, lambda run=run: run.resume(skip=True))]
for ask in (trace.count, lambda: dbg.lineage(frame), frame.getLineage, asked[0], asked[1], asked[3]):
    try:
        ask()
    except bigdebug.errors.IncompleteLineageError as problem:
        print(problem)
"""

MOVING = """
import os
from operator import add
from pyspark.sql import SparkSession
import bigdebug

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
here = os.getcwd()
dbg = bigdebug.attach(spark, store="lineage")
pairs = dbg.context.parallelize(range(4), 2).map(lambda n: (n % 2, n)).reduceByKey(add, 2)
with dbg.capture("moving"):
    pairs.collect()
dbg.save("saved")
saved = bigdebug.open("saved")
os.mkdir("elsewhere")
os.chdir("elsewhere")
with dbg.capture("moved"):
    pairs.map(len).count()
print(pairs.getLineage().goBackAll().count(), saved.lineage("moving").goBackAll().count(), dbg.runs[-1].status)
print(bigdebug.attach(spark, store=os.path.join("..", "lineage")) is dbg, dbg.save("again") == saved.path.parent / "elsewhere" / "again")
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    programs = {"other": OTHER, "stopped": STOPPED, "stopped_session": STOPPED_SESSION, "stopped_queries": STOPPED_QUERIES, "moving": MOVING}
    return told_by(programs, tmp_path_factory.mktemp("contexts"))


@pytest.mark.many
@pytest.mark.parametrize("arguments", CONTEXTS)
def test_serializers_and_batches_of_the_user_change_nothing(arguments: str, told: Told) -> None:
    said, raised = told["other"]
    assert raised == ""
    made, answers = json.loads(said[-1])[arguments]
    assert made == CONTEXTS[arguments]
    assert len(answers) == 7
    assert all(answer == [True, "succeeded", True, True, True, True] for answer in answers.values()), answers


def test_after_spark_was_stopped_what_needs_no_job_is_answered_and_the_rest_refused(told: Told) -> None:
    (first, *others), raised = told["stopped"]
    assert raised == ""
    assert first == "[3, 6, 7, 16] import bigdebug"
    refused = "IncompleteLineageError This question needs a Spark job, and the SparkContext has been stopped"
    assert others == [refused] * 3


def test_a_stopped_session_cannot_be_attached(told: Told) -> None:
    _, raised = told["stopped_session"]
    assert "ValueError: this SparkSession has been stopped; spark = SparkSession.builder" in raised.splitlines()[-1]


def test_the_session_of_a_query_that_has_been_stopped_is_named(told: Told) -> None:
    said, raised = told["stopped_queries"]
    assert said == ["The session of this query has been stopped. Run the query again, in a new session."] * 6, raised


def test_relative_paths_still_hold_after_the_process_has_changed_its_directory(told: Told) -> None:
    said, raised = told["moving"]
    assert raised == ""
    assert " ".join(said).split() == ["4", "4", "succeeded", "True", "True"]
