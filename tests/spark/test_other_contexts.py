"""Contexts that are made in other ways than most: one after the other in a process of their own, for there is one at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import ROOT

PROGRAM = """
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
for arguments in sys.argv[1:]:
    plain = eval(f"SparkContext(conf=conf, {arguments})")
    dbg = bigdebug.attach(SparkSession(plain))
    found[arguments] = [plain._batchSize, type(plain._unbatched_serializer).__name__], answers(plain, dbg)
    dbg.detach()
    dbg.spark.stop()
print(json.dumps(found))
"""


CONTEXTS = {
    "serializer=MarshalSerializer()": [0, "MarshalSerializer"], "batchSize=-1": [-1, "CloudPickleSerializer"], "batchSize=3": [3, "CloudPickleSerializer"],
}
"""The arguments, and what the context made of them."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program says of each context. They share a JVM, for half of the time goes into starting one and into its first jobs."""
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *CONTEXTS], cwd=tmp_path_factory.mktemp("context"), env=environment,
        capture_output=True, text=True, check=False, timeout=300,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


@pytest.mark.parametrize("arguments", CONTEXTS)
def test_serializers_and_batches_of_the_user_change_nothing(arguments: str, told: dict[str, Any]) -> None:
    made, answers = told[arguments]
    assert made == CONTEXTS[arguments]
    assert len(answers) == 7
    assert all(answer == [True, "succeeded", True, True, True, True] for answer in answers.values()), answers
