"""Lost values: without a record that lets a value be there, an output is not right, whatever else it holds; so that record is never the culprit."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.judges import Judge
from bigdebug.agents.outlines import WIDE, Right, loses, outline, outlines
from bigdebug.localize.diagnosis import Cost, Diagnosis
from bigdebug.localize.faults import faults, gone_on
from bigdebug.localize.known import Faults
from bigdebug.localize.oracle import Answer, Budget, Oracle, Spent
from bigdebug.localize.subject import Subject
from bigdebug.localize.usual import Unusual
from bigdebug.localize.verdict import Seen, diagnosis
from bigdebug.model import Origin, SourceRecord

NAN = math.nan

Outputs = list[Any]


def localized(program: Callable[[Outputs], Outputs], records: Sequence[Any], judge: Judge, right: Sequence[Any] = ()) -> Diagnosis:
    """What is said of the only output of a program, beside some that are ``right``, or of all of them as a whole."""
    budget = Budget()
    asked = Oracle(lambda sets: [Answer(*judge.verdict(program([records[place] for place in each]))) for each in sets], budget, right=[outlines([each]) for each in right])
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


class Slotted:
    """An output that has no dict."""

    __slots__ = ("total",)

    def __init__(self, total: Any) -> None:
        self.total = total


def by_field(facts: list[Any], rate: Any) -> dict[str, Any]:
    return {"key": 7} | ({} if rate is None else {"total": total(facts, rate)})


def times(facts: list[Any], rate: Any) -> list[Any]:
    return [] if rate is None else [fact * rate for fact in facts]


def late(facts: list[Any], rate: Any) -> str | None:
    return None if rate is None or sum(facts) * rate < 50 else "late"


BESIDE: dict[str, tuple[Callable[[list[Any], Any], Any], Callable[[Any], bool], list[Any]]] = {
    "the others were joined with nothing": (lambda facts, rate: ("k", total(facts, rate)), lambda out: (out[1] or 0) > 50, [("a", None), ("b", None)]),
    "some others were joined with nothing": (lambda facts, rate: ("k", total(facts, rate)), lambda out: (out[1] or 0) > 50, [("a", None), ("b", 3)]),
    "a field that all others have": (by_field, lambda out: out.get("total", 0) > 50, [{"key": 1, "total": 3}]),
    "a field that some others have": (by_field, lambda out: out.get("total", 0) > 50, [{"key": 1, "total": 3}, {"key": 2}]),
    "a field that no others have": (by_field, lambda out: out.get("total", 0) > 50, [{"key": 2}]),
    "a field beside others of another shape": (by_field, lambda out: out.get("total", 0) > 50, [dict.fromkeys(range(WIDE + 1), 1)]),
    "a field of the only one": (by_field, lambda out: out.get("total", 0) > 50, []),
    "a list of a number and a text": (lambda facts, rate: [total(facts, rate), late(facts, rate)], lambda out: out[1] == "late", [[3, None], [4, None]]),
    "a number and a text": (lambda facts, rate: (total(facts, rate), late(facts, rate)), lambda out: out[1] == "late", [(3, None), (4, None)]),
    "a list that is empty": (lambda facts, rate: (7, times(facts, rate)), lambda out: max(out[1], default=0) > 50, [(8, [2]), (9, [4, 5])]),
    "a list that is empty beside a count": (lambda facts, rate: ("k", len(facts), times(facts, rate)), lambda out: max(out[2], default=0) > 50, [("a", 1, [2]), ("b", 2, [4, 5])]),
    "an array that is empty": (lambda facts, rate: (7, np.array(times(facts, rate))), lambda out: max(out[1], default=0) > 50, [(8, np.array([2])), (9, np.array([4, 5]))]),
    "texts that are gone": (lambda facts, rate: ("k", [*map(str, times(facts, rate))]), lambda out: max(map(len, out[1]), default=0) > 3, [("a", ["2"]), ("b", ["4"])]),
    "a list alone": (times, lambda out: max(out, default=0) > 50, [[2], [4, 5]]),
    "a list that is shorter": (lambda facts, rate: ["k", *([] if rate is None else [total(facts, rate)])], lambda out: len(out) > 1 and out[1] > 50, [["a", 2], ["b", 3]]),
    "a dict by numbers": (lambda facts, rate: {} if rate is None else {1: total(facts, rate)}, lambda out: out.get(1, 0) > 50, [{2: 4}, {3: 5}]),
    "slots": (lambda facts, rate: Slotted(total(facts, rate)), lambda out: (out.total or 0) > 50, [Slotted(3)]),
    "a frame that has a label twice": (
        lambda facts, rate: pd.DataFrame([[NAN if rate is None else total(facts, rate), 1.0]], columns=["a", "a"]), lambda out: bool(out.iloc[0, 0] > 50), [pd.DataFrame([[3.0, 1.0]], columns=["a", "a"])],
    ),
    "what is masked": (
        lambda facts, rate: (7, np.ma.array([0 if rate is None else total(facts, rate), 1], mask=[rate is None, False])), lambda out: out[1][0] is not np.ma.masked and out[1][0] > 50,
        [(8, np.ma.array([3, 1], mask=[False, False]))],
    ),
}


@pytest.mark.parametrize("others", BESIDE)
@pytest.mark.parametrize("facts", [1, 5, 40])
def test_beside_right_outputs_what_a_value_is_not_there_without_is_not_the_culprit(others: str, facts: int) -> None:
    """Both facts of 1000 are corrupt; the rate is right."""
    output, wrong, right = BESIDE[others]
    found = localized(rated(output), [*[("fact", 1)] * facts, ("fact", 1_000), ("fact", 1_000), ("rate", 0.5)], Judge(wrong), right)
    assert found.verdict == "ambiguous"
    assert [source.record for source in found.fault_sets[0].records] == [("fact", 1_000), ("fact", 1_000)]


PARTNERS: dict[str, tuple[Callable[[list[Any], Any], Any], Callable[[Any], bool], list[Any]]] = {
    "a total that is null": (lambda facts, rate: ("k", total(facts, rate)), lambda out: (out[1] or 0) > 50, [("a", None), ("b", None)]),
    "a field": (lambda facts, rate: {"k": "k"} | ({} if rate is None else {"t": total(facts, rate)}), lambda out: out.get("t", 0) > 50, [{"k": "a"}]),
    "an error": (lambda facts, rate: ("k", late(facts, rate)), lambda out: out[1] is not None, [("a", None)]),
    "a list": (lambda facts, rate: ("k", times(facts, rate)), lambda out: max(out[1], default=0) > 50, [("a", [])]),
}


@pytest.mark.parametrize("shape", PARTNERS)
@pytest.mark.parametrize("facts", [[1_000, 1_000], [1_000, 2_000, 3_000], [1, 1_000, 1_000], [1_000]], ids=repr)
def test_where_right_outputs_hold_nothing_an_only_partner_is_not_blamed_alone(shape: str, facts: list[int]) -> None:
    output, wrong, right = PARTNERS[shape]
    found = localized(rated(output), [*(("fact", each) for each in facts), ("rate", 2)], Judge(wrong), right)
    for fault_set in found.fault_sets:
        assert fault_set.verdict == "ambiguous" or ("rate", 2) not in [source.record for source in fault_set.records]


def test_as_a_whole_an_only_partner_is_not_blamed_for_fields_that_all_have() -> None:
    def program(records: Outputs) -> Outputs:
        rates = [value for side, value in records if side == "rate"]
        return [{"key": place} | ({"total": value * rates[0]} if rates else {}) for place, (side, value) in enumerate(records) if side == "fact"]

    found = localized(program, [("fact", 1_000), ("fact", 1_000), ("rate", 2)], Judge(lambda outs: any(out.get("total", 0) > 50 for out in outs), whole=True))
    assert found.verdict == "ambiguous"


NOTHING_WRONG: dict[str, tuple[Callable[[list[Any]], Any], Callable[[Any], bool], list[Any]]] = {
    "an error that is null": (lambda facts: ("k", sum(facts), "negative" if min(facts) < 0 else None), lambda out: out[2] is not None, [("a", 3, None), ("b", 4, None)]),
    "the least loss": (lambda facts: ("k", min((each for each in facts if each < 0), default=None)), lambda out: out[1] is not None, [("a", None)]),
    "a list of both": (lambda facts: ("k", [sum(facts), "negative" if min(facts) < 0 else None]), lambda out: out[1][1] is not None, [("a", [3, None])]),
    "an error that is no field": (lambda facts: {"total": sum(facts)} | ({"error": 1} if min(facts) < 0 else {}), lambda out: "error" in out, [{"total": 3}]),
    "a list of losses": (lambda facts: ("k", [each for each in facts if each < 0]), lambda out: len(out[1]) > 0, [("a", []), ("b", [])]),
}


@pytest.mark.parametrize("shape", NOTHING_WRONG)
@pytest.mark.parametrize("facts", [1, 5, 40])
def test_beside_right_outputs_that_hold_nothing_there_the_cause_of_a_value_is_the_culprit(shape: str, facts: int) -> None:
    output, wrong, right = NOTHING_WRONG[shape]
    assert said(localized(lambda known: [output(known)] if known else [], [*[5] * facts, -3, 7], Judge(wrong), right)) == ("culprit", [-3])


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
    ({"a": 1, "b": 2}, {"a": 1}, [{"a": 3, "b": 4}, {"a": 5}], True),
    ({"a": 1, "b": 2}, {"a": 1}, [{"a": 3}, {"a": 5}], False),
    ({"a": 1, "b": None}, {"a": 1}, [{"a": 3, "b": 4}], False),
    (("k", [1, "late"]), ("k", [1, None]), [("a", [2, None]), ("b", [None])], False),
    (("k", [1, "late"]), ("k", [1, None]), [("a", [2, "good"])], True),
    (pd.Series({"a": 1.0, "b": 2.0}), pd.Series({"a": 1.0}), [pd.Series({"a": 3.0, "b": 4.0})], True),
]


@pytest.mark.parametrize(("before", "now", "usual", "lost"), USUAL)
def test_what_no_right_output_holds_is_not_lost(before: Any, now: Any, usual: list[Any], lost: bool) -> None:
    assert loses(outline(before), outline(now), Right(tuple(map(outline, usual)))) is lost
    assert loses(outlines([before]), outlines([now]), Right(tuple(outlines([each]) for each in usual))) is lost
    assert loses(outline(before), outline(now), Right(None)) or before["b"] is None  # to be looked at, as long as nobody has looked at right ones


class Several:
    """Outputs that are wrong, one of which is right where it holds null."""

    RECORDS = ((1, 2, 1_000), (3, 4, 5, 2_000), (1, 2, 3, 4, -50))

    def __init__(self, right: Sequence[Any] | None) -> None:
        self.budget, self.known = Budget(), Faults()
        self.subjects = [Subject(np.arange(len(records)), Oracle(partial(self._asked, records), self.budget, right=right)) for records in self.RECORDS]

    def _asked(self, records: Sequence[int], sets: Sequence[Any]) -> list[Answer]:
        judge = Judge(lambda out: out[1] > 100 or out[2] is not None)
        known = [[records[place] for place in each] for each in sets]
        return [Answer(*judge.verdict([("k", sum(each), "negative" if min(each) < 0 else None)] if each else [])) for each in known]

    def search(self) -> None:
        faults(self.subjects, self.budget, known=self.known)

    @property
    def blamed(self) -> list[tuple[list[int], list[int], bool]]:
        return [(sorted(fault.repair), fault.explains, fault.gone) for fault in self.known.found]


def test_a_search_goes_on_where_it_was_when_it_is_known_what_right_outputs_hold() -> None:
    right = [outlines([("a", 7, None)])]
    told, asking = Several(right), Several(None)
    told.search()
    with pytest.raises(Unusual):
        asking.search()
    found = len(asking.known.found)
    gone_on(asking.search, asking.known, asking.subjects, lambda: right)
    assert found == 2
    assert asking.blamed == told.blamed
    assert asking.budget.tests == told.budget.tests
    assert asking.budget.course.looked_at == len(Several.RECORDS)


class Second(Several):
    """Without the rate of 1000 two lists are empty, of which one is to be: that is met where the output need not be there."""

    RECORDS = ((2, 2, 2, -1_000, 1_000, 1_000, 1_000),)

    def _asked(self, records: Sequence[int], sets: Sequence[Any]) -> list[Answer]:
        judge = Judge(lambda out: max([*out[1], *out[2]], default=0) > 60)
        return [Answer(*judge.verdict(list(self._given([records[place] for place in each])))) for each in sets]

    @staticmethod
    def _given(known: Sequence[int]) -> Iterator[Any]:
        facts, rated_at = [each for each in known if each > 0], min(known, default=0) < 0
        if facts:
            yield "k", [each for each in facts if each > 60], [each * 1_000 for each in facts] if rated_at else []


def test_so_it_does_where_that_is_met_when_an_output_need_not_be_there() -> None:
    right = [outlines([("a", [], [3])])]
    told, asking = Second(right), Second(None)
    told.search()
    gone_on(asking.search, asking.known, asking.subjects, lambda: right)
    assert told.blamed
    assert (asking.blamed, asking.known.strange) == (told.blamed, told.known.strange)


@pytest.mark.parametrize("most", range(8, 30))
def test_what_was_asked_before_is_not_to_be_paid_again(most: int) -> None:
    def found(usual: Any) -> tuple[list[Any], int]:
        asking = Several(usual)
        asking.budget = Budget(most)
        asking.subjects = [Subject(np.arange(5), Oracle(partial(asking._asked, Several.RECORDS[2]), asking.budget, right=usual))]
        gone_on(asking.search, asking.known, asking.subjects, lambda: right)
        return [fault.repair for fault in asking.known.found], asking.budget.tests

    right = [outlines([("a", 7, None)])]
    assert found(None) == found(right)


@pytest.mark.parametrize("end", [Spent("it was stopped"), KeyboardInterrupt()], ids=["stopped", "interrupted"])
def test_what_was_found_is_told_where_looking_at_right_outputs_is_ended(end: BaseException) -> None:
    def right() -> list[Any]:
        raise end

    asking = Several(None)
    gone_on(asking.search, asking.known, asking.subjects, right)
    assert len(asking.known.found) == 2
    assert asking.known.ended in ("it was stopped", "it was interrupted")


@pytest.mark.parametrize("values", [[1, 2.5, None, math.nan, "a", True, b"b"], [], [math.nan] * 3, [None], [1] * 100, {1, 2}, {"a": 1.5, "b": math.nan}.values()])
def test_of_plain_values_an_outline_is_what_it_is_of_others(values: Any) -> None:
    """What is counted at once, and what is looked at one by one."""
    assert outlines(values) == outlines([*values, ()]) - {((), 1)}  # type: ignore[operator]


@pytest.mark.parametrize("value", [("k", 5), ("k", None), [], [1, None], {"a": 1}, {2: None}, (), Report(5), np.array([1.0]), ((1,), [2])])
def test_of_one_output_an_outline_is_what_it_is_beside_others(value: Any) -> None:
    assert outlines([value]) == outlines([value, "a"]) - {("other", 1)}  # type: ignore[operator]
    assert outlines([value]) == outlines((value,))


def test_a_mapping_may_give_its_values_once() -> None:
    class Once(dict[Any, Any]):
        def values(self) -> Any:
            return iter(list(super().values()))

    assert outline(Once({1: 5})) == frozenset([("number", 1)])
    assert outline(Once({1: 5, 2: None})) == frozenset([("number", 1), ("null", 1)])


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
