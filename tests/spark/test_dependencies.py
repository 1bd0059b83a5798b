"""Functional dependencies: violating values, with the rows responsible, in both forms of the paper."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug.errors import UnknownColumnError

ROWS = [(1, "Berne", "BE"), (1, "Bern", "BE"), (2, "Thun", "BE"), (2, "Thun", None), (None, "x", "y"), (None, "z", "y"), (3, None, "ZH")]


@pytest.fixture(scope="module")
def places(spark: Any) -> Any:
    return spark.createDataFrame(ROWS, "zip int, city string, canton string")


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
