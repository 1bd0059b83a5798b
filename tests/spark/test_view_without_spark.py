"""Views whose Spark session was stopped, or whose Spark has died: they say what is wrong and what to do, and what is run anew can be looked at."""

from __future__ import annotations

import json

import pytest

from tests.spark.one_by_one import Told, told_by

pytestmark = pytest.mark.slow

BEGIN = """
import json, os, sys, time
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark import SparkContext
from pyspark.sql import SparkSession
import bigdebug
from bigdebug.views.payload import VERSION

def start():
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
    spark = builder.config("spark.sql.shuffle.partitions", "2").config("spark.python.daemon.module", "tests.daemon").getOrCreate()
    return spark, bigdebug.attach(spark)

def views(spark, dbg):
    words = dbg.context.parallelize(["a", "b", "x"], 2).map(lambda word: (word, 1)).reduceByKey(lambda n, m: n + m)
    query = spark.createDataFrame([("a", 1), ("b", 2)], "k string, n int").groupBy("k").sum("n")
    numbers = dbg.context.parallelize(["1", "x"], 2).map(int)
    unread = spark.createDataFrame([("x",)], "k string").selectExpr("cast(k as int) c")
    with dbg.capture():
        words.collect(), query.collect()
        for crashing in (numbers.sum, unread.collect):
            try:
                crashing()
            except Exception:
                pass
    runs = dbg.runs
    assert [len(run.culprits) for run in runs] == [0, 0, 1, 1]
    made = dict(zip(("words", "query", "crash", "unread"), map(bigdebug.view, runs)))
    for name in ("words", "query"):
        ask(made[name], "trace")  # as a browser does that shows it
    made["watch"] = bigdebug.view(dbg.watch(words, lambda pair: pair[0] == "a"))
    return made

def ask(view, request, **content):
    said = view.answer({"version": VERSION, "id": 1, "request": request, "content": content})
    return said["answer"], said["content"]

def click(made):
    told = {}
    for name in ("words", "query"):
        at = {"at": 0, "operator": made[name].run.subject}
        told[name] = [ask(made[name], "trace"), ask(made[name], "page", start=0, **at)]
    for name in ("crash", "unread"):
        view = made[name]
        told[name] = [ask(view, "culprit", number=0), ask(view, "sources", number=0)]
        ask(view, "skip", of="all", at=0, on=True)
        ask(view, "resume")
        view.wait(60)
        told[name].append(ask(view, "culprits"))
    told["watch"] = [ask(made["watch"], "watch")]
    return told
"""

STOPPED = BEGIN + """
made = views(*start())
SparkContext._active_spark_context.stop()
time.sleep(1)
stopped = click(made)
anew = click(views(*start()))
print(json.dumps([stopped, anew]))
"""

DEAD = BEGIN + """
spark, dbg = start()
made = views(spark, dbg)
process = SparkContext._gateway.proc
process.kill()
process.wait()
time.sleep(1)
told = click(made)
for what in (lambda: bigdebug.view(dbg.runs[0]), lambda: bigdebug.attach(spark), lambda: dbg.lineage(dbg.runs[0]).collect()):
    try:
        what()
    except (bigdebug.BigdebugError, ValueError) as problem:
        told[type(problem).__name__] = str(problem)
told["running"] = dbg.running
dbg.detach()
SparkContext._active_spark_context = None
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return told_by({"stopped": STOPPED, "dead": DEAD}, tmp_path_factory.mktemp("without"))


def test_views_of_a_stopped_session_refuse_by_name_and_those_of_a_new_one_answer(told: Told) -> None:
    said, raised = told["stopped"]
    assert raised == ""
    stopped, anew = json.loads(said[-1])
    for name in ("words", "query"):
        (trace, standing), (page, why) = stopped[name]
        assert (trace, page) == ("trace", "refused")
        assert standing["operators"]
        assert "has been stopped" in why["what"]
        assert "run" in why["remedy"].lower()
        assert anew[name][1][1]["rows"]
    for name in ("crash", "unread"):
        (culprit, _), (sources, why), (state, standing) = stopped[name]
        assert (culprit, sources, state) == ("culprit", "refused", "culprits")
        assert "has been stopped" in why["what"]
        assert "has been stopped" in standing["problem"]["what"][0]
        assert (standing["doing"], standing["resumed"]) == (None, None)
        assert anew[name][2][1]["resumed"]
    [(watch, line)] = stopped["watch"]
    assert (watch, line["on"]) == ("watch", False)
    assert anew["watch"][0][1]["on"]


def test_views_whose_spark_has_died_say_so_and_that_it_takes_a_new_process(told: Told) -> None:
    said, raised = told["dead"]
    assert raised == ""
    dead = json.loads(said[-1])
    for name in ("words", "query"):
        assert [answer for answer, _ in dead[name]] == ["trace", "refused"]
    for name in ("crash", "unread"):
        assert [answer for answer, _ in dead[name]] == ["culprit", "refused", "culprits"]
    refused = [dead[name][1][1] for name in ("words", "query", "crash", "unread")] + [dead[name][2][1]["problem"] for name in ("crash", "unread")]
    for why in refused:
        assert "Spark's process has ended" in str(why["what"])
        assert "restart the kernel" in why["remedy"]
    assert not dead["watch"][0][1]["on"]
    assert "Spark's process has ended" in dead["ValueError"]
    assert "no Spark session that runs" in dead["NotCapturedError"]
    assert dead["running"] is False
