"""Lost values: without a record that lets a value be there, an output is not right, whatever else it holds; so that record is never the culprit."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.judges import Judge
from bigdebug.agents.outlines import WIDE, loses, outline, outlines
from bigdebug.localize.diagnosis import Cost, Diagnosis
from bigdebug.localize.faults import faults
from bigdebug.localize.oracle import Answer, Budget, Oracle, Unusual
from bigdebug.localize.subject import Subject
from bigdebug.localize.verdict import Seen, diagnosis
from bigdebug.model import Origin, SourceRecord

NAN = math.nan

Outputs = list[Any]


def localized(program: Callable[[Outputs], Outputs], records: Sequence[Any], judge: Judge) -> Diagnosis:
    """What is said of the only output of a program, or of all of them as a whole."""
    budget = Budget()
    asked = Oracle(lambda sets: [Answer(*judge.verdict(program([records[place] for place in each]))) for each in sets], budget)
    subjects = [Subject(np.arange(len(records)), asked)]

    def sources(numbers: Iterable[int]) -> dict[int, tuple[SourceRecord, ...]]:
        return {number: (SourceRecord(records[number], number, Origin("records", index=number), 1),) for number in numbers}

    known = faults(subjects, budget)
    return diagnosis(known, subjects, Seen([None], joined=True), sources, Cost(budget.tests, 0.5))


def said(found: Diagnosis) -> tuple[str, list[Any]]:
    (fault_set,) = found.fault_sets
    return found.verdict, [source.record for source in fault_set.records]


# ---- programs -----------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """An output of a class of the user's."""

    total: Any
    day: int = 7


def rated(output: Callable[[list[Any], Any], Any]) -> Callable[[Outputs], Outputs]:
    """A program that gives one output of its facts and the first of its rates, which is None where there is none."""

    def program(records: Outputs) -> Outputs:
        facts, rates = ([value for side, value in records if side == which] for which in ("fact", "rate"))
        return [output(facts, rates[0] if rates else None)] if facts else []

    return program


def total(facts: list[Any], rate: Any) -> Any:
    return None if rate is None else sum(facts) * rate


SHAPES: dict[str, tuple[Callable[[list[Any], Any], Any], Callable[[Any], Any]]] = {
    "a text as its key": (lambda facts, rate: ("k", total(facts, rate)), lambda out: out[1]),
    "a number as its key": (lambda facts, rate: (7, total(facts, rate)), lambda out: out[1]),
    "NaN": (lambda facts, rate: (7, NAN if rate is None else total(facts, rate)), lambda out: out[1]),
    "text in the place of a number": (lambda facts, rate: (7, "none" if rate is None else total(facts, rate)), lambda out: None if out[1] == "none" else out[1]),
    "a count besides": (lambda facts, rate: ("k", (len(facts), total(facts, rate))), lambda out: out[1][1]),
    "a count behind": (lambda facts, rate: ("k", total(facts, rate), len(facts)), lambda out: out[1]),
    "by name": (lambda facts, rate: {"day": 7, "total": total(facts, rate)}, lambda out: out["total"]),
    "in a list": (lambda facts, rate: ("k", [len(facts), total(facts, rate)]), lambda out: out[1][1]),
    "in an array": (lambda facts, rate: (7, np.array([len(facts), NAN if rate is None else total(facts, rate)])), lambda out: out[1][1]),
    "in an object": (lambda facts, rate: Report(total(facts, rate)), lambda out: out.total),
    "alone": (total, lambda out: out),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_value_is_not_there_without_is_not_the_culprit_whatever_the_output_holds_besides(shape: str) -> None:
    """Both facts of 1000 are corrupt; the rate is right."""
    output, value = SHAPES[shape]
    found = localized(rated(output), [("fact", 1), ("fact", 1_000), ("fact", 1_000), ("rate", 2)], Judge(lambda out: value(out) is not None and value(out) > 50))
    assert said(found) == ("ambiguous", [("fact", 1_000), ("fact", 1_000)])
    assert [[source.record for source in each] for each in found.fault_sets[0].instead] == [[("rate", 2)]]


@given(st.sampled_from(sorted(SHAPES)), st.lists(st.sampled_from([1, 2, 3, 1_000]), min_size=1, max_size=6), st.lists(st.sampled_from([1, 2]), min_size=1, max_size=2), st.booleans())
def test_no_innocent_record_is_the_culprit_for_a_value_that_is_lost_without_it(shape: str, facts: list[int], rates: list[int], whole: bool) -> None:
    output, value = SHAPES[shape]

    def wrong(out: Any) -> bool:
        return value(out) is not None and bool(value(out) > 50)

    records = [*(("fact", each) for each in facts), *(("rate", each) for each in rates)]
    found = localized(rated(output), records, Judge((lambda outs: any(map(wrong, outs))) if whole else wrong, whole=whole))
    for fault_set in found.fault_sets:
        if fault_set.verdict == "culprit":
            assert all(source.record == ("fact", 1_000) for source in fault_set.records)


def test_a_text_that_is_lost_is_not_right() -> None:
    program = rated(lambda facts, rate: ("k", None if rate is None else f"{rate}:{'ERR' if 1_000 in facts else 'OK'}"))
    found = localized(program, [("fact", 1), ("fact", 1_000), ("fact", 1_000), ("rate", 2)], Judge(lambda out: out[1] is not None and "ERR" in out[1]))
    assert said(found) == ("ambiguous", [("fact", 1_000), ("fact", 1_000)])


def test_a_number_beyond_all_floats_that_is_lost_is_not_right() -> None:
    huge = ("fact", 10**400)
    found = localized(rated(lambda facts, rate: (7, total(facts, rate))), [("fact", 1), huge, huge, ("rate", 2)], Judge(lambda out: out[1] is not None and out[1] > 50))
    assert said(found) == ("ambiguous", [huge, huge])


def test_what_becomes_nan_where_it_is_infinite_is_not_right() -> None:
    """Without the 5, which is right, it is inf - inf."""
    found = localized(lambda known: [("k", max(known) - min(known))] if known else [], [math.inf, 5.0, math.inf], Judge(lambda out: out[1] > 100))
    assert said(found) == ("ambiguous", [math.inf, math.inf])


def test_as_a_whole_an_output_that_has_lost_its_value_is_not_right() -> None:
    """Sums of several keys with the same rate, of which one is lost without it, are as many as they were."""
    def program(records: Outputs) -> Outputs:
        rate = next((value for side, value in records if side == "rate"), None)
        return [(key, total([value for side, value in records if side == key], rate)) for key in "ab" if any(side == key for side, _ in records)]

    found = localized(program, [("a", 1), ("a", 1_000), ("a", 1_000), ("b", 1), ("rate", 2)], Judge(lambda outs: any(out[1] is not None and out[1] > 50 for out in outs), whole=True))
    assert said(found) == ("ambiguous", [("a", 1_000), ("a", 1_000)])


@pytest.mark.parametrize("group", [list, tuple, set, np.array, lambda values: dict(enumerate(values)), lambda values: {f"{value}": value for value in values}], ids=["list", "tuple", "set", "array", "dict of numbers", "dict of texts"])
def test_a_group_of_fewer_records_has_lost_nothing(group: Callable[[list[int]], Any]) -> None:
    def values(out: Any) -> Any:
        return out[1].values() if isinstance(out[1], dict) else out[1]

    found = localized(lambda known: [("k", group(known))] if known else [], [1, 2, 1_000, 3], Judge(lambda out: max(values(out)) > 50))
    assert said(found) == ("culprit", [1_000])


def test_where_nothing_wrong_is_an_empty_list_its_cause_is_the_culprit() -> None:
    found = localized(lambda known: [("k", len(known), [each for each in known if each < 0])] if known else [], [5, 7, -3, 9], Judge(lambda out: len(out[2]) > 0))
    assert said(found) == ("culprit", [-3])


# ---- outlines -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (5, None), (5, NAN), (5, "5"), (5, ()), (math.inf, NAN), ("a", None), (True, None), ((7, 5), (7, None)), ((7, 5), (7, "none")), ((7, 5), (7, [])), ((None, 5), (None, None)), (("k", (3, 5)), ("k", (3, NAN))),
        ({"a": 1, "b": 2}, {"a": 1, "b": None}), ([1, 2], [1, None]), ([1, None, 2], [None, None, 2]), ([("a", 1), ("b", 2)], [("a", 1), ("b", None)]), ({1, 2}, {1, None}), (np.array([1.0, 2.0]), np.array([1.0, NAN])),
        (np.array(["a", None], dtype=object), np.array([None, None], dtype=object)), (pd.Timestamp("2024-01-01"), pd.NaT), (5, pd.NA), (Report(5), Report(None)), (tuple(range(WIDE + 1)), (*range(WIDE), None)), (10**400, NAN),
    ],
)
def test_what_is_lost(before: Any, now: Any) -> None:
    for one, other in ((before, now), ((7, before), (7, now)), ([before], [now])):
        assert loses(outline(one), outline(other))
        assert loses(outlines([one]), outlines([other]))
    assert not loses(outline(now), outline(now))
    assert loses(outlines([(1, 2), before]), outlines([now, (1, 2)]))


USUAL: list[tuple[Any, Any, list[Any], bool]] = [
    (("k", 5, "late"), ("k", 5, None), [("a", 1, None), ("b", 2, None)], False),
    (("k", 5, "late"), ("k", 5, None), [("a", 1, None), ("b", 2, "good")], True),
    (("k", 5), ("k", None), [("a", None)], False),
    (("k", 5), ("k", "none"), [("a", "none")], False),
    (("k", 5), ("k", "none"), [("a", 7)], True),
    (5, None, [None, None], False),
    (5, None, [7], True),
    ({"a": 1, "b": 2}, {"a": 1}, [{"a": 3, "b": 4}, {"a": 5, "b": 6}], True),
    ({"a": 1, "b": 2}, {"a": 1}, [{"a": 3, "b": 4}, {"a": 5}], False),
    ({"a": 1, "b": None}, {"a": 1}, [{"a": 3, "b": 4}], False),
    (("k", [1, "late"]), ("k", [1, None]), [("a", [2, None]), ("b", [None])], False),
    (("k", [1, "late"]), ("k", [1, None]), [("a", [2, "good"])], True),
    (pd.Series({"a": 1.0, "b": 2.0}), pd.Series({"a": 1.0}), [pd.Series({"a": 3.0, "b": 4.0})], True),
]


@pytest.mark.parametrize(("before", "now", "usual", "lost"), USUAL)
def test_what_no_right_output_holds_is_not_lost(before: Any, now: Any, usual: list[Any], lost: bool) -> None:
    assert loses(outline(before), outline(now), [*map(outline, usual)]) is lost
    assert loses(outlines([before]), outlines([now]), [outlines([each]) for each in usual]) is lost
    assert loses(outline(before), outline(now), None) or before["b"] is None  # to be looked at, as long as nobody has looked for right ones


def test_as_long_as_nobody_has_looked_for_right_outputs_a_search_ends_where_it_needs_them() -> None:
    def localize(usual: Any) -> Any:
        oracle = Oracle(asked, budget, usual=usual)
        return faults([Subject(np.arange(3), oracle)], budget)

    def asked(sets: Sequence[Any]) -> list[Answer]:
        return [Answer(*Judge(lambda out: out[1] is not None).verdict([("k", "late" if 2 in each else None)] if each else [])) for each in sets]

    budget = Budget()
    with pytest.raises(Unusual):
        localize(None)
    assert [fault.repair for fault in localize([outlines([("a", None)])]).found] == [{2}]
    assert not localize([outlines([("a", None)])]).found[0].gone
    assert localize([outlines([("a", "good")])]).found[0].gone


@pytest.mark.parametrize("values", [[1, 2.5, None, math.nan, "a", True, b"b"], [], [math.nan] * 3, [None], [1] * 100, {1, 2}, {"a": 1.5, "b": math.nan}.values()])
def test_of_plain_values_an_outline_is_what_it_is_of_others(values: Any) -> None:
    """What is counted at once, and what is looked at one by one."""
    assert outlines(values) == outlines([*values, ()]) - {((), 1)}  # type: ignore[operator]


def test_an_outline_of_many_that_all_differ_is_small() -> None:
    """One is kept for each test."""
    documents = [(number, {f"w{(number * word) % 301}": 1 for word in range(1, 30)}) for number in range(2_000)]
    assert len(pickle.dumps(outlines(documents))) < 2_000
    assert not loses(outlines(documents), outlines(documents[1:]))


def test_what_does_not_let_itself_be_looked_into_is_judged_all_the_same() -> None:
    class Closed(dict[str, int]):
        def __getitem__(self, name: str) -> int:
            raise RuntimeError("closed")

        def items(self) -> Any:
            raise RuntimeError("closed")

        values = items

    assert Judge(lambda out: out[1] > 9).verdict([(Closed(a=1), 5)])[0].name == "PASS"


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (5, 6), (5, math.inf), ("a", "b"), (None, 5), (None, "a"), ((None, 5), (4, 5)), ([1, 2, 3], [1]), ([1, None, 2], [None, 1]), (("k", (1, 2)), ("k", (1,))), ({"a": 1, "b": 2}, {"b": 2}), (["a"], []), ({1, 2}, {2}),
        (np.array([1.0, 2.0]), np.array([2.0])), (np.array([True, False]), np.array([False])), (Report(None), Report(5)), (5, 5.0), (1j, 1j), (object(), object()), (type, len), (5, {"n": 5}),
    ],
)
def test_what_is_not_lost(before: Any, now: Any) -> None:
    assert not loses(outline(before), outline(now))
    assert not loses(outlines([before, "a"]), outlines([now]))


def test_what_only_the_user_knows_by_name_is_told_as_values() -> None:
    """The driver may not know the class: outlines are plain texts, numbers, tuples and frozensets."""
    class Key:
        pass

    assert outline({Key(): 1, Key(): None}) == frozenset([("number", 1), ("null", 1)])
    assert loses(outline({Key(): 1}), outline({Key(): None}))
    assert pickle.loads(pickle.dumps(outlines([Key(), {Key(): (1, None)}]))) == outlines([Key(), {Key(): (1, None)}])


def test_what_is_within_itself_has_an_outline() -> None:
    endless: list[Any] = [1]
    endless.append(endless)
    assert not loses(outline(endless), outline(endless))
    known = [Report(None) for _ in range(40)]
    for each in known:
        each.total = known
    assert not loses(outline(known[0]), outline(known[1]))
    assert outline(type("Odd", (), {"__ne__": lambda self, other: 1 // 0})()) == "other"
