"""Workers run the Python of the notebook, also where PYSPARK_PYTHON is not set and python3 on the PATH is another.

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
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
import bigdebug

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
crashing(lambda: spark.range(3).select(udf(lambda x: 1 // x, "long")("id")))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = tmp_path_factory.mktemp("workers")
    other = folder / "python3"
    other.write_text("#!/bin/sh\necho another Python >&2\nexit 9\n")
    other.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if k != "PYSPARK_PYTHON"} | {"PATH": os.pathsep.join([str(folder), os.environ["PATH"]])}
    return told_by({"whatever": PROGRAM, "agents": AGENTS_ALONE}, folder, environment)


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
    assert not [name for name in imported if name.split(".")[1:2] not in ([], ["agents"], ["store"], ["errors"], ["shown"])]
    assert {name.split(".")[0] for name in imported} == {"bigdebug"}
