"""Predicates: what separates bad records from healthy ones, whatever records are (FEATURES N5)."""

from __future__ import annotations

import datetime
import decimal
import math
import pickle
from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.mining import predicates
from bigdebug.mining.atoms import Atom, Column, Contains, Equal, HasTrait, Limit, Nothing, OfKind, Reads
from bigdebug.mining.candidates import _roundest
from bigdebug.mining.conjunctions import GAIN
from bigdebug.mining.fields import COUNT, Mark, Reading, cell, number, reading
from bigdebug.mining.predicates import Clause, Separation, separating
from bigdebug.mining.times import Since, roundest

HEADER = "year,month,day,dep_time,arr_delay,carrier,origin"


def flights(count: int) -> list[str]:
    """Of any origin, and with any delay; what did not depart did so elsewhere than in EWR."""
    lines = []
    for each in range(count):
        origin, cancelled = ("EWR", "JFK", "LGA")[each % 3], each % 20 == 1 and each % 3 != 0
        lines.append(f"2013,{each % 12 + 1},{each % 28 + 1},{'NA' if cancelled else each % 2400},{each * 7 % 90 - 20},{'UA DL'[each % 4:][:2]},{origin}")
    return lines


def texts(found: Separation) -> list[str]:
    return [each.text for each in found.clauses]


def best(bad: Sequence[Any], healthy: Sequence[Any], **how: Any) -> str:
    return separating(bad, healthy, **how).clauses[0].text


def test_a_conjunction_is_told_where_no_part_of_it_says_as_much() -> None:
    bad = [f"2013,{each + 1},{each + 5},NA,{each},{'UA DL'[each % 4:][:2]},EWR" for each in range(10)]
    healthy = flights(600)
    found = separating(bad, healthy, names=HEADER)
    (clause,) = found.clauses
    assert clause.text == "dep_time is NA and origin = 'EWR'"
    assert (clause.covers, clause.others, clause.score) == (1.0, 0.0, 1.0)
    assert [clause.check(bad[0]), clause.check(healthy[0]), clause.check(healthy[1])] == [True, False, False]
    assert texts(separating(bad, healthy, names=HEADER, atoms=1))[0] == "dep_time is NA"


def test_three_things_that_must_come_together() -> None:
    cube = [(x, y, z) for x in range(3) for y in range(3) for z in range(3)]
    bad, healthy = [(1, 1, 1)] * 20, [each for each in cube * 20 if each != (1, 1, 1)]
    assert best(bad, healthy) == "field 0 = 1 and field 1 = 1 and field 2 = 1"
    assert best(bad, healthy, atoms=2).count(" and ") == 1


PAIR = namedtuple("PAIR", "x y")  # noqa: PYI024 (what PySpark users write)


@dataclass
class Point:
    x: Any
    y: str


@pytest.mark.parametrize(("bad", "healthy", "text"), [
    ([{"a": None, "b": 1}] * 4, [{"a": each, "b": 1} for each in range(20)], "a is null"),
    ([{"b": 1}] * 4, [{"a": each, "b": 1} for each in range(20)], "number of fields = 1"),
    ([{"a": "", "b": 1}] * 4, [{"a": "x", "b": 1}, {"a": "y", "b": 2}] * 9, "a is empty"),
    ([{"a": "N/A"}] * 4, [{"a": "1"}, {"a": "2"}] * 9, "a is N/A"),
    ([{"a": math.nan}] * 4, [{"a": 1.5}, {"a": 2.5}] * 9, "a is NaN"),
    ([{"a": v} for v in ("NA", "", None, "null")], [{"a": "1"}, {"a": "2"}] * 9, "a has no value (null, empty, NA or the like)"),
    ([{"a": {"b": "u"}}] * 4, [{"a": {"b": each}} for each in "vw"] * 9, "a.b = 'u'"),
    ([(1, each) for each in ("x5", "7o", "--")], [(1, str(each)) for each in range(20)], "field 1 does not read as a number"),
    ([("k", each) for each in ("1", "12", "7")], [("k", each) for each in range(20)], "field 1 is text"),
    ([("k", each) for each in ("ab", "cd", "ef")], [("k", each) for each in range(20)], "field 1 is text"),
    ([PAIR(each, 0) for each in (200, 333, 470)], [PAIR(each, 0) for each in range(150)], "x >= 200"),
    ([Point(-each, "") for each in (1, 5, 12)], [Point(each, "") for each in range(20)], "x < 0"),
    ([0.5, 0.51, 0.52], [each / 100 for each in range(20)], "the record >= 0.5"),
    (["a;b", "ccc;d", "e;fffff"], ["abc", "d", "eeee", "ffffff"] * 5, "the record contains ';'"),
    (["é", "aü", "obß"], ["e", "au", "obs", "q"] * 5, "the record contains a character that is not ASCII"),
    (["q" * each for each in (30, 41, 55)], ["q" * each for each in range(1, 21)], "length of the record >= 30"),
    (["20130105", "20140203", "20150107"], ["2013-01-05", "2014-02-03", "2015-01-07"] * 5, "the record reads as a number"),
    (["a/b", "c", "dd"], ["a-b", "c-d", "q-"] * 9, "the record does not contain '-'"),
    ([{"s": each} for each in "abcdefgh"], [{"s": "OK"}] * 30, "s is not 'OK'"),
    (["a,b,c,d", "e,f,g,h"], ["a,b,c", "d,e,f", "g,h,i"] * 9, "number of fields = 4"),
    ([("a,b,c", 1)] * 3, [("a,d,c", 2), ("x,y,z", 3)] * 9, "field 0.field 1 = 'b'"),
    ([True] * 3, [1, 0, False] * 9, "the record = True"),
    ([decimal.Decimal(7)] * 3, [decimal.Decimal(8), decimal.Decimal(9)] * 9, "the record = Decimal('7')"),
    ([datetime.date(2024, 2, 29)] * 3, [datetime.date(2024, 2, day) for day in range(1, 29)], "the record = datetime.date(2024, 2, 29)"),
    ([np.int64(7)] * 3, [np.int32(8), np.float64(9)] * 9, "the record = 7"),
])
def test_what_is_found_is_said_in_the_shortest_way(bad: list[Any], healthy: list[Any], text: str) -> None:
    found = separating(bad, healthy).clauses[0]
    assert (found.text, found.covers, found.others) == (text, 1.0, 0.0)


def test_clauses_about_other_fields_that_hold_for_the_same_records_are_named_beside_the_first() -> None:
    (clause,) = separating([{"a": None, "b": "NA"}] * 3, [{"a": each, "b": str(each)} for each in range(9)]).clauses
    assert (clause.text, clause.alike) == ("a is null", ("b is NA",))


def test_no_longer_ones_are() -> None:
    bad = [{"a": None, "b": each, "c": f"é{each}"} for each in range(8)]
    (clause,) = separating(bad, [{"a": each, "b": each, "c": str(each)} for each in range(50)]).clauses
    assert (clause.text, clause.alike) == ("a is null", ("c does not read as a number",))


def test_so_are_conjunctions() -> None:
    (clause,) = separating(
        [{"x": 1, "y": 1, "z": each % 2} for each in range(8)], [{"x": 1, "y": 2, "z": 3}, {"x": 2, "y": 1, "z": 0}, {"x": 2, "y": 1, "z": 9}] * 9,
    ).clauses
    assert (clause.text, clause.alike) == ("x = 1 and y = 1", ("x = 1 and z < 3",)), clause


def test_two_causes_are_two_clauses() -> None:
    bad = [{"x": "", "y": 1}] * 8 + [{"x": "q", "y": 99}] * 4
    assert texts(separating(bad, [{"x": "q", "y": each % 5} for each in range(100)])) == ["x is empty", "y = 99"]


def test_nothing_separates_records_that_do_not_differ() -> None:
    records = [(each % 7, "abc"[each % 3]) for each in range(210)]
    found = separating(records[:42], records)
    assert found.clauses == ()
    assert "Nothing separates them." in repr(found)


@pytest.mark.parametrize(("bad", "healthy", "which"), [([], [1], "bad"), ([1], [], "healthy"), ([], [], "bad")])
def test_without_records_there_is_nothing_to_compare(bad: list[int], healthy: list[int], which: str) -> None:
    found = separating(bad, healthy)
    assert (found.clauses, found.note) == ((), f"There are no {which} records to compare.")


@pytest.mark.parametrize(("lines", "splits"), [
    (["1,2 3", "4,5", "6,7 8 9"], {(): ","}),
    (["a\tb,c", "d\te", "f\tg,h,i"], {(): "\t"}),
    (["a;b", "c;d"], {(): ";"}),
    (["a|b", "c|d, e"], {(): "|"}),
    (["GET /a 200", "GET /b 404", "x"], {(): " "}),
    (["one", "two"], {}),
    (["a b", "a b c", "a b c d", "e", "f"], {}),
    ([("a,b,c", 1), ("d,e,f", 2)], {(0,): ","}),
    ([("a,b", 1), ("d,e", 2)], {}),
])
def test_lines_are_split_where_most_of_them_have_the_same_number_of_fields(lines: list[Any], splits: dict[Any, str]) -> None:
    assert reading(lines).splits == splits


@pytest.mark.parametrize("names", ["a,b,c", "a\tb\tc", ["a", "b", "c"]])
@pytest.mark.parametrize(("records", "path"), [
    (["1,2,3", "4,5,6"], (1,)), ([(1, 2, 3)], (1,)), ([("1,2,3", 0), ("4,5,6", 1)], (0, 1)),
])
def test_names_are_those_of_the_fields_that_are_as_many(names: Any, records: list[Any], path: tuple[int, ...]) -> None:
    assert reading(records, names).name(path) == "b"
    assert reading(records).name(path) == ("field 0.field 1" if len(path) == 2 else "field 1")


def test_a_line_with_other_delimiters_than_its_header_is_split_as_the_header() -> None:
    assert reading(["a b,c d,e f"] * 3, "x,y,z").splits == {(): ","}
    assert reading(["a b,c d,e f"] * 3, ["x", "y", "z", "u"]).splits == {(): " "}


def test_names_of_fields_are_shown_as_text() -> None:
    (clause,) = separating([{"\n<b>": 1}] * 3, [{"\n<b>": 2}] * 9).clauses
    assert clause.text == "\\n<b> = 1"


def test_one_healthy_record_of_thousands_is_not_worth_a_longer_clause() -> None:
    healthy = [{"x": 2, "y": each % 2} for each in range(4999)]
    assert texts(separating([{"x": 1, "y": 1}] * 20, [*healthy, {"x": 1, "y": 0}])) == ["x = 1"]


def test_nor_is_it_worth_a_third_atom_whichever_two_come_first() -> None:
    healthy = [(1, 2, 1)] + [(1, 1, 2), (2, 1, 1)] * 500 + [(2, 2, 1), (1, 2, 2)] * 2000
    assert texts(separating([(1, 1, 1)] * 20, healthy)) == ["field 0 = 1 and field 2 = 1"]


def test_what_chance_explains_is_not_told() -> None:
    assert separating(["a", "a", "b", "c"], ["a", "b", "c", "d", "e"] * 20).clauses == ()
    assert texts(separating(["a", "a", "b", "c"] * 20, ["a", "b", "c", "d", "e"] * 20)) == ["the record = 'a'"]


def test_what_one_of_many_bad_ones_has_is_not_told() -> None:
    assert separating([*"abcabcabc", "z"], [*"abc"] * 20).clauses == ()
    assert texts(separating([*"abcabcabc", "z", "z"], [*"abc"] * 20)) == ["the record = 'z'"]


def test_the_least_share_is_enough() -> None:
    bad = [*map(str, range(2)), *(f"{each}x{each}" for each in range(8))]
    assert "the record does not read as a number" in texts(separating(bad, [*map(str, range(50))], least=0.8))


class Raising:
    """Whatever is asked of it, it raises."""

    def __getattribute__(self, name: str) -> Any:
        raise ValueError(name)

    def __eq__(self, other: object) -> bool:
        raise ValueError

    def __hash__(self) -> int:
        raise ValueError

    def __repr__(self) -> str:
        raise ValueError


class RaisingDict(dict[Any, Any]):
    def items(self) -> Any:
        raise ValueError


class RaisingText(str):
    __slots__ = ()

    def __hash__(self) -> int:
        raise ValueError

    def split(self, *how: Any) -> Any:
        raise ValueError


class RaisingZone(datetime.tzinfo):
    def utcoffset(self, moment: Any) -> Any:
        raise ValueError


class Colour(Enum):
    RED = 1


ITSELF: list[Any] = []
ITSELF.extend([ITSELF] * 20)
DEEP: list[Any] = []
for _ in range(10_000):
    DEEP = [DEEP]

STRANGE: list[Any] = [
    Raising(), RaisingDict(a=1), RaisingText("a,b"), datetime.datetime(2024, 1, 1, tzinfo=RaisingZone()), Colour.RED, ITSELF, DEEP, lambda: 1, math,
    Raising, ValueError("x"), iter([]), {1, 2}, range(3), ..., object(), 1j, memoryview(b"a"), bytearray(b"a"), 10**400, -(10**5000), math.inf, -0.0,
    "x" * 3_000_000, "," * 100_000, b"x" * 100_000, "\ud800", "\x00", decimal.Decimal("sNaN"), decimal.Decimal("1e999999"),
    np.float32(2), np.float64("nan"), np.bool_(True), np.datetime64("NaT", "s"), np.datetime64("2024-01-01"), np.array([1, 2]), np.array([[1, 2]]),
    np.array(5), np.array([object()]), np.void(b"abc"), np.longdouble(1), np.zeros(1, dtype=[("a", int)])[0],
    pd.NA, pd.NaT, pd.Timestamp("2024"), pd.Series([1, 2]), pd.DataFrame({"a": [1]}), {(1, 2): 3}, {math.nan: 1, 1.5: 2}, {None: 1, b"q": 2, 1: 3, "": 4},
    None, True, 1, 1.0, "1", "", " ", (), [], {}, PAIR(1, None), Point(Raising(), "q"),
]


@pytest.mark.parametrize("number", range(len(STRANGE)))
def test_strange_values_raise_nothing_and_what_is_told_of_them_is_true(number: int) -> None:
    strange = STRANGE[number]
    for bad, healthy in (
        ([strange] * 5, list(range(20))), (list(range(20)), [strange] * 5), ([(1, strange)] * 4, [(2, 3)] * 9),
        ([{"k": strange}] * 4, [{"k": "v"}] * 9), ([strange], [None]), ([strange, 1], [strange, 2]),
    ):
        true_of(separating(bad, healthy), bad, healthy)


def test_strange_and_long_values_are_left_out() -> None:
    assert separating([Raising()] * 5, [1, 2, 3] * 5).clauses == ()
    assert texts(separating([(Raising(), 1)] * 5, [(1, 2), (2, 3)] * 5)) == ["field 1 = 1"]
    assert texts(separating(["x" * 100_000] * 5, ["x", "y", "z"] * 5)) == ["length of the record >= 100000"]
    assert cell(STRANGE[0]) is cell(10**400) is cell(Colour.RED) is Mark.STRANGE


def test_a_clause_can_be_sent_elsewhere() -> None:
    clause = separating(["1,NA,3"] * 3, ["1,2,3", "4,5,6"] * 5).clauses[0]
    again = pickle.loads(pickle.dumps(clause))
    assert again == clause
    assert again.check("1,NA,7")
    assert not again.check("1,2,7")


def true_of(found: Separation, bad: Sequence[Any], healthy: Sequence[Any]) -> None:
    """Shares are those that the callable counts, scores those of the formula, in order, and the whole is shown."""
    for clause in found.clauses:
        assert clause.covers == pytest.approx(share(clause, bad))
        assert clause.others == pytest.approx(share(clause, healthy))
        assert clause.score == pytest.approx(clause.covers * (1 - math.sqrt(clause.others)))
        assert clause.covers >= 2 * clause.others
        assert clause.text in found.table().text(0)
    assert all(one.score >= other.score for one, other in pairwise(found.clauses))


def share(clause: Clause, records: Sequence[Any]) -> float:
    return sum(map(clause.check, records)) / len(records)


VALUES = st.sampled_from([None, True, False, 0, 1, 1.0, 2, -3.5, "", "NA", "1", "2", "abc", "a-b", math.nan, "é", (1, "x"), [1], {"q": None}])
RECORDS = st.one_of(
    st.lists(st.dictionaries(st.sampled_from(["a", "b", 0]), VALUES, max_size=3), min_size=1, max_size=25),
    st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=25),
    st.lists(st.lists(st.sampled_from(["1", "NA", "", "b", "27"]), min_size=1, max_size=4).map(",".join), min_size=1, max_size=25),
    st.lists(st.lists(VALUES, max_size=3) | VALUES, min_size=1, max_size=25),
    st.lists(st.integers(-5, 5) | st.floats(), min_size=1, max_size=25),
)


@given(RECORDS, RECORDS, st.integers(1, 3), st.integers(1, 5))
def test_what_is_told_is_true_and_tells_something_new(bad: list[Any], healthy: list[Any], atoms: int, most: int) -> None:
    found = separating(bad, healthy, atoms=atoms, most=most)
    assert len(found.clauses) <= most
    true_of(found, bad, healthy)
    truths = [tuple(map(clause.check, bad + healthy)) for clause in found.clauses]
    assert len({*truths}) == len(truths)
    for clause in found.clauses:
        assert len(clause.atoms) <= atoms
        for size in range(1, len(clause.atoms)):
            for part in combinations(clause.atoms, size):
                shorter = replace(clause, atoms=part)
                score = share(shorter, bad) * (1 - math.sqrt(share(shorter, healthy)))
                assert clause.score >= score + GAIN - 1e-9, part


@given(RECORDS, RECORDS)
def test_the_same_records_give_the_same_clauses(bad: list[Any], healthy: list[Any]) -> None:
    assert texts(separating(bad, healthy)) == texts(separating(iter(bad), tuple(healthy)))


def test_of_many_records_a_draw_is_looked_at_which_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicates, "MOST_BAD", 50)
    monkeypatch.setattr(predicates, "MOST_HEALTHY", 200)
    bad, healthy = [("x", each) for each in range(60)], [("xy"[each % 2], each) for each in range(1000)]
    found = separating(bad, healthy)
    assert (found.bad, found.healthy) == (50, 200)
    assert found.note.startswith("Shares are those of 50 of 60 bad records and 200 of 1,000 healthy records, drawn at random")
    assert found.note in repr(found)
    assert found == separating(bad, healthy)
    assert separating(bad[:50], healthy[:200]).note == ""


def test_of_wide_records_fewer_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicates, "MOST_CELLS", 1_100_000)
    found = separating([[0] * 99] * 10, [[1] * 99] * 20_000)
    assert (found.bad, found.healthy) == (10, 10_000)


PATH = ("x",)
NOON, UTC = datetime.datetime(2024, 1, 1, 12), datetime.timezone.utc
CELLS = [None, Mark.MISSING, Mark.STRANGE, Mark.NAN, Mark.TRUE, 0, 1, -2.5, 10**30, math.inf, decimal.Decimal("1.5"), "", " ", "NA", "1", " 2 ", "1e3", "1_0", "inf",
         "x", "a-b", "é", "\t", datetime.date(2024, 1, 1), b"q", cell("x" * 50_000), "2024-01-02", "2024-01", NOON, NOON.replace(tzinfo=UTC)]
ATOMS = st.one_of(
    st.builds(Equal, st.just(PATH), st.sampled_from(CELLS[:2] + CELLS[3:]), st.booleans()),
    st.builds(Limit, st.just(PATH), st.sampled_from([-2.5, 0.0, 1.0, 1.5, 3.0, 1e30, 5e4]), st.booleans(), st.booleans()),
    st.builds(Since, st.just(PATH), st.sampled_from(["2024", "2024-01-02", datetime.date(2024, 1, 1), NOON, NOON.replace(tzinfo=UTC)]), st.booleans()),
    st.builds(Reads, st.just(PATH), st.booleans()),
    st.builds(Contains, st.just(PATH), st.sampled_from("-x1 "), st.booleans()),
    st.builds(OfKind, st.just(PATH), st.sampled_from(["text", "a number", "true or false"])),
    st.builds(HasTrait, st.just(PATH), st.sampled_from(["contains a letter", "contains a digit", "begins or ends with a blank"])),
    st.just(Nothing(PATH)),
)


@given(ATOMS)
def test_an_atom_says_of_a_column_what_it_says_of_each_cell_and_nothing_of_strange_ones(atom: Atom) -> None:
    column = Column(PATH, CELLS)
    assert atom.each(column).tolist() == [atom.holds(each) for each in column.cells]
    assert not atom.holds(Mark.STRANGE)
    assert atom.text("x").startswith(("x ", "length of x "))


def test_what_reads_as_a_number_is_finite_and_written_as_people_do() -> None:
    assert [number(each) for each in CELLS if number(each) is not None] == [0, 1, -2.5, 1e30, 1.5, 1, 2, 1000]
    assert number(10**400) is None


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
def test_a_limit_separates_what_it_is_between(one: float, other: float) -> None:
    low, high = sorted((one, other))
    if low < high:
        assert low < _roundest(low, high) <= high


@pytest.mark.parametrize(("low", "high", "limit"), [(-1, 1, 0), (99, 200, 200), (180.2, 199.7, 190), (0.51, 0.62, 0.6), (-260, -190, -200), (5, 6, 6)])
def test_a_limit_is_short_to_write(low: float, high: float, limit: float) -> None:
    assert _roundest(low, high) == pytest.approx(limit)


DAYS = [datetime.datetime(2024, 1, 1, 12) + datetime.timedelta(each) for each in range(250)]


@pytest.mark.parametrize(("written", "limit"), [
    (lambda day: ("x", day), "field 1 >= datetime.datetime(2024, 7, 19, 0, 0)"),
    (lambda day: ("x", day.replace(tzinfo=UTC)), "field 1 >= datetime.datetime(2024, 7, 19, 0, 0, tzinfo=datetime.timezone.utc)"),
    (lambda day: {"day": day.date()}, "day >= datetime.date(2024, 7, 19)"),
    (lambda day: day.isoformat(), "the record >= '2024-07-19'"),
    (lambda day: f"x,{day:%Y/%m/%d},1", "field 1 >= '2024/07/19'"),
    (lambda day: {"since": day - DAYS[0]}, "since >= datetime.timedelta(days=200)"),
], ids=["naive", "aware", "dates", "texts", "lines", "spans"])
def test_dates_and_times_have_limits_however_they_are_written(written: Any, limit: str) -> None:
    early, late = [written(day) for day in DAYS[:200]], [written(day) for day in DAYS[200:]]
    clause = separating(late, early).clauses[0]
    assert (clause.text, clause.score) == (limit, 1.0)
    assert all(map(clause.check, late))
    assert not any(map(clause.check, early))
    assert best(early, late).endswith(limit.partition(" >= ")[2])
    assert " < " in best(early, late)
    assert pickle.loads(pickle.dumps(clause)).check(late[0])


@given(st.lists(st.datetimes(), min_size=2, max_size=2, unique=True))
def test_a_limit_of_times_separates_what_it_is_between(pair: list[datetime.datetime]) -> None:
    low, high = sorted(pair)
    for written in (lambda moment: moment, lambda moment: moment.isoformat(" "), datetime.datetime.date):
        if written(low) < written(high):
            assert written(low) < roundest(written(low), written(high)) <= written(high)


def test_the_number_of_fields_is_a_field() -> None:
    cells = Reading({(): ","}).cells("a,,b")
    assert cells == {(0,): "a", (1,): "", (2,): "b", (COUNT,): 3}
    assert Reading({(): ","}).cells("a") == {(): "a", (COUNT,): 1, (0,): "a"}
    assert Reading().name(("a", COUNT)) == "number of fields of a"
