"""Checks: what each says of outputs of any kind, how they combine, and that they travel to tasks as they are."""

from __future__ import annotations

import math
import pickle
import statistics
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import Row

import bigdebug
from bigdebug import checks
from bigdebug.agents.alike import name
from bigdebug.agents.check import Check
from bigdebug.agents.expected import Among, Apart, Due
from bigdebug.agents.judges import as_float, held, number
from bigdebug.agents.moments import moments
from bigdebug.errors import LocalizeError
from bigdebug.model import Outcome

NAN = float("nan")
STRANGE = [None, NAN, math.inf, -math.inf, Decimal("NaN"), Decimal("sNaN"), Decimal(3), Fraction(1, 3), np.float32("nan"), np.int64(5), 10**400, "text", b"bytes", True, 1j,
           np.complex128(1j), np.array([1, 2]), np.array([NAN, 2]), np.array([]), pd.NA, pd.NaT, (), (None,), [], {}, {"sum": None}, {1}, object(), ("key", NAN), Row(a=1, b=None), type]


class Point(NamedTuple):
    x: Any
    y: Any


def double(output: Any) -> Any:
    return output[1] * 2


def positive(output: Any) -> bool:
    return output[1] > 0


EVERY = [
    checks.at_most(60), checks.at_least(0), checks.between(0, 60), checks.between("a", "k"), checks.not_null(), checks.unique(), checks.schema(int), checks.schema(str, int | None),
    checks.schema({"a": int}), checks.sigma(1).fitted(lambda value: moments(map(float, [1, 1, 1, 5]))), checks.constraint(bool), checks.at_most(60) | checks.not_null() | checks.unique(),
]


@pytest.mark.parametrize("check", EVERY, ids=str)
def test_whatever_an_output_is_a_check_says_something_of_it(check: Check) -> None:
    for output in STRANGE:
        if not (isinstance(output, np.ndarray) or output is pd.NA) or "bool" not in repr(check):  # these have no truth value
            assert check(output) in (True, False)
            assert check.wrong_in([output]) in (True, False)
            assert check.wrong_in([output, output]) in (True, False)


@pytest.mark.parametrize("check", EVERY, ids=str)
def test_a_check_travels_as_it_is(check: Check) -> None:
    assert pickle.loads(pickle.dumps(check)) == check


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        (checks.at_most(60), [60, -1, ("a", 60), ("a", 60.0, "b"), {"n": 60}, "61", None, NAN, ("a", NAN), True, (61, None), (61, NAN), (61, []), ("a", (61, None)), {"k": 61, "n": None}], [61, ("a", 60.5), (61, "b"), [1, 61], {"n": 61}, Decimal("60.1"), 10**400, np.float32(61), math.inf]),
        (checks.at_most(2**53), [2**53], [2**53 + 1, ("a", 2**53 + 1)]),
        (checks.at_most(60, field=0), [(60, 99), [60], {0: 3}, None], [(61, 1)]),
        (checks.at_most(60, field="y"), [Point(99, 60), {"y": 60, "x": 99}, {}, Row(x=99, y=60)], [Point(1, 61), {"y": 61}, Row(x=1, y=61)]),
        (checks.at_most(60, field=double), [("a", 30)], [("a", 31)]),
        (checks.at_most("2020-01-01", field=0), [("2019-12-31", 1), (5, 1)], [("2020-01-02", 1)]),
        (checks.at_least(Decimal(0)), [0, ("a", 0.0), "x"], [-1, ("a", -0.5), Decimal("-0.1"), np.int64(-3), -math.inf]),
        (checks.between(0, 60), [0, 60, ("a", 30)], [-1, 61, ("a", 61)]),
        (checks.not_null(), [0, ("a", 0), "", (), np.array([1, 2])], [None, NAN, ("a", None), ("a", (1, NAN)), {"x": None}, Decimal("sNaN"), pd.NA, pd.NaT, np.array([1, NAN]), np.float32("nan")]),
        (checks.not_null(field=0), [("a", None), (np.array([1, 2]),)], [(None, 1), None, (NAN,)]),
        (checks.schema(int), [1, np.int64(1)], [True, 1.0, "1", None, (1,)]),
        (checks.schema(int | None, field=1), [("a", 1), ("a", None), None], [("a", True), ("a", 1.0)]),
        (checks.schema(str, float | None), [("a", 1.0), ["a", None], ("a", np.float64(1))], [("a", 1), ("a",), ("a", 1.0, 2), "ab", None, {"a": 1.0}]),
        (checks.schema({"x": int, "y": bool}), [{"x": 1, "y": True, "z": 0}, Point(1, np.True_), Row(x=1, y=False)], [{"x": 1}, Point(True, True), (1, True), 5, None]),
        (checks.schema(object, None), [(True, None)], [(True, 1)]),
        (checks.constraint(positive), [("a", 1)], [("a", 0)]),
        (checks.at_most(60) | checks.not_null() | positive, [("a", -1)], [("a", 61), ("a", None)]),
        (positive | checks.not_null(), [("a", 0)], [("a", 1)]),
    ],
    ids=repr,
)
def test_what_is_right_and_what_is_wrong(check: Check, right: list[Any], wrong: list[Any]) -> None:
    def said(output: Any) -> bool:
        return check(output) if not ("positive" in repr(check) and output[1] is None) else checks.not_null()(output)

    assert [output for output in right if said(output)] == []
    assert [output for output in wrong if not said(output)] == []


@pytest.mark.parametrize(
    ("check", "alike", "different"),
    [
        (checks.unique(), [[1, 1], [NAN, 2, NAN], [[1], [1]], [{"a": 1, "b": {2}}, {"b": {2}, "a": 1}], [0.0, -0.0], [None, None]], [[1, 1.0, True], [], [("a", 1), ("a", 2)]]),
        (checks.unique(field=0), [[("a", 1), ("a", 2)], [(None, 1), (None, 2)]], [[("a", 1), ("b", 1)]]),
        (checks.unique(field=0) | checks.at_most(60), [[("a", 1), ("a", 2)], [("a", 61)]], [[("a", 1), ("b", 1)]]),
    ],
)
def test_only_all_outputs_together_show_duplicates(check: Check, alike: list[list[Any]], different: list[list[Any]]) -> None:
    assert check.whole
    assert all(map(check.wrong_in, alike))
    assert not any(map(check.wrong_in, different))


def test_outputs_that_violate_a_check_together_are_told_together() -> None:
    outputs = [("a", 1), ("b", 70), ("a", 2), ("b", 3), ("c", None)]
    assert checks.unique(field=0).groups(outputs) == [[0, 2], [1, 3]]
    assert (checks.unique(field=0) | checks.at_most(60) | checks.not_null()).groups(outputs) == [[0, 2], [1], [1, 3], [4]]
    assert checks.at_most(60).groups(outputs) == [[1]]


def test_the_bounds_of_sigma_are_those_of_all_outputs() -> None:
    outputs = [("a", 10.0 + each % 3) for each in range(50)] + [("b", 900.0), ("c", None), ("d", NAN), ("e", math.inf)]
    fitted = checks.sigma(3).fitted(lambda value: moments(map(value, outputs)))
    values = [value for _, value in outputs if value is not None and math.isfinite(value)]
    far = 3 * statistics.pstdev(values)
    assert [output for output in outputs if fitted(output)] == [output for output in outputs if output[1] is not None and abs(output[1] - statistics.fmean(values)) > far]
    assert fitted(("b", 900.0))
    assert not fitted(("z", 12))  # the same bounds, whatever it is called with
    assert (checks.sigma(3) | checks.not_null()).fitted(lambda value: moments(map(value, outputs)))(("c", None))


def test_sigma_says_where_it_could_find_nothing_whatever_the_numbers_are() -> None:
    with pytest.raises(LocalizeError, match=r"Of 10 numbers none can be more than 3 standard deviations away from their mean, so sigma\(3\) finds nothing"):
        checks.sigma(3).fitted(lambda value: moments(range(10)))
    eleven = [0.0] * 10 + [1.0]
    assert checks.sigma(3).fitted(lambda value: moments(eleven))(1.0)
    with pytest.raises(TypeError, match=r"sigma\(3\) is known when all outputs were looked at"):
        checks.sigma(3)(5)


@pytest.mark.parametrize(
    ("check", "written", "said"),
    [
        (checks.at_most(60), "at_most(60)", "its number is more than 60"),
        (checks.at_least(Decimal(1), field="sum"), "at_least(Decimal('1'), field='sum')", "its field 'sum' is less than Decimal('1')"),
        (checks.between(0, 60, field=1), "between(0, 60, field=1)", "its field 1 is less than 0 or more than 60"),
        (checks.sigma(2.5), "sigma(2.5)", "its number is more than 2.5 standard deviations away from the mean of all"),
        (checks.not_null() | checks.unique(field=0), "not_null() | unique(field=0)", "it is null, or holds a null or two outputs are alike in field 0"),
        (checks.schema(str, int | None), "schema(str, int | None)", "it is not of the types str, int | None"),
        (checks.schema({"x": int}), "schema({'x': int})", "it is not of the types 'x': int"),
        (checks.constraint(positive, field=double), "constraint(positive, field=double)", "positive does not hold"),
        (checks.not_null(field=double) | positive, "not_null(field=double) | positive", "its double is null or positive holds"),
    ],
)
def test_how_it_is_written_and_what_it_says(check: Check, written: str, said: str) -> None:
    assert (repr(check), str(check)) == (written, said)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: checks.at_most(None), ValueError, "None bounds nothing"),
        (lambda: checks.at_least(NAN), ValueError, "nan bounds nothing"),
        (lambda: checks.between(5, 1), ValueError, "nothing is between 5 and 1"),
        (lambda: checks.sigma(0), ValueError, "how many standard deviations are too far, not 0"),
        (lambda: checks.sigma(True), ValueError, "not True"),
        (checks.schema, TypeError, r"schema\(\) takes types"),
        (lambda: checks.schema("str"), TypeError, "as isinstance does"),
        (lambda: checks.schema(list[int]), TypeError, "as isinstance does"),
        (lambda: checks.constraint(5), TypeError, "a function that is true of a right output, not 5"),
        (lambda: checks.not_null(field=1.5), TypeError, "field is an index, a name, or a function of an output, not 1.5"),
        (lambda: checks.at_most(60) | 5, TypeError, "unsupported operand"),
        (lambda: checks.at_most(60, field=2)(("a", 1)), LookupError, r"\('a', 1\) has no field 2"),
        (lambda: checks.at_most(60, field="sum")(("a", 1)), LookupError, "has no field 'sum'"),
    ],
)
def test_what_is_no_check_is_said_to_be_none(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_the_number_that_is_held_is_the_one_that_orders() -> None:
    for output in STRANGE:
        if held(output) is not None:
            assert number(output) == as_float(held(output))
    assert (held(10**400), held(("a", 10**400)), held(1j)) == (10**400, 10**400, None)
    assert (number(10**400), number(("a", -(10**400)))) == (math.inf, -math.inf)


def test_where_a_value_is_null_no_other_number_is_looked_at_in_its_place() -> None:
    """A key is no value, and of a mean the count is none; what orders records may be any number that is left."""
    outputs: list[Any] = [(700, None), (700, NAN), ("k", (700, None)), [700, None], {"id": 700, "sum": None}, Row(id=700, sum=None), (700, ())]
    assert [held(output) for output in outputs] == [None] * len(outputs)
    assert [held(output) for output in (("a", 5_000, []), ("a", 5_000, {}), {"amount": 5_000, "tags": []})] == [5_000] * 3  # there is nothing in those
    assert [number(output) for output in outputs] == [700.0] * len(outputs)
    fitted = checks.sigma(1).fitted(lambda value: moments(map(value, [*((key, 5) for key in range(20)), (10**6, None), (3, 80)])))
    assert (fitted((10**6, None)), fitted((3, 80)), fitted((10**6, 5))) == (False, True, False)


def test_of_rows_whose_number_is_known_what_is_null_behind_it_is_none() -> None:
    row = Row(id=700, sum=61, note=None)
    either = checks.at_most(60) | checks.not_null(field="id") | checks.at_most(1_000, field="id") | positive
    assert not checks.at_most(60)(row)
    assert repr(either.of_number("sum")) == "at_most(60, field='sum') | not_null(field='id') | at_most(1000, field='id') | positive"
    assert checks.at_most(60).of_number("sum")(row)
    assert not checks.at_most(60).of_number("sum")(Row(id=700, sum=None, note="none"))
    assert checks.sigma(3).of_number("sum") == checks.sigma(3, field="sum")


def test_checks_are_a_public_name_and_all_that_is_in_it() -> None:
    assert bigdebug.checks is checks
    assert "checks" in dir(bigdebug)
    assert sorted(checks.__all__) == ["at_least", "at_most", "between", "constraint", "not_null", "schema", "sigma", "unique"]


# ---- what was expected --------------------------------------------------------------------------------------------

def test_keys_are_equal_by_value_and_outputs_are_taken_apart() -> None:
    assert name((1, "a")) == name((1.0, "a")) == name([np.int32(1), "a"])
    assert name(NAN) == name(np.float64("nan"))
    assert len({name(key) for key in (1, True, "1", None, NAN, 1.5, (1,), math.inf)}) == 8
    apart = Apart()
    assert [apart(("k", 1)), apart(("k", 1, 2)), apart("k"), apart(("k",))] == [(name("k"), 1), (name("k"), (1, 2)), (name("k"), "k"), (name(("k",)), ("k",))]
    assert Apart(len)("abc") == (name(3), "abc")


@pytest.mark.parametrize(
    ("due", "outcomes"),
    [
        (Due(Apart(), name("k"), (5,)), {(): "unresolved", (5,): "pass", (7,): "fail", (5, 5): "fail"}),
        (Due(Apart(), name("k"), (5, 5)), {(5, 5): "pass", (5,): "pass", (5, 5, 5): "fail", (5, 7): "fail"}),
        (Due(Apart(), name("k"), ()), {(): "pass", (5,): "fail"}),
        (Due(Apart(), name("k"), (5,), side=1), {(): "unresolved", (4,): "pass", (5,): "pass", (7,): "fail", (None,): "fail", ("x",): "fail"}),
        (Due(Apart(), name("k"), (5,), side=-1), {(4,): "fail", (7,): "pass"}),
        (Due(Apart(), name("k"), (5,), missing=True), {(): "fail", (4,): "pass"}),
    ],
)
def test_what_becomes_of_a_key_on_fewer_records_is_judged_by_what_was_due(due: Due, outcomes: dict[tuple[Any, ...], str]) -> None:
    for values, outcome in outcomes.items():
        said, value, gone, outputs, *_ = due.verdict([("other", 1), *(("k", value) for value in values)])
        assert (values, said, gone, outputs) == (values, Outcome[outcome.upper()], False, 0)
        if values or due.expected:
            assert value == values[0] if len(values) == 1 and isinstance(values[0], float | int) else math.isnan(value)
    assert replace(due, lacking=True).verdict([("other", 1)]).gone is True
    broken = (1 // n for n in [0])
    assert replace(due, raises=True).verdict(broken)[0] is Outcome.FAIL
    assert due.verdict(1 // n for n in [0])[0] is Outcome.UNRESOLVED


@pytest.mark.parametrize(
    ("outputs", "outcome"), [([4], "pass"), ([4.0, 1], "pass"), ([0.3], "pass"), ([895], "fail"), ([4, 895], "fail"), ([], "unresolved")],
)
def test_where_all_of_an_output_is_its_key_others_that_were_expected_are_right(outputs: list[Any], outcome: str) -> None:
    among = Among(frozenset(map(name, (4, 1, 0.1 + 0.2))), (4, 0.1 + 0.2))
    assert among.verdict(outputs).outcome is Outcome[outcome.upper()]
    assert Among(among.names, ()).verdict([]).outcome is Outcome.PASS
    assert among.verdict(1 // n for n in [0]).outcome is Outcome.UNRESOLVED
    assert replace(among, raises=True).verdict(1 // n for n in [0]).outcome is Outcome.FAIL
