"""Resuming a query that crashed gives what the query gives over rows that do not crash (DESIGN 4.3, BigDebug 5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from tests.laws.sql_programs import Query, queries
from tests.laws.test_sql_laws import SOME, World, multiset


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


def holds(number: Any) -> bool:
    return 1 / ((1 if number is None else number) % 3) > 0


def crashes(value: Any) -> bool:
    return isinstance(value, int) and value % 3 == 0


def crashing(how: str, column: str) -> Any:
    """A condition that holds for all rows but those on which it crashes."""
    if how == "expression":
        return F.expr(f"1 / (coalesce({column}, 1) % 3) > 0")
    return F.udf(holds, "boolean", useArrow=how == "arrow")(column)


@SOME
@given(queries(), st.sampled_from(["expression", "python", "arrow"]))
def test_a_resumed_query_is_a_clean_one(dbg: Any, spark: Any, folder: Path, query: Query, how: str) -> None:
    world = World(spark, folder, query)
    keys = {name: frame.columns[0] for name, frame in world.bases.items()}
    for name, frame in world.bases.items():
        frame.filter(f"coalesce({keys[name]}, 1) % 3 <> 0").createOrReplaceTempView(name)
    expected = multiset(world.plain())
    for name, frame in world.bases.items():
        frame.filter(crashing(how, keys[name])).createOrReplaceTempView(name)
    frame = spark.sql(query.sql)
    with dbg.capture("law") as capture:
        try:
            rows = frame.collect()
        except (PySparkException, Py4JJavaError):  # the latter, where two stages fail at once
            rows = None
    event(f"{how}: {'crashed' if rows is None else 'did not'}")
    if rows is None:
        run = capture.latest
        # Spark also asks the condition of columns that are to be equal to the key, so rows without such a key crash, too.
        assert all(any(map(crashes, culprit.record)) for culprit in run.culprits)
        rows = run.resume(skip=True).result
    assert multiset(rows) == expected
