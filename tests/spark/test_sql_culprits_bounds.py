"""Crash culprits of windows over ranges: rows at which the frame of a row would begin or end beyond its type (FEATURES B1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.spark.test_sql_culprits import culprits_of

LARGE = 2147483647
MAY_NOT = "Where the frame of a row begins and ends is computed only while there are rows that may be in it: to some of these rows the action may not have come."

FRAMES = {
    "numbers": ("n", "current row and 1 following"),
    "numbers from the largest on": ("n desc", "1 preceding and current row"),
    "two ends": ("n", "1 following and 2 following"),
    "dates and years": ("if(id = 7, date'9990-01-01', date'2020-01-01')", "current row and interval '5872000' year following"),
    "times and years": ("if(id = 7, timestamp'9990-01-01', timestamp'2020-01-01')", "current row and interval '285000' year following"),
    "times and days": ("if(id = 7, timestamp_ntz'9990-01-01', timestamp_ntz'2020-01-01')", "current row and interval '104000000' day following"),
}


@pytest.fixture
def rows(spark: Any) -> Any:
    made = [(i, "x" if i == 4 else str(i), LARGE if i == 7 else i) for i in range(10)]
    frame = spark.createDataFrame(made, "id int, v string, n int").coalesce(1)
    frame.createOrReplaceTempView("bounds")
    return frame


def bad(culprits: Any, unknown: Sequence[str] = ()) -> list[int]:
    found = sorted(culprit.record.id for culprit in culprits)
    assert culprits.unknown == [*unknown]
    return found


@pytest.mark.many
@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("what", FRAMES)
def test_a_row_whose_frame_ends_beyond_its_type(what: str, dbg: Any, spark: Any) -> None:
    order, frame = FRAMES[what]
    query = f"select id, count(*) over (partition by id order by {order} range between {frame}) c from bounds"
    assert bad(culprits_of(dbg, spark.sql(query)), [MAY_NOT]) == [7]
    assert sorted(row.id for row in dbg.runs[-1].resume(skip=True).result) == [0, 1, 2, 3, 4, 5, 6, 8, 9]


@pytest.mark.usefixtures("rows")
def test_it_is_found_beside_what_else_crashes(dbg: Any, spark: Any) -> None:
    query = "select id, cast(v as int) m, count(*) over (order by n range between current row and 1 following) c from bounds"
    assert bad(culprits_of(dbg, spark.sql(query)), [MAY_NOT]) == [4, 7]
    left = {row.id: row.c for row in dbg.runs[-1].resume(skip=True).result}
    assert left == {0: 2, 1: 2, 2: 2, 3: 1, 5: 2, 6: 1, 8: 2, 9: 1}


@pytest.mark.usefixtures("rows")
def test_frames_that_do_not_overflow_are_not_blamed(dbg: Any, spark: Any) -> None:
    for order, frame in (("cast(n as decimal(38,0))", "current row and 1 following"), ("n", "unbounded preceding and current row"), ("n", "1 preceding and current row")):
        found = culprits_of(dbg, spark.sql(f"select cast(v as int) m, count(*) over (order by {order} range between {frame}) c, id from bounds"))
        assert bad(found) == [4]
    found = culprits_of(dbg, spark.sql("select cast(v as int) m, count(*) over (order by n rows between 1 preceding and 1 following) c, id from bounds"))
    assert bad(found) == [4]


@pytest.mark.usefixtures("rows")
def test_in_arithmetic_that_wraps_nothing_throws(dbg: Any, spark: Any) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        query = "select id, assert_true(id <> 5), count(*) over (order by n range between current row and 1 following) c from bounds"
        assert bad(culprits_of(dbg, spark.sql(query))) == [5]
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
