"""Workers run the Python of the notebook, also where PYSPARK_PYTHON is not set and python3 on the PATH is another; what they import, and what they pass over.

After ``detach`` PySpark's choice holds again for what is PySpark's, and lineage is still answered.
"""

from __future__ import annotations

import os
import sys

import pytest

from tests.spark.one_by_one import Told, told_by

PROGRAM = """
import sys
from pyspark.sql import SparkSession
import bigdebug

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
dbg = bigdebug.attach(spark)
for sc in (dbg.context, spark.sparkContext, dbg.plain_context):
    print(sc.parallelize([0], 1).map(lambda _: sys.executable).first())
with dbg.capture():
    rdd = dbg.context.parallelize([0], 1).map(lambda _: sys.executable)
    print(rdd.first())
dbg.detach()
print(spark.sparkContext.pythonExec, *rdd.getLineage().collect(), rdd.getLineage().where(bool).count(), rdd.first())
"""


AGENTS_ALONE = """
import sys
from operator import add
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
import bigdebug
from bigdebug import checks

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
dbg = bigdebug.attach(spark)

def imported():
    def names(_):
        return [name for name in sys.modules if name.split(".")[0] in ("bigdebug", "tqdm", "ipywidgets", "plotly")]
    print(*dbg.plain_context.parallelize([0], 1).flatMap(names).collect())

def crashing(make):
    with dbg.capture() as run:
        try:
            made = make()
            made.collect()
        except Exception:
            pass
    assert len(run.culprits) == 1 and run.culprits[0].sources
    imported()
    run.resume(skip=True)
    imported()

rdd = dbg.context.parallelize([1, 0, 2], 1).map(lambda x: 1 // x).map(lambda x: (x, x)).reduceByKey(max)
crashing(lambda: rdd)
with dbg.capture():
    fine = dbg.context.parallelize([1, 2], 1).map(lambda x: (x, x)).groupByKey()
    fine.collect()
assert len(fine.getLineage().goBackAll().source_records()) == 2
imported()

with dbg.capture():
    sums = dbg.context.parallelize([(x % 3, x - 1000 * (x == 7)) for x in range(30)], 2).reduceByKey(add)
    sums.collect()
assert len(sums.getLineage().where(lambda pair: pair[1] < 0).goBackAll().replay(exclude=True).collect()) == 2
for wrong in ({"test": lambda pair: pair[1] < 0}, {"test": checks.sigma(1, field=1)}, {"whole": lambda outs: any(out[1] < 0 for out in outs)}, {"expected": {0: 135, 1: 138, 2: 155}}):
    assert dbg.localize(sums, **wrong).fault_sets
    imported()

with dbg.capture():
    both = dbg.context.parallelize(range(9), 2).map(lambda x: x + 1).union(dbg.context.parallelize(range(9), 2).map(lambda x: -x))
    twice, above = both.map(lambda x: 2 * x), sums.filter(lambda pair: pair[1] > 0)
    twice.collect(), above.collect()
assert twice.getLineage().where(lambda x: x > 15).back_to(both).replay().rdd.collect() == [16, 18]
assert dbg.localize(above, expected={0: 135, 1: 138, 2: 155}).fault_sets
imported()
crashing(lambda: spark.range(3).select(udf(lambda x: 1 // x, "long")("id")))
"""

COLLECTING = """
import gc
from operator import add
from pyspark.sql import SparkSession
import bigdebug

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
dbg = bigdebug.attach(spark)
with dbg.capture():
    sums = dbg.context.parallelize(range(100), 2).map(lambda x: (x, x)).reduceByKey(add, 3)
    sums.collect()

def told(_):
    import gc
    if not hasattr(gc, "told"):
        def noted(phase, info):
            if phase == "start" and info["generation"] == 2:
                gc.told.append(gc.get_freeze_count() > 0)
        gc.callbacks.append(noted)
    found, gc.told = getattr(gc, "told", []), []
    return *found, gc.get_freeze_count()

def passed_over():
    return dbg.plain_context.parallelize([0], 1).map(told).collect()[0]

passed_over()
print(*passed_over())
print(sums.getLineage().where(lambda pair: pair[1] > 97).count())
print(*passed_over())
print(*passed_over())
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = tmp_path_factory.mktemp("workers")
    other = folder / "python3"
    other.write_text("#!/bin/sh\necho another Python >&2\nexit 9\n")
    other.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if k != "PYSPARK_PYTHON"} | {"PATH": os.pathsep.join([str(folder), os.environ["PATH"]])}
    return told_by({"whatever": PROGRAM, "agents": AGENTS_ALONE, "collecting": COLLECTING}, folder, environment)


@pytest.mark.slow
def test_whatever_the_path_says(told: Told) -> None:
    said, raised = told["whatever"]
    assert raised == ""
    assert " ".join(said).split() == [sys.executable] * 4 + ["python3", sys.executable, "1", sys.executable]


@pytest.mark.slow
def test_they_import_nothing_of_ours_but_agents_and_what_these_stand_on(told: Told) -> None:
    said, raised = told["agents"]
    assert raised == ""
    imported = set(" ".join(said).split())
    assert "bigdebug.agents.guards.diagnose" in imported
    assert not [name for name in imported if name.split(".")[1:2] not in ([], ["agents"], ["store"], ["errors"], ["outside"], ["shown"], ["model"])]
    assert {name.split(".")[0] for name in imported} == {"bigdebug"}


@pytest.mark.slow
def test_what_stands_there_is_passed_over_behind_the_tasks_of_questions_alone(told: Told) -> None:
    said, raised = told["collecting"]
    assert raised == ""
    assert " ".join(said).split() == ["False", "0", "2", "False", "True", "True", "True", "0", "False", "0"], "one collection behind each task; all is as it was"
