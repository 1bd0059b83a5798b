"""Crash culprits of what few queries do, and what is said of the rest: that it was not looked at, and not that no row crashes (FEATURES B1)."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from tests.spark.test_sql_culprits import culprits_of

BAD = [4, 9]
NONE = "No row crashed by itself"


@pytest.fixture
def rows(spark: Any) -> Any:
    return spark.createDataFrame([(i, f"x{i}" if i in BAD else str(i)) for i in range(12)], "id int, v string").coalesce(1)


def bad(culprits: Any) -> list[int]:
    assert culprits.unknown == []
    return sorted(culprit.record.id for culprit in culprits)


def test_rows_that_an_observed_metric_throws_on(dbg: Any, rows: Any) -> None:
    assert bad(culprits_of(dbg, rows.observe("o", F.sum(F.col("v").cast("int")), F.count("id")).where("id < 6"))) == BAD
    assert [row.id for row in dbg.runs[-1].resume(skip=True).result] == [0, 1, 2, 3, 5]


