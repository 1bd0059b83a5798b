"""Evaluated: an expression over values that this process holds is computed as a query computes it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.evaluated import Evaluation


def test_a_map_that_has_a_key_twice_is_null_and_those_behind_it_have_their_own_values(spark: Any) -> None:
    """Spark's builder of maps keeps what it was given when it throws."""
    catalyst = Catalyst(spark)
    plan = spark.range(1).select("id", F.lit(2).alias("b")).select(F.expr("map(id, 10, b, 20)[1L]").alias("of"))._jdf.queryExecution().analyzed()
    [made], below = catalyst.items(plan.projectList()), catalyst.items(plan.child().output())
    evaluation = Evaluation(catalyst, made.child(), below)
    assert evaluation.of([pa.array([1, 3, 1, 4]), pa.array([2, 3, 1, 1])]).to_pylist() == [10, None, None, 20]
