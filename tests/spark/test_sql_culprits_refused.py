"""Crash culprits of what throws in Spark's operators, where no expression does: aggregates that refuse a value, subqueries that give several (FEATURES B1)."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from bigdebug.errors import ReplayError
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


@pytest.mark.parametrize("frequency", ["null", "cast(null as int)", "if(id < 5, null, id)", "7"])
def test_a_frequency_that_is_null_refuses_no_row(frequency: str, dbg: Any, spark: Any) -> None:
    computed = f"percentile(id, 0.5, {frequency}) p, sum(cast(v as int)) s"
    assert bad(culprits_of(dbg, spark.sql(f"select {computed} from refused"))) == [4]
    (clean,) = spark.sql(f"select {computed} from refused where id <> 4").collect()
    assert dbg.runs[-1].resume(skip=True).result == [clean]


def test_a_frequency_that_is_negative_for_all_rows_and_one_of_a_window(dbg: Any, spark: Any) -> None:
    assert bad(culprits_of(dbg, spark.sql("select percentile(id, 0.5, -1) p from refused"))) == [*range(10)]
    assert bad(culprits_of(dbg, spark.sql("select id, percentile(id, 0.5, id - 3) over (partition by id % 2) p from refused"))) == [0, 1, 2]
    assert len(dbg.runs[-1].resume(skip=True).result) == 7


def test_aggregates_that_divide_by_what_may_be_nothing_are_named(dbg: Any, spark: Any) -> None:
    close = "(values (2e-90d, 2e-90d), (1e-90d, 1e-90d) s(x, y))"
    found = culprits_of(dbg, spark.sql(f"select corr(x, y), kurtosis(x) from {close}"))
    assert (list(found), [each.split(" ")[0] for each in found.unknown]) == ([], ["corr()", "kurtosis()"])
    assert bad(culprits_of(dbg, spark.sql("select id, kurtosis(id), cast(v as int) from refused group by id, v"))) == [4]  # whose cast says why


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


def test_where_rows_do_not_meet_by_keys_that_is_named(dbg: Any, spark: Any) -> None:
    found = culprits_of(dbg, spark.sql("select id, (select v from refused b where b.id < a.id) w from refused a"))
    assert list(found) == []
    assert len(found.unknown) == 1
    assert "gives more than one value was not looked at" in found.unknown[0]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script that fails on 7."""
    path = tmp_path / "odd.sh"
    path.write_text("#!/bin/sh\nwhile read a; do case $a in 7) exit 3;; esac; echo $a; done\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_script_that_fails_is_named(dbg: Any, spark: Any, script: Path) -> None:
    query = spark.sql(f"select transform(id) using '{script}' as (a string) from refused")
    with pytest.raises(Exception, match=r"exited|status|Error"):
        query.collect()
    found = dbg.runs[-1].culprits
    assert list(found) == []
    assert [each.split("#")[0] for each in found.unknown] == ["What ScriptTransformation"]


def test_it_is_named_beside_what_is_known_to_crash_and_where_a_resume_ends(dbg: Any, spark: Any, script: Path) -> None:
    query = spark.sql(f"select transform(cast(v as int)) using '{script}' as (a string) from refused")
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        query.collect()
    found = dbg.runs[-1].culprits
    assert [culprit.record.v for culprit in found] == ["x"]
    assert [each.split("#")[0] for each in found.unknown] == ["What ScriptTransformation"]
    with pytest.raises(ReplayError, match=r"fails without them, too.*What ScriptTransformation#\d+ computes was not looked at"):
        dbg.runs[-1].resume(skip=True)


def test_a_write_whose_rows_crash_says_nothing_of_the_write(dbg: Any, spark: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        spark.sql("select id, cast(v as int) n from refused").write.parquet(str(tmp_path / "numbers"))
    assert bad(dbg.runs[-1].culprits) == [4]
