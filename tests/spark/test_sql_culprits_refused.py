"""Crash culprits of what throws in Spark's operators, where no expression does: aggregates that refuse a value, subqueries that give several (FEATURES B1)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spark.test_sql_culprits import culprits_of


@pytest.fixture(autouse=True)
def rows(spark: Any) -> Any:
    frame = spark.createDataFrame([(i, "x" if i == 4 else str(i)) for i in range(10)], "id int, v string").coalesce(1)
    frame.createOrReplaceTempView("refused")
    return frame


def bad(culprits: Any) -> list[Any]:
    assert culprits.unknown == []
    return sorted(culprit.record.id for culprit in culprits)


@pytest.mark.parametrize(("computed", "expected", "left"), [
    ("percentile(id, 0.5, id - 3) p", [0, 1, 2], (8.0,)),
    ("percentile(id, 0.5, id - 3) p, sum(cast(v as int)) s", [0, 1, 2, 4], (8.0, 38)),
    ("percentile(id, 0.5, id - 3) filter (where id > 1) p", [2], (8.0,)),
    ("percentile(if(id = 1, null, id), 0.5, id - 3) p", [0, 2], (8.0,)),
])
def test_rows_with_a_negative_frequency(computed: str, expected: list[int], left: tuple[Any, ...], dbg: Any, spark: Any) -> None:
    found = culprits_of(dbg, spark.sql(f"select {computed} from refused"))
    assert bad(found) == expected
    assert "NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION" in found[0].message
    assert [tuple(row) for row in dbg.runs[-1].resume(skip=True).result] == [left]


def test_a_frequency_that_is_negative_for_all_rows_and_one_of_a_window(dbg: Any, spark: Any) -> None:
    assert bad(culprits_of(dbg, spark.sql("select percentile(id, 0.5, -1) p from refused"))) == [*range(10)]
    assert bad(culprits_of(dbg, spark.sql("select id, percentile(id, 0.5, id - 3) over (partition by id % 2) p from refused"))) == [0, 1, 2]
    assert len(dbg.runs[-1].resume(skip=True).result) == 7


def test_rows_to_which_a_subquery_gives_more_than_one_value(dbg: Any, spark: Any) -> None:
    query = "select id, cast(v as int) n, (select v from refused b where b.id div 2 = a.id and b.id <> 5) w from refused a"
    found = culprits_of(dbg, spark.sql(query))
    assert bad(found) == [0, 1, 3, 4]
    first = next(culprit for culprit in found if culprit.record.id == 0)
    assert "SCALAR_SUBQUERY_TOO_MANY_ROWS" in first.message
    assert {f"v='{i}', id={i}" in str(first.met) for i in (0, 1)} == {True}
    assert sorted({source.record.id for source in first.sources}) == [0, 1]
    run = dbg.runs[-1]
    assert sorted((row.id, row.w) for row in run.resume(skip=True).result) == [(2, "x"), (5, None), (6, None), (7, None), (8, None), (9, None)]
    others = {culprit: type(culprit.record)(**{**culprit.record.asDict(), "id": 77, "v": "7"}) for culprit in found if culprit is not first}
    assert sorted(row.id for row in run.resume(skip=[first], repair=others).result) == [2, 5, 6, 7, 8, 9, 77, 77, 77]
