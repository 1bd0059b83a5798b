"""Functional dependencies: violating values, with the rows responsible, in both forms of the paper."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug.errors import NotCapturedError, UnknownColumnError, UntraceableError

ROWS = [(1, "Berne", "BE"), (1, "Bern", "BE"), (2, "Thun", "BE"), (2, "Thun", None), (None, "x", "y"), (None, "z", "y"), (3, None, "ZH")]


@pytest.fixture(scope="module")
def places(spark: Any) -> Any:
    return spark.createDataFrame(ROWS, "zip int, city string, canton string")


@pytest.mark.many
@pytest.mark.parametrize("form", ["ug", "cd"])
def test_the_rows_of_each_violation(form: str, dbg: Any, places: Any) -> None:
    found = dbg.violations(places, "zip -> city", "zip -> canton", "canton -> zip, city", form=form)
    rows = {(str(v.dependency), v.value): sorted(map(tuple, v.rows.collect()), key=repr) for v in found}
    assert rows == {
        ("zip -> city", (1,)): [ROWS[1], ROWS[0]],
        ("zip -> city", (None,)): [ROWS[4], ROWS[5]],
        ("canton -> zip, city", ("BE",)): [ROWS[1], ROWS[0], ROWS[2]],
    }
    assert sorted(v.alternatives for v in found) == [2, 2, 3]
    assert len(found.graph) == 7
    one = next(v for v in found if v.value == (1,))
    assert [r.city for r in one.rows.goBackAll()["createDataFrame"].where("city = 'Bern'").collect()] == ["Bern"]


@settings(max_examples=5, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([1, 2, None]), st.sampled_from(["a", "b", None])), max_size=12))
def test_both_forms_agree(dbg: Any, spark: Any, rows: list[Any]) -> None:
    frame = spark.createDataFrame(rows, "k int, v string")
    found = [
        sorted((repr(v.value), v.alternatives, v.rows.count()) for v in dbg.violations(frame, "k -> v", form=form)) for form in ("ug", "cd")
    ]
    expected = sorted(
        (repr((k,)), len(values), sum(key == k for key, _ in rows)) for k in {key for key, _ in rows}
        if len(values := {v for key, v in rows if key == k and v is not None}) > 1
    )
    assert found == [expected, expected]


def test_questions_leave_no_runs_of_their_own(dbg: Any, spark: Any) -> None:
    frame = spark.createDataFrame([(1, "a"), (1, "b"), (2, "c")], "`zip``code` int, `ci.ty` string")
    before = len(dbg.runs)
    found = dbg.violations(frame, "zip`code -> ci.ty", "ci.ty -> zip`code", form="cd")
    assert [(v.value, sorted(r[1] for r in v.rows.collect())) for v in found] == [((1,), ["a", "b"])]
    assert len(dbg.runs) == before


def test_wrong_questions(dbg: Any, places: Any) -> None:
    with pytest.raises(UnknownColumnError, match="zip, city, canton"):
        dbg.violations(places, "zap -> city")
    with pytest.raises(ValueError, match="written"):
        dbg.violations(places, "zip city")
    with pytest.raises(ValueError, match="form is one of"):
        dbg.violations(places, "zip -> city", form="xx")


@pytest.mark.parametrize("form", ["ug", "cd"])
def test_values_are_equal_where_spark_takes_them_for_equal(form: str, dbg: Any, spark: Any) -> None:
    zeros = spark.createDataFrame([(0.0, 1), (-0.0, 2), (1.0, 3)], "a double, b int")
    [zero] = dbg.violations(zeros, "a -> b", form=form)
    assert (zero.alternatives, zero.rows.count()) == (2, 2)
    assert not dbg.violations(zeros.where("b < 3").selectExpr("1 k", "a"), "k -> a", form=form)
    letters = spark.sql("select * from values ('a' collate utf8_lcase, 1), ('A' collate utf8_lcase, 2) t(k, v)")
    assert [v.alternatives for v in dbg.violations(letters, "k -> v", form=form)] == [2]
    assert not dbg.violations(letters.selectExpr("1 x", "k"), "x -> k", form=form)
    with pytest.raises(UntraceableError, match="nothing is found again by a map"):
        dbg.violations(spark.sql("select map('a', 1) m, 1 v"), "m -> v", form=form)


def test_names_of_all_kinds(dbg: Any, spark: Any) -> None:
    odd = spark.createDataFrame([(1, 1, 1), (1, 2, 1)], ["a -> b", "x,y", "c-d"])
    [found] = dbg.violations(odd, "`a -> b`, c-d -> `x,y`")
    assert found.dependency.left == ("a -> b", "c-d")
    twice = spark.range(4).selectExpr("id a", "id % 2 a", "id b")
    with pytest.raises(UnknownColumnError, match=r"Several columns have this name.*Rename"):
        dbg.violations(twice, "a -> b")


@pytest.mark.parametrize("text", ["a -> b -> c", "a", "a ->", "-> b", "a,, b -> c", "a -> ,"])
def test_what_is_no_dependency(text: str, dbg: Any, places: Any) -> None:
    with pytest.raises(ValueError, match="a dependency is written 'A, B -> C'"):
        dbg.violations(places, text)


def test_what_is_no_text_or_no_frame_of_this_session(dbg: Any, spark: Any, places: Any) -> None:
    assert str(dbg.violations(places, ["zip -> city"])) == str(dbg.violations(places, "zip -> city"))
    for strange in (3, ["zip -> city", 3], [["zip -> city"]]):
        with pytest.raises(TypeError, match="a dependency is a text"):
            dbg.violations(places, strange)
    with pytest.raises(TypeError, match="takes a DataFrame, not"):
        dbg.violations("places", "zip -> city")
    with pytest.raises(NotCapturedError, match="another session"):
        dbg.violations(spark.newSession().range(3), "id -> id")
