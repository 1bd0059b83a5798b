"""Crash culprits of expressions that build maps: what one keeps of the row that it threw on is not there for the next (FEATURES B1, B3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spark.test_sql_culprits import culprits_of


@pytest.fixture(scope="module")
def pairs(spark: Any) -> Any:
    """Keys that are the same in rows 1 and 4; those of rows 2 and 5 have one of the keys of the row before."""
    rows = [(0, "x", "y"), (1, "p", "p"), (2, "p", "q"), (3, "r", "s"), (4, "q", "q"), (5, "q", "x")]
    return spark.createDataFrame(rows, "id int, a string, b string").coalesce(1)


MAPS = [
    "map_concat(map(a, 1), map(b, 2))", "map(a, 1, b, 2)", "map_from_arrays(array(a, b), array(1, 2))", "str_to_map(concat(a, ':1,', b, ':2'))",
    "map_from_entries(array(named_struct('k', a, 'v', 1), named_struct('k', b, 'v', 2)))", "transform_keys(map(0, a, 1, b), (k, v) -> v)",
    "transform(array(a), x -> map(x, 1, b, 2))", "map_concat(map(a, 1), map(b, 2))[b]", "1 / (3 - size(map_concat(map(a, 1), map(b, 2))))",
]


@pytest.mark.many
@pytest.mark.parametrize("made", MAPS)
def test_rows_behind_one_that_has_a_key_twice_are_no_culprits(made: str, dbg: Any, pairs: Any) -> None:
    frame = pairs.selectExpr("id", f"{made} m")
    culprits = culprits_of(dbg, frame)
    assert [(c.record.id, c.exception_type) for c in culprits] == [(1, "SparkRuntimeException"), (4, "SparkRuntimeException")]
    assert ["DUPLICATED_MAP_KEY" in c.message for c in culprits] == [True, True]
    assert culprits.unknown == []
    good = [tuple(row) for number in (0, 2, 3, 5) for row in frame.where(f"id = {number}").collect()]
    assert list(map(tuple, dbg.runs[-1].resume(skip=True).result)) == good
    with dbg.capture(on_crash="skip"):
        assert list(map(tuple, frame.collect())) == good


@pytest.mark.many
@pytest.mark.parametrize("sql", [
    "select id from pairs where map_concat(map(a, 1), map(b, 2))[b] = 2", "select id from pairs order by map_concat(map(a, 1), map(b, 2))[b]",
    "select id, count(map_concat(map(a, 1), map(b, 2))[a]) n from pairs group by id", "select id, max(map_concat(map(a, 1), map(b, 2))[a]) over (partition by id) n from pairs",
    "select id, explode(map(a, 1, b, 2)) from pairs", "select p.id from pairs p join (select 2 n) on map_concat(map(a, 1), map(b, 2))[b] = n",
])
def test_a_key_twice_in_operators_of_all_kinds(sql: str, dbg: Any, spark: Any, pairs: Any) -> None:
    pairs.createOrReplaceTempView("pairs")
    try:
        culprits = culprits_of(dbg, spark.sql(sql))
        assert sorted(c.record.id for c in culprits) == [1, 4]
        assert culprits.unknown == []
        assert sorted({row.id for row in dbg.runs[-1].resume(skip=True).result}) == [0, 2, 3, 5]
    finally:
        spark.catalog.dropTempView("pairs")


def test_a_map_whose_value_throws_tells_of_each_row_what_it_throws(dbg: Any, spark: Any) -> None:
    rows = spark.createDataFrame([(0, "1"), (1, "x"), (2, "y"), (3, "2")], "id int, v string").coalesce(1)
    culprits = culprits_of(dbg, rows.selectExpr("id", "map('a', 1, 'b', cast(v as int)) m"))
    assert [(c.record.id, c.exception_type) for c in culprits] == [(1, "NumberFormatException"), (2, "NumberFormatException")]
    assert ["'x'" in culprits[0].message, "'y'" in culprits[1].message] == [True, True]


def test_keys_that_are_nothing_where_the_last_of_two_counts(dbg: Any, spark: Any) -> None:
    before = spark.conf.get("spark.sql.mapKeyDedupPolicy")
    spark.conf.set("spark.sql.mapKeyDedupPolicy", "LAST_WIN")
    try:
        rows = spark.createDataFrame([(0, "x", "x"), (1, "p", None), (2, "q", "q"), (3, "p", None), (4, "r", "s")], "id int, a string, b string").coalesce(1)
        frame = rows.selectExpr("id", "map_concat(map('z', 0), map(a, 1, b, 2)) m")
        culprits = culprits_of(dbg, frame)
        assert [c.record.id for c in culprits] == [1, 3]
        good = [(0, {"z": 0, "x": 2}), (2, {"z": 0, "q": 2}), (4, {"z": 0, "r": 1, "s": 2})]
        assert list(map(tuple, dbg.runs[-1].resume(skip=True).result)) == good
    finally:
        spark.conf.set("spark.sql.mapKeyDedupPolicy", before)


def test_maps_of_what_is_drawn_are_not_told_row_by_row(dbg: Any, pairs: Any) -> None:
    culprits = culprits_of(dbg, pairs.selectExpr("id", "map_concat(map(a, rand(1)), map(b, 2D)) m"))
    assert list(culprits) == []
    assert ["builds maps of what is drawn" in why for why in culprits.unknown] == [True]
