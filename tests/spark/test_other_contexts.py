"""Contexts that are made in other ways than most: each in a process of its own, for there is one at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

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
plain = SparkContext(conf=conf, {arguments})
dbg = bigdebug.attach(SparkSession(plain))

def programs(sc):
    pairs = sc.parallelize(range(50), 3).map(lambda x: (x % 5, x))
    return {{
        "sums": pairs.reduceByKey(add, 2), "dealt": pairs.repartition(4), "zipped": pairs.zip(pairs.map(lambda p: p[1])),
        "crossed": pairs.filter(lambda p: p[1] < 4).cartesian(sc.parallelize(range(3), 2)), "united": pairs.union(pairs),
        "sorted": pairs.sortByKey(numPartitions=2), "joined": pairs.join(sc.parallelize([(1, "a"), (2, "b")], 1), 2),
    }}

answers = {{}}
for name, expected in programs(plain).items():
    rdd = programs(dbg.context)[name]
    with dbg.capture(name) as run:
        got = rdd.collect()
    trace = rdd.getLineage()
    one = trace.at(trace.rids()[:1])
    answers[name] = [
        sorted(map(repr, got)) == sorted(map(repr, expected.collect())), run.status, trace.collect() == got,
        len(trace.where(lambda r: True).goBackAll().collect()) > 0, repr(got[0]) in map(repr, one.replay().collect()),
        repr(got[0]) in map(repr, one.replay().rdd.collect()),
    ]
print(json.dumps(answers))
"""


CONTEXTS = ["serializer=MarshalSerializer()", "batchSize=-1", "batchSize=3"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """The programs, side by side: most of their time each waits for one core."""
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    started = {
        arguments: subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(arguments=arguments)], cwd=tmp_path_factory.mktemp("context"), env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for arguments in CONTEXTS
    }
    yield started
    for process in started.values():
        process.kill()
        process.wait()


@pytest.mark.parametrize("arguments", CONTEXTS)
def test_serializers_and_batches_of_the_user_change_nothing(arguments: str, running: dict[str, subprocess.Popen[str]]) -> None:
    out, err = running[arguments].communicate(timeout=300)
    assert running[arguments].returncode == 0, err
    answers: dict[str, Any] = json.loads(out.splitlines()[-1])
    assert len(answers) == 7
    assert all(answer == [True, "succeeded", True, True, True, True] for answer in answers.values()), answers
